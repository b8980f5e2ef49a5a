//! Skipped documents, and the reasons.

use serde::{Deserialize, Serialize};

use tokapi_storage::error::Error;

/// The treatment of a document that cannot be read.
///
/// [`CorpusOptions`](super::CorpusOptions) has an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum OnError {
    /// Stop with the error.
    #[default]
    Stop,
    /// Skip the document and count it.
    Skip,
}

/// The documents skipped under [`OnError::Skip`]. [`CorpusOptions`](super::CorpusOptions) has an example.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// The number of skipped documents and broken files.
    pub count: u64,
    /// The first few reasons.
    pub reasons: Vec<String>,
}

impl Skipped {
    /// The number of reasons to keep.
    const REASONS: usize = 10;

    /// Counts one more. Its reason is made only if it is kept.
    pub fn add(&mut self, reason: impl FnOnce() -> Error) {
        self.count += 1;
        if self.reasons.len() < Self::REASONS {
            // Names and ids of the input may hold line ends, but a reason is one line.
            self.reasons
                .push(reason().to_string().replace(['\n', '\r'], " "));
        }
    }

    /// Adds the skipped documents of another part.
    pub fn append(&mut self, other: Skipped) {
        self.count += other.count;
        self.reasons.extend(other.reasons);
        self.reasons.truncate(Self::REASONS);
    }
}
