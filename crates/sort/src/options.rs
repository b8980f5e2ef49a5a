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
    #[doc(hidden)]
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

    tokapi_storage::setters! {
        pairs: bool, layout: Layout, scratch: ScratchOptions, chunk_bytes: Option<usize>,
        #[doc(hidden)] tuned: Option<Arc<Model>>, spill: bool, no_overlap: bool, progress: Progress,
    }
}
