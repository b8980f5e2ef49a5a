//! An index that changes: documents are added as new parts, deleted by new lists of what is no more,
//! and parts are merged, while others search.
//!
//! New files are written beside the old ones and synced; then a new manifest takes the place of the one before, and
//! that is the moment of change. A process that is killed leaves the state before, and perhaps files that no manifest
//! names; the next writer removes them.

mod change;
mod ids;
mod merge;
mod state;
mod writer;

pub use change::{AddOptions, Added, Appended, Deletion, Missing, Repeated};
pub use writer::IndexWriter;
