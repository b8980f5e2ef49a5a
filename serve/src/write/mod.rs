//! Changes of an index: requests become operations, the operations of requests that wait together become one epoch.
//!
//! Each index that is written has one [`Writer`], and a thread that owns it. A request is answered when the epoch with
//! its operations is on disk and new searches read it.

mod apply;
mod operation;
mod remembered;
mod snapshots;
mod writer;
mod writers;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use operation::{Applied, MOST_ID_BYTES, Operation, Outcome, Write};
pub use writer::{Queued, Writer, WriterOptions};
pub use writers::{NewIndex, Writers, WritersOptions, indexes_in};

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each change of the content is one step.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
