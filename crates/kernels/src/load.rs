//! Lists on their way to a device.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::owned::{Owned, check};
use crate::{Build, DeviceLists, Renewal, Result, boundary};

/// Lists that loaders fill.
pub struct ListsBuilder {
    raw: Owned<boundary::DeviceLists>,
    device: u32,
    counts: Vec<u32>,
    /// The start of every list, and the end of the last.
    starts: Vec<u64>,
    /// Documents are below this number.
    documents: u32,
    /// The postings that loaders have brought up, and the places and frequencies of those that no byte holds.
    loaded: AtomicU64,
    large: Mutex<Vec<(u64, u32)>>,
}

impl ListsBuilder {
    /// Allocates space for lists of these lengths, with documents below `documents`, on a device.
    ///
    /// # Errors
    /// The device does not exist, or has too little memory.
    pub fn new(build: Build, device: u32, counts: Vec<u32>, documents: u32) -> Result<Self> {
        let mut starts = Vec::with_capacity(counts.len() + 1);
        let mut end = 0;
        starts.push(0);
        for &count in &counts {
            end += u64::from(count);
            starts.push(end);
        }
        let options = boundary::ListsOptions {
            device,
            postings: end,
        };
        let api = build.api();
        // SAFETY: the options hold no pointers.
        let raw = unsafe { Owned::by_options(build, api.drop_lists, api.lists, &options) }?;
        Ok(ListsBuilder {
            raw,
            device,
            counts,
            starts,
            documents,
            loaded: AtomicU64::new(0),
            large: Mutex::default(),
        })
    }

    /// A loader that copies this many postings at a time.
    ///
    /// # Errors
    /// There is too little memory; the device failed.
    pub fn loader(&self, postings: usize) -> Result<Loader<'_>> {
        let api = self.raw.api();
        let raw = Owned::make(self.raw.build, api.drop_loader, |raw, error| {
            // SAFETY: the loader borrows the lists, so they outlive it.
            unsafe { (api.loader)(self.raw.as_ptr(), postings.max(1) as u64, raw, error) }
        })?;
        Ok(Loader {
            raw,
            lists: self,
            room: None,
            filled: 0,
            place: 0,
            large: Vec::new(),
        })
    }

    /// Finishes lists of documents of these lengths.
    ///
    /// # Errors
    /// There is too little device memory; the device failed.
    ///
    /// # Panics
    /// Panics if the documents are not as many as announced, or if postings are missing.
    pub fn finish(self, lengths: &[u32]) -> Result<DeviceLists> {
        assert_eq!(
            lengths.len(),
            self.documents as usize,
            "a length for every document"
        );
        self.describe(lengths, |raw, lists| {
            // SAFETY: the descriptions are read during the call only; documents have been checked.
            unsafe { raw.call(raw.api().finish_lists, lists) }
        })?;
        Ok(DeviceLists::new(
            self.raw,
            self.device,
            self.counts,
            self.documents,
        ))
    }

    /// The lists of an index in its next state: those of the state before, and these, of added documents.
    ///
    /// # Errors
    /// There is too little device memory; the device failed.
    ///
    /// # Panics
    /// Panics if the renewal is not of these lists, or if postings are missing.
    pub fn renew(self, before: &DeviceLists, renewal: &Renewal<'_>) -> Result<DeviceLists> {
        assert_eq!(
            before.place(),
            (self.raw.build, self.device),
            "lists of one device"
        );
        assert_eq!(
            renewal.added_lists.len(),
            self.counts.len(),
            "a number for every list"
        );
        assert_eq!(
            renewal.lengths.len(),
            self.documents as usize,
            "a length for every document"
        );
        self.describe(&[], |raw, lists| {
            // SAFETY: as above.
            unsafe { raw.call(raw.api().describe_lists, lists) }
        })?;
        let (build, api) = (self.raw.build, self.raw.api());
        let renewal_raw = renewal.raw(before);
        let raw = Owned::make(build, api.drop_lists, |raw, error| {
            let (before, added) = (before.raw.as_ptr(), self.raw.as_ptr());
            // SAFETY: both are finished and only read; the renewal has been checked.
            unsafe { (api.renew_lists)(before, added, &raw const renewal_raw, raw, error) }
        })?;
        let mut counts = vec![0; renewal.lists];
        // SAFETY: there are as many lists.
        unsafe { (api.list_lengths)(raw.as_ptr(), counts.as_mut_ptr()) };
        Ok(DeviceLists::new(raw, self.device, counts, self.documents))
    }

    /// Passes the description of the lists to `to`.
    fn describe(
        &self,
        lengths: &[u32],
        to: impl FnOnce(&Owned<boundary::DeviceLists>, &boundary::Lists) -> Result<()>,
    ) -> Result<()> {
        let all = self.starts.last().copied();
        let loaded = self.loaded.load(Ordering::Relaxed);
        assert_eq!(all, Some(loaded), "every posting is loaded once");
        let mut large = self.large.lock().unwrap_or_else(PoisonError::into_inner);
        large.sort_unstable();
        let (places, frequencies): (Vec<u64>, Vec<u32>) = large.iter().copied().unzip();
        let lists = boundary::Lists {
            count: self.counts.len() as u64,
            starts: self.starts.as_ptr(),
            documents: lengths.len() as u32,
            lengths: lengths.as_ptr(),
            large_places: places.as_ptr(),
            large_frequencies: frequencies.as_ptr(),
            large_count: places.len() as u64,
        };
        to(&self.raw, &lists)
    }
}

