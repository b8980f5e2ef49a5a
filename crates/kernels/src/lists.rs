//! The postings lists of an index, on one device.

use std::sync::RwLock;

use crate::owned::Owned;
use crate::{Build, Formula, Result, boundary};

/// Lists on the device, weighed by a formula. [`Lane`](crate::Lane)s answer queries from them.
pub struct DeviceLists {
    pub(crate) raw: Owned<boundary::DeviceLists>,
    /// The length of every list.
    counts: Vec<u32>,
    /// Locked by readers of weights, and by their writer.
    pub(crate) weights: RwLock<()>,
}

/// Minimum number of postings copied to the device together.
const GO_UP_TOGETHER: usize = 1 << 22;

/// Lists being loaded to the device.
pub struct ListsBuilder {
    raw: Owned<boundary::DeviceLists>,
    lengths: Vec<u32>,
    /// The start of every list, including the current one.
    starts: Vec<u64>,
    /// The number of postings so far.
    filled: u64,
    /// Postings not copied to the device yet.
    documents: Vec<u32>,
    frequencies: Vec<u8>,
    large_places: Vec<u64>,
    large_frequencies: Vec<u32>,
}

impl ListsBuilder {
    /// Allocates space for `postings`, of documents of these lengths, on a device.
    ///
    /// # Errors
    /// The device does not exist, or has too little memory.
    ///
    /// # Panics
    /// Panics at 2^32 documents or more.
    pub fn new(build: Build, device: u32, postings: u64, lengths: Vec<u32>) -> Result<Self> {
        assert!(
            u32::try_from(lengths.len()).is_ok(),
            "fewer than 2^32 documents"
        );
        let options = boundary::ListsOptions { device, postings };
        let api = build.api();
        // SAFETY: the options hold no pointers.
        let raw = unsafe { Owned::by_options(build, api.drop_lists, api.lists, &options) }?;
        Ok(ListsBuilder {
            raw,
            lengths,
            starts: vec![0],
            filled: 0,
            documents: Vec::new(),
            frequencies: Vec::new(),
            large_places: Vec::new(),
            large_frequencies: Vec::new(),
        })
    }

    /// Adds postings to the current list: documents, ascending, and their frequencies.
    ///
    /// # Errors
    /// There are more postings than allocated; the device failed.
    ///
    /// # Panics
    /// Panics if a document does not exist, or if the numbers of frequencies and documents differ.
    pub fn add(&mut self, documents: &[u32], frequencies: &[u32]) -> Result<()> {
        assert_eq!(documents.len(), frequencies.len(), "a frequency each");
        let most = documents.iter().copied().max();
        assert!(
            most.is_none_or(|most| (most as usize) < self.lengths.len()),
            "every document has a length"
        );
        for (place, &frequency) in (self.filled..).zip(frequencies) {
            let byte = u8::try_from(frequency).unwrap_or(u8::MAX);
            if byte == u8::MAX {
                self.large_places.push(place);
                self.large_frequencies.push(frequency);
            }
            self.frequencies.push(byte);
        }
        self.documents.extend_from_slice(documents);
        self.filled += documents.len() as u64;
        match self.documents.len() < GO_UP_TOGETHER {
            true => Ok(()),
            false => self.bring_up(),
        }
    }

    /// Copies the buffered postings to the device.
    fn bring_up(&mut self) -> Result<()> {
        let postings = boundary::Postings {
            documents: self.documents.as_ptr(),
            frequencies: self.frequencies.as_ptr(),
            count: self.documents.len() as u64,
        };
        // SAFETY: the postings are read during the call only.
        unsafe { self.raw.call(self.raw.api().add_postings, &postings) }?;
        self.documents.clear();
        self.frequencies.clear();
        Ok(())
    }

    /// Ends the current list.
    pub fn end_list(&mut self) {
        self.starts.push(self.filled);
    }

    /// Finishes with all ended lists.
    ///
    /// # Errors
    /// There is too little device memory; the device failed; the number of postings differs from
    /// the announced one.
    ///
    /// # Panics
    /// Panics if a list has 2^32 postings or more, or if the last list was not ended.
    pub fn finish(mut self) -> Result<DeviceLists> {
        self.bring_up()?;
        let count = self.starts.len() - 1;
        let length = |ends: &[u64]| u32::try_from(ends[1] - ends[0]).expect("fewer than 2^32");
        assert_eq!(self.starts[count], self.filled, "every list is ended");
        let counts: Vec<u32> = self.starts.windows(2).map(length).collect();
        let lists = boundary::Lists {
            count: count as u64,
            starts: self.starts.as_ptr(),
            documents: self.lengths.len() as u32,
            lengths: self.lengths.as_ptr(),
            large_places: self.large_places.as_ptr(),
            large_frequencies: self.large_frequencies.as_ptr(),
            large_count: self.large_places.len() as u64,
        };
        // SAFETY: the descriptions are read during the call only; documents have been checked.
        unsafe { self.raw.call(self.raw.api().finish_lists, &lists) }?;
        Ok(DeviceLists {
            raw: self.raw,
            counts,
            weights: RwLock::new(()),
        })
    }
}

impl DeviceLists {
    /// The number of lists.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// Whether there are no lists.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// The length of a list.
    ///
    /// # Panics
    /// Panics if the list does not exist.
    pub fn length(&self, list: u32) -> u32 {
        self.counts[list as usize]
    }

    /// Weighs all postings. Waits for readers of weights.
    ///
    /// # Errors
    /// The device failed.
    ///
    /// # Panics
    /// Panics if there is not one idf for every list.
    pub fn weigh(&self, formula: &Formula<'_>) -> Result<()> {
        assert_eq!(formula.idf.len(), self.len(), "an idf for every list");
        let raw = formula.raw();
        let _alone = self
            .weights
            .write()
            .unwrap_or_else(|error| error.into_inner());
        // SAFETY: the formula is read during the call only, and the lock excludes other users of the
        // weights.
        unsafe { self.raw.call(self.raw.api().weigh_lists, &raw) }
    }
}
