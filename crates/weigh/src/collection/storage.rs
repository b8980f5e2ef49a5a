//! The memory and the scratch space of a collection.

use std::path::PathBuf;

use tokapi_storage::memory::Memory;
use tokapi_storage::scratch::ScratchOptions;

/// The memory of a collection, and the scratch space for the rest.
///
/// [`Stored`](super::Stored) has an example.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Storage {
    /// The budget.
    pub memory: Memory,
    /// The scratch folders.
    pub scratch: ScratchOptions,
    /// The output of the collection. It identifies an interrupted job, and scratch files go beside it if no scratch
    /// folder is given.
    pub output: Option<PathBuf>,
}

impl Default for Storage {
    /// The available memory.
    fn default() -> Self {
        Storage::new(Memory::available())
    }
}

impl Storage {
    /// Scratch files go to the system's folder for temporary files.
    pub fn new(memory: Memory) -> Self {
        Storage {
            memory,
            scratch: ScratchOptions::default(),
            output: None,
        }
    }

    tokapi_storage::setters! { scratch: ScratchOptions, output: impl Into<Option<PathBuf>> }
}
