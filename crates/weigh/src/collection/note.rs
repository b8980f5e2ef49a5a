//! Facts about chunks beside their postings, and the error for a repeated id.

use std::path::PathBuf;

use tokapi_storage::error::{Error, Place, Position};
use tokapi_text::corpus::Skipped;

/// The facts about a chunk beside its postings.
#[derive(Debug, Default)]
pub struct ChunkNote {
    pub(crate) skipped: Skipped,
    /// The bytes of text that were read.
    pub(crate) bytes: u64,
}

impl ChunkNote {
    /// Adds the note of a later chunk.
    pub(crate) fn append(&mut self, later: ChunkNote) {
        self.bytes += later.bytes;
        self.skipped.append(later.skipped);
    }
}

/// The error for document `repeat`, in the file `path`, with the id of document `of`.
pub fn repeated_id(path: PathBuf, id: &str, repeat: u32, of: u32) -> Error {
    Error::Input {
        place: Place {
            path,
            position: Position::Whole,
        },
        what: format!(
            "document {} of the input has the id `{id}` of document {}; ids must differ",
            u64::from(repeat) + 1,
            u64::from(of) + 1
        ),
    }
}
