//! The options of reordering.

use tokapi_storage::error::{Error, Result};
use tokapi_storage::memory::Memory;
use tokapi_storage::progress::Progress;

/// An order of documents. Search results with equal scores keep this order.
///
/// [`IndexWriter`](crate::IndexWriter) has an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reorder {
    /// By recursive graph bisection: documents that share terms are neighbours.
    Graph,
    /// By ids, compared byte by byte. If ids are URLs, the pages of a site become neighbours.
    Id,
}

/// The options of reordering.
///
/// [`IndexWriter`](crate::IndexWriter) has an example.
#[derive(Debug, Clone)]
pub struct Reordering {
    pub(crate) by: Reorder,
    pub(crate) memory: Memory,
    pub(crate) threads: usize,
    pub(crate) progress: Progress,
}

impl Reordering {
    /// The order `by`, with the available memory and one thread a processor.
    pub fn new(by: Reorder) -> Self {
        Reordering {
            by,
            memory: Memory::available(),
            threads: 0,
            progress: Progress::new(),
        }
    }

    /// Limits the memory for finding the order and writing the documents.
    pub fn memory(mut self, memory: Memory) -> Self {
        self.memory = memory;
        self
    }

    /// Works on `threads` threads; the result does not depend on their number.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Reports to `progress`, and stops if that is cancelled.
    pub fn progress(mut self, progress: Progress) -> Self {
        self.progress = progress;
        self
    }

    /// The error that an order needs more memory.
    pub(super) fn too_little(needed: u64) -> Error {
        Error::Limit(format!(
            "putting the documents in this order takes {} MB of memory; give a larger budget",
            needed.div_ceil(1_000_000)
        ))
    }

    /// Stops if the reordering has been cancelled.
    pub(super) fn check(&self) -> Result<()> {
        self.progress.check()
    }
}
