//! Operations on documents, and their results.

use tokapi::Document;

/// The most bytes of an id.
pub const MOST_ID_BYTES: usize = 512;

/// A change of one document.
#[derive(Debug, Clone, PartialEq)]
pub enum Operation {
    /// Adds a document, or replaces the one with its id.
    Put(Document),
    /// Adds a document, unless one has its id.
    Create(Document),
    /// Deletes the document with this id.
    Delete(String),
}

impl Operation {
    /// The id of the document.
    pub fn id(&self) -> &str {
        match self {
            Operation::Put(document) | Operation::Create(document) => &document.id,
            Operation::Delete(id) => id,
        }
    }
}

/// Operations of one request, which happen in one epoch.
#[derive(Debug, Clone, Default)]
pub struct Write {
    /// The operations, in order.
    pub operations: Vec<Operation>,
    /// Fields that the index keeps from now on, besides those that it keeps already.
    pub fields: Vec<String>,
    /// The text to attach to the index.
    pub attachment: Option<String>,
    /// The client's name of the request: a request of the same name is answered as before, and not applied again.
    pub key: Option<String>,
}

/// The result of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The document is new.
    Created,
    /// It replaced another.
    Replaced,
    /// It was deleted.
    Deleted,
    /// There was no document to delete.
    NotFound,
    /// A document had the id, and stays.
    Conflict,
}

/// The results of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The first epoch that has them.
    pub epoch: u64,
    /// The result of each operation.
    pub outcomes: Vec<Outcome>,
}
