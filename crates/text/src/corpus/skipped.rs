//! Documents that are left out, and why.

use serde::{Deserialize, Serialize};

use tokapi_storage::error::Error;

/// What to do with a document that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum OnError {
    /// Stop with the error.
    #[default]
    Stop,
    /// Leave the document out, and count it.
    Skip,
}

/// What was left out under [`OnError::Skip`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// How many documents or broken files.
    pub count: u64,
    /// The first few reasons.
    pub reasons: Vec<String>,
}

impl Skipped {
    /// Reasons that are kept.
    const REASONS: usize = 10;

    /// Counts one more; its reason is made only if it is kept.
    pub fn add(&mut self, reason: impl FnOnce() -> Error) {
        self.count += 1;
        if self.reasons.len() < Self::REASONS {
            // Names and ids from the input may hold line ends; a reason is one line.
            self.reasons
                .push(reason().to_string().replace(['\n', '\r'], " "));
        }
    }

    /// Adds what was left out elsewhere.
    pub fn append(&mut self, other: Skipped) {
        self.count += other.count;
        self.reasons.extend(other.reasons);
        self.reasons.truncate(Self::REASONS);
    }
}
