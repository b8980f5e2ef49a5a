//! The options of changes, and their results.

use crate::build::Built;
use tokapi_storage::pipeline::StageTimes;
use tokapi_storage::scratch::ScratchOptions;
use tokapi_weigh::collection::BuildOptions;

/// The treatment of a new document whose id is in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Repeated {
    /// Nothing is added.
    #[default]
    Stop,
    /// The one that is in the index stays.
    Skip,
    /// It takes the place of the other, at the same moment.
    Replace,
}

/// The treatment of ids to delete that no document has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Missing {
    /// Nothing is deleted.
    #[default]
    Stop,
    /// The others are deleted.
    Ignore,
}

/// The result of an addition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Appended {
    /// New documents.
    pub documents: u64,
    /// Documents whose id was in the index already: left out, or replaced.
    pub repeated: u64,
    /// Where the time went.
    pub times: StageTimes,
}

/// How documents are added to an index.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct AddOptions {
    /// The treatment of a new document whose id is in the index.
    pub repeated: Repeated,
    /// How documents are read and inverted.
    pub build: BuildOptions,
    /// The folders for scratch files, used if the memory is too small; beside the index unless given.
    pub scratch: ScratchOptions,
}

impl AddOptions {
    /// Sets [`repeated`](Self::repeated).
    pub fn repeated(mut self, repeated: Repeated) -> Self {
        self.repeated = repeated;
        self
    }

    /// Sets [`build`](Self::build).
    pub fn build(mut self, build: BuildOptions) -> Self {
        self.build = build;
        self
    }

    /// Sets [`scratch`](Self::scratch).
    pub fn scratch(mut self, scratch: ScratchOptions) -> Self {
        self.scratch = scratch;
        self
    }
}

/// The documents that were read and added.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Added {
    /// New documents.
    pub documents: u64,
    /// Documents whose id was in the index already: left out, or replaced.
    pub repeated: u64,
    /// The documents that were read.
    pub built: Built,
}

/// The result of a deletion.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Deletion {
    /// Documents.
    pub documents: u64,
    /// The ids that no document has.
    pub unknown: Vec<String>,
}
