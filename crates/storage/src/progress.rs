//! The progress of a long operation, and its cancellation.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use crate::error::{Error, Result};

/// A step of a long operation.
///
/// [`Progress`] has an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
#[repr(u8)]
pub enum Stage {
    /// Reading and inverting documents; counted in bytes of the input.
    #[default]
    Reading,
    /// Merging sorted runs; counted in bytes.
    Merging,
    /// Writing the output; counted in postings or bytes.
    Writing,
    /// Building the graph of documents for reordering; counted in postings.
    Graph,
    /// Bisecting that graph; counted in documents.
    Bisecting,
    /// Reading ids; counted in documents.
    Ids,
    /// Checking files; counted in bytes.
    Checking,
    /// Generating a collection; counted in bytes before compression.
    Generating,
}

const STAGES: [Stage; 8] = [
    Stage::Reading,
    Stage::Merging,
    Stage::Writing,
    Stage::Graph,
    Stage::Bisecting,
    Stage::Ids,
    Stage::Checking,
    Stage::Generating,
];

/// A snapshot of a [`Progress`]. [`Progress`] has an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Snapshot {
    /// The stage.
    pub stage: Stage,
    /// The work done in this stage, in the stage's unit.
    pub done: u64,
    /// All the work of this stage; 0 while unknown.
    pub total: u64,
    /// The bytes of input read since the beginning, before decompression.
    pub bytes: u64,
    /// The documents read since the beginning.
    pub documents: u64,
}

/// The progress of a long operation. Clones share one state: give one to the operation and keep another. Any thread may
/// read the [`snapshot`](Progress::snapshot) or [`cancel`](Progress::cancel).
///
/// ```
/// # use tokapi_storage::{error::Error, progress::{Progress, Stage}};
/// let progress = Progress::new();
/// let watched = progress.clone();
/// // The operation reports.
/// progress.begin(Stage::Merging, 10);
/// progress.add(3);
/// // Another thread watches, and cancels.
/// let snapshot = watched.snapshot();
/// assert_eq!((snapshot.stage, snapshot.done, snapshot.total), (Stage::Merging, 3, 10));
/// watched.cancel();
/// assert!(matches!(progress.check(), Err(Error::Cancelled)));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Progress(Arc<State>);

#[derive(Debug, Default)]
struct State {
    cancelled: AtomicBool,
    stage: AtomicU8,
    done: AtomicU64,
    total: AtomicU64,
    bytes: AtomicU64,
    documents: AtomicU64,
}

impl Progress {
    /// The progress of an operation that has not begun.
    pub fn new() -> Self {
        Progress::default()
    }

    /// The current snapshot.
    pub fn snapshot(&self) -> Snapshot {
        let state = &self.0;
        Snapshot {
            stage: STAGES[usize::from(state.stage.load(Ordering::Relaxed))],
            done: state.done.load(Ordering::Relaxed),
            total: state.total.load(Ordering::Relaxed),
            bytes: state.bytes.load(Ordering::Relaxed),
            documents: state.documents.load(Ordering::Relaxed),
        }
    }

    /// Ends the operation soon: it returns [`Error::Cancelled`] and leaves nothing behind.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether the operation has been cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Relaxed)
    }

    /// Fails if the operation has been cancelled.
    ///
    /// # Errors
    /// [`Error::Cancelled`].
    pub fn check(&self) -> Result<()> {
        match self.is_cancelled() {
            true => Err(Error::Cancelled),
            false => Ok(()),
        }
    }

    /// Begins a stage with `total` units of work; 0 if the total is unknown.
    pub fn begin(&self, stage: Stage, total: u64) {
        self.0.stage.store(stage as u8, Ordering::Relaxed);
        self.0.total.store(total, Ordering::Relaxed);
        self.0.done.store(0, Ordering::Relaxed);
    }

    /// Corrects the total work of this stage.
    pub fn set_total(&self, total: u64) {
        self.0.total.store(total, Ordering::Relaxed);
    }

    /// Adds work done in this stage.
    pub fn add(&self, units: u64) {
        self.0.done.fetch_add(units, Ordering::Relaxed);
    }

    /// Adds bytes of input, the unit of [`Stage::Reading`].
    pub fn add_bytes(&self, bytes: u64) {
        self.0.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.add(bytes);
    }

    /// Subtracts bytes that will be read again.
    pub fn take_back_bytes(&self, bytes: u64) {
        self.0.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.0.done.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Adds documents.
    pub fn add_documents(&self, documents: u64) {
        self.0.documents.fetch_add(documents, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_their_state() {
        let progress = Progress::new();
        let other = progress.clone();
        progress.begin(Stage::Checking, 7);
        progress.add(3);
        progress.add_documents(2);
        let now = other.snapshot();
        assert_eq!((now.stage, now.done, now.total), (Stage::Checking, 3, 7));
        assert_eq!((now.bytes, now.documents), (0, 2));
        assert!(progress.check().is_ok());
        other.cancel();
        assert!(matches!(progress.check(), Err(Error::Cancelled)));
    }

    #[test]
    fn stages_keep_their_numbers() {
        for (number, stage) in STAGES.into_iter().enumerate() {
            assert_eq!(stage as usize, number);
        }
    }
}
