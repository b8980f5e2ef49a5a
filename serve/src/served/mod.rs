//! The indexes that are served: each has a name, and is read in one state at a time.

mod catalog;
mod columns;
mod snapshot;

pub use catalog::{Catalog, Served, is_name, name_of};
pub use columns::{Columns, USUAL_ROOM, most_frequent};
pub use snapshot::Snapshot;
