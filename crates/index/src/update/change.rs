//! The options of changes, and their results.

use crate::build::Built;
use tokapi_storage::pipeline::StageTimes;
use tokapi_storage::scratch::ScratchOptions;
use tokapi_weigh::collection::BuildOptions;

/// The treatment of a new document whose id is in the index already.
///
/// [`IndexWriter`](crate::IndexWriter) has an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Repeated {
    /// Stop with an error; nothing is added.
    #[default]
    Stop,
    /// Keep the document in the index; the new one is left out.
    Skip,
    /// Replace the document in the index, in the same commit.
    Replace,
}

/// The treatment of ids to delete that no document has.
///
/// [`IndexWriter`](crate::IndexWriter) has an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Missing {
    /// Stop with an error; nothing is deleted.
    #[default]
    Stop,
    /// Delete the documents of the other ids.
    Ignore,
}

/// The result of an addition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Appended {
    /// New documents.
    pub documents: u64,
    /// Documents whose id was in the index already: left out, or replaced.
    pub repeated: u64,
    /// The time of each step.
    pub times: StageTimes,
}

/// Options for adding documents to an index.
///
/// [`IndexWriter`](crate::IndexWriter) has an example.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct AddOptions {
    /// The treatment of a new document whose id is in the index already.
    pub repeated: Repeated,
    /// Options for reading and inverting documents.
    pub build: BuildOptions,
    /// Fields that the index keeps from now on, besides those that it keeps already. Earlier documents have no values in
    /// them. The index must keep a field already.
    pub fields: Vec<String>,
    /// The folders for scratch files, used if the memory is too small; the folder of the index
    /// unless given.
    pub scratch: ScratchOptions,
}

impl AddOptions {
    tokapi_storage::setters! {
        repeated: Repeated, build: BuildOptions, fields: each impl Into<String>, scratch: ScratchOptions,
    }
}

/// The documents that were read and added.
///
/// [`IndexWriter`](crate::IndexWriter) has an example.
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
///
/// [`IndexWriter`](crate::IndexWriter) has an example.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Deletion {
    /// Deleted documents.
    pub documents: u64,
    /// The ids that no document has.
    pub unknown: Vec<String>,
}