/// Copies postings to a device while it takes the next ones. Several loaders, each on its own thread, fill the lists
/// of one builder.
pub struct Loader<'a> {
    raw: Owned<boundary::Loader>,
    lists: &'a ListsBuilder,
    /// The room for the next postings, and how many have been written there.
    room: Option<boundary::Room>,
    filled: usize,
    /// The place of the first of them.
    place: u64,
    large: Vec<(u64, u32)>,
}

impl Loader<'_> {
    /// Goes on at the beginning of a list.
    ///
    /// # Errors
    /// The device failed.
    ///
    /// # Panics
    /// Panics if the list does not exist.
    pub fn go_to(&mut self, list: usize) -> Result<()> {
        self.copy()?;
        self.place = self.lists.starts[list];
        Ok(())
    }

    /// Adds the next postings of this list, or of the next: documents, ascending in each list, and their frequencies.
    ///
    /// # Errors
    /// The device failed.
    ///
    /// # Panics
    /// Panics if a document is not below the announced number, if the numbers of frequencies and documents differ, or
    /// at more postings than announced.
    pub fn add(&mut self, documents: &[u32], frequencies: &[u32]) -> Result<()> {
        assert_eq!(documents.len(), frequencies.len(), "a frequency each");
        let most = documents.iter().copied().max();
        assert!(
            most.is_none_or(|most| most < self.lists.documents),
            "a known document"
        );
        let (mut documents, mut frequencies) = (documents, frequencies);
        while !documents.is_empty() {
            let (to, of) = self.room()?;
            let count = to.len().min(documents.len());
            to[..count].copy_from_slice(&documents[..count]);
            let mut has_large = false;
            for (byte, &frequency) in of.iter_mut().zip(&frequencies[..count]) {
                *byte = u8::try_from(frequency).unwrap_or(u8::MAX);
                has_large |= *byte == u8::MAX;
            }
            let place = self.place + self.filled as u64;
            if has_large {
                let numbered = (place..).zip(&frequencies[..count]);
                let large = numbered.filter(|(_, frequency)| **frequency >= u8::MAX.into());
                self.large
                    .extend(large.map(|(place, &frequency)| (place, frequency)));
            }
            self.filled += count;
            (documents, frequencies) = (&documents[count..], &frequencies[count..]);
        }
        Ok(())
    }

    /// The room that is left, at least one posting.
    fn room(&mut self) -> Result<(&mut [u32], &mut [u8])> {
        if self
            .room
            .as_ref()
            .is_some_and(|room| room.count == self.filled as u64)
        {
            self.copy()?;
        }
        let room = match &mut self.room {
            Some(room) => room,
            empty => {
                let mut room = boundary::Room {
                    documents: std::ptr::null_mut(),
                    frequencies: std::ptr::null_mut(),
                    count: 0,
                };
                let (api, raw) = (self.raw.api(), self.raw.as_ptr());
                // SAFETY: `room` outlives the call.
                check(|error| unsafe { (api.room)(raw, &raw mut room, error) })?;
                empty.insert(room)
            }
        };
        let left = room.count as usize - self.filled;
        // SAFETY: the loader has initialised memory for `count` postings, and neither copies nor changes it before
        // `copy`, which borrows `self` mutably.
        unsafe {
            let documents = room.documents.add(self.filled);
            let frequencies = room.frequencies.add(self.filled);
            Ok((
                std::slice::from_raw_parts_mut(documents, left),
                std::slice::from_raw_parts_mut(frequencies, left),
            ))
        }
    }

    /// Begins to copy the postings that have been written.
    fn copy(&mut self) -> Result<()> {
        if self.room.take().is_none() {
            return Ok(());
        }
        let count = std::mem::take(&mut self.filled) as u64;
        let (api, raw, place) = (self.raw.api(), self.raw.as_ptr(), self.place);
        // SAFETY: the places are of the lists, which the call checks.
        check(|error| unsafe { (api.load)(raw, place, count, error) })?;
        self.place += count;
        self.lists.loaded.fetch_add(count, Ordering::Relaxed);
        Ok(())
    }

    /// Waits until all postings have been copied.
    ///
    /// # Errors
    /// The device failed.
    pub fn finish(mut self) -> Result<()> {
        self.copy()?;
        // SAFETY: the loader lives.
        check(|error| unsafe { (self.raw.api().finish_loading)(self.raw.as_ptr(), error) })?;
        let large = self.lists.large.lock();
        large
            .unwrap_or_else(PoisonError::into_inner)
            .append(&mut self.large);
        Ok(())
    }
}
