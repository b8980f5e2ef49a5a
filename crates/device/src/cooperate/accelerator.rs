//! A device that answers batches of queries.

use super::metric::Complexity;
use super::request::Search;
use tokapi_index::query::{Hit, SearchOptions};
use tokapi_storage::error::Result;

/// Answers batches of queries on lanes. A lane takes one batch at a time.
pub trait Accelerator: Send + Sync {
    /// Whether these options allow any search to be answered here, by whatever weights.
    fn answers(&self, options: &SearchOptions) -> bool;

    /// The work of a search; none if this device cannot answer it.
    fn complexity(&self, search: &Search) -> Option<Complexity>;

    /// Creates a lane.
    ///
    /// # Errors
    /// The device failed.
    fn lane(&self) -> Result<Box<dyn BatchLane>>;
}

/// A lane of an [`Accelerator`]. If one fails, all are given up.
pub trait BatchLane: Send {
    /// The answer to each search, the same as from the index; none if the index must answer it.
    ///
    /// # Errors
    /// The device failed.
    fn answer(&mut self, searches: &[&Search]) -> Result<Vec<Option<Vec<Hit>>>>;
}
