//! The options of sorting a file.

use std::sync::Arc;

use super::input::Layout;
use super::key::KeyType;
use tokapi_storage::memory::Memory;
use tokapi_storage::progress::Progress;
use tokapi_storage::scratch::ScratchOptions;
use tokapi_storage::tune::Model;

/// The options of sorting a file.
///
/// [`sort_file`](crate::sort_file) has an example.
#[derive(Clone)]
#[non_exhaustive]
pub struct SortOptions {
    /// The type of keys.
    pub key_type: KeyType,
    /// Whether a payload of the same width follows every key. Equal keys keep their order.
    pub pairs: bool,
    /// The layout of records in the input and in the output.
    pub layout: Layout,
    /// The budget.
    pub memory: Memory,
    /// The scratch folders.
    pub scratch: ScratchOptions,
    /// The most bytes of a chunk; by default as many as fit into the memory.
    pub chunk_bytes: Option<usize>,
    /// A cost model of this machine. It chooses the size of chunks.
    pub tuned: Option<Arc<Model>>,
    /// Whether every chunk goes to scratch, even if all of them fit into memory.
    pub spill: bool,
    /// Whether input, computation and output wait for each other: for comparison.
    pub no_overlap: bool,
    /// Follows the operation, and can cancel it. A cancelled operation cannot be resumed.
    pub progress: Progress,
}

impl SortOptions {
    /// Options for binary keys of a type, within a budget.
    pub fn new(key_type: KeyType, memory: Memory) -> Self {
        SortOptions {
            key_type,
            pairs: false,
            layout: Layout::default(),
            memory,
            scratch: ScratchOptions::default(),
            chunk_bytes: None,
            tuned: None,
            spill: false,
            no_overlap: false,
            progress: Progress::default(),
        }
    }

    /// Sets [`pairs`](Self::pairs).
    pub fn pairs(mut self, pairs: bool) -> Self {
        self.pairs = pairs;
        self
    }

    /// Sets [`layout`](Self::layout).
    pub fn layout(mut self, layout: Layout) -> Self {
        self.layout = layout;
        self
    }

    /// Sets [`scratch`](Self::scratch).
    pub fn scratch(mut self, scratch: ScratchOptions) -> Self {
        self.scratch = scratch;
        self
    }

    /// Sets [`chunk_bytes`](Self::chunk_bytes).
    pub fn chunk_bytes(mut self, bytes: Option<usize>) -> Self {
        self.chunk_bytes = bytes;
        self
    }

    /// Sets [`tuned`](Self::tuned).
    pub fn tuned(mut self, model: Option<Arc<Model>>) -> Self {
        self.tuned = model;
        self
    }

    /// Sets [`spill`](Self::spill).
    pub fn spill(mut self, spill: bool) -> Self {
        self.spill = spill;
        self
    }

    /// Sets [`no_overlap`](Self::no_overlap).
    pub fn no_overlap(mut self, no_overlap: bool) -> Self {
        self.no_overlap = no_overlap;
        self
    }

    /// Sets [`progress`](Self::progress).
    pub fn progress(mut self, progress: Progress) -> Self {
        self.progress = progress;
        self
    }
}
