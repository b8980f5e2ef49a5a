//! A device that answers batches of queries.

use super::metric::Complexity;
use tokapi_index::query::{Hit, Query, SearchOptions};
use tokapi_storage::error::Result;

/// Answers batches of queries on lanes. A lane takes one batch at a time.
pub trait Accelerator: Send + Sync {
    /// Whether these options allow any query to be answered here.
    fn answers(&self, options: &SearchOptions) -> bool;

    /// The work of a query; none if this device cannot answer it.
    fn complexity(&self, query: &Query) -> Option<Complexity>;

    /// Creates a lane.
    ///
    /// # Errors
    /// The device failed.
    fn lane(&self) -> Result<Box<dyn BatchLane>>;
}

/// A lane of an [`Accelerator`].
pub trait BatchLane: Send {
    /// The best documents for each query, the same as from the index; none if the index must
    /// answer the query.
    ///
    /// # Errors
    /// The device failed.
    fn answer(
        &mut self,
        queries: &[&Query],
        options: &SearchOptions,
    ) -> Result<Vec<Option<Vec<Hit>>>>;
}
