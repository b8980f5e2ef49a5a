//! An index that changes: added documents become new parts, deletions write new lists of deleted
//! documents, and parts are merged, while other processes search.
//!
//! New files are written beside the old ones and synced. Then a new manifest appears; this is the commit. A killed
//! process leaves the previous state, and perhaps files that no manifest names; the next writer removes them.

mod change;
mod ids;
mod merge;
mod merging;
mod prepared;
mod state;
mod transaction;
mod writer;

pub use change::{AddOptions, Added, Appended, Deletion, Missing, Repeated};
pub use prepared::Prepared;
pub use transaction::Transaction;
pub use writer::IndexWriter;
