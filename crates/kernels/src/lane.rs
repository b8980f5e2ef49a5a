//! Answers to batches of queries.

use crate::owned::{Owned, filled};
use crate::{Batch, Build, DeviceLists, Error, Result, boundary, slice};

/// Maximum number of documents that a lane ranks for a query.
pub const MOST_RANKED: usize = 1024;

/// The division of a batch's elements among threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u32)]
pub enum Scheme {
    /// One thread for every element of a shortest list, over all queries.
    #[default]
    Para,
    /// One block of threads for every query.
    Part,
}

/// Answers one batch at a time. Several lanes, each on its own thread, overlap copies and
/// computation.
pub struct Lane {
    raw: Owned<boundary::Lane>,
    device: u32,
}

/// The documents that match every query of a batch.
pub struct Matches<'a> {
    starts: &'a [u32],
    counts: &'a [u32],
    documents: &'a [u32],
}

/// The best documents for every query of a batch.
pub struct Ranked<'a> {
    k: usize,
    keys: &'a [u64],
    counts: &'a [u32],
}

impl Lane {
    /// A lane of a device. In tests, it is lost after the given number of batches.
    ///
    /// # Errors
    /// The device does not exist, or failed.
    pub fn new(build: Build, device: u32, fail_after: Option<u64>) -> Result<Self> {
        let api = build.api();
        let raw = Owned::make(build, api.drop_lane, |raw, error| {
            let fail_after = fail_after.map_or(0, |batches| batches + 1);
            // SAFETY: `raw` outlives the call.
            unsafe { (api.lane)(device, fail_after, raw, error) }
        })?;
        Ok(Lane { raw, device })
    }

    fn check(&self, lists: &DeviceLists, batch: &Batch) {
        assert_eq!(
            lists.place(),
            (self.raw.build, self.device),
            "lists of the lane's device"
        );
        batch.check(lists);
    }

    /// The documents that match each query.
    ///
    /// # Errors
    /// The shortest lists have 2^32 postings or more in total; there is too little device memory;
    /// the device failed.
    ///
    /// # Panics
    /// Panics if a query has no required term, or a list that does not exist, or if the lists are on another device.
    pub fn intersect(
        &mut self,
        lists: &DeviceLists,
        batch: &Batch,
        scheme: Scheme,
    ) -> Result<Matches<'_>> {
        assert!(batch.have_must(), "a list to intersect");
        self.check(lists, batch);
        let raw = batch.raw();
        let matches: boundary::Matches = filled(|matches, error| {
            let (intersect, lane) = (self.raw.api().intersect, self.raw.as_ptr());
            let lists = lists.raw.as_ptr();
            // SAFETY: the batch is read during the call only; its lists exist.
            unsafe { intersect(lane, lists, &raw const raw, scheme as u32, matches, error) }
        })?;
        // SAFETY: the lane owns arrays of these sizes. They stay valid until its next call, which
        // borrows it mutably.
        unsafe {
            Ok(Matches {
                starts: slice(matches.starts, batch.len() as u64),
                counts: slice(matches.counts, batch.len() as u64),
                documents: slice(matches.documents, matches.copied),
            })
        }
    }

    /// The best `k` documents for each query.
    ///
    /// # Errors
    /// More than [`MOST_RANKED`] documents are requested; the lists have 2^42 postings or more;
    /// there is too little device memory; the device failed.
    ///
    /// # Panics
    /// Panics if a query has a list that does not exist, or if the lists are on another device.
    pub fn rank(&mut self, lists: &DeviceLists, batch: &Batch, k: usize) -> Result<Ranked<'_>> {
        self.check(lists, batch);
        // Sections have 4,096 postings, the last of each list fewer. They are counted in 32 bits.
        if batch.elements() >= 1 << 42 {
            let elements = batch.elements();
            return Err(Error::TooLarge(format!("a batch of {elements} postings")));
        }
        let raw = batch.raw();
        let weights = lists.weights.read();
        let _weights = weights.unwrap_or_else(|error| error.into_inner());
        let ranked: boundary::Ranked = filled(|ranked, error| {
            let (lane, lists) = (self.raw.as_ptr(), lists.raw.as_ptr());
            let k = u32::try_from(k).unwrap_or(u32::MAX);
            // SAFETY: the batch is read during the call only; its lists exist.
            unsafe { (self.raw.api().rank)(lane, lists, &raw const raw, k, ranked, error) }
        })?;
        // SAFETY: as above.
        unsafe {
            Ok(Ranked {
                k,
                keys: slice(ranked.keys, (batch.len() * k) as u64),
                counts: slice(ranked.counts, batch.len() as u64),
            })
        }
    }
}

impl Matches<'_> {
    /// The documents of a query, ascending.
    pub fn of(&self, query: usize) -> &[u32] {
        &self.documents[self.starts[query] as usize..][..self.counts[query] as usize]
    }

    /// Number of documents copied from the device.
    pub fn copied(&self) -> usize {
        self.documents.len()
    }
}

impl Ranked<'_> {
    /// The documents of a query with their scores, the best first.
    pub fn of(&self, query: usize) -> impl ExactSizeIterator<Item = (u32, f32)> + '_ {
        let keys = &self.keys[query * self.k..][..self.counts[query] as usize];
        keys.iter().map(|&key| (key as u32, score(key)))
    }
}

/// The score in a key of `batch.hpp`.
fn score(key: u64) -> f32 {
    let ascending = !((key >> 32) as u32);
    f32::from_bits(match ascending >> 31 {
        1 => ascending & !(1 << 31),
        _ => !ascending,
    })
}
