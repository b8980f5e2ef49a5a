//! The number of documents that match.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::filter::FilterRequest;
use super::search::Mode;

/// A query whose matches are counted.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CountRequest {
    /// The query, as that of a search.
    #[schema(example = "boundary layer +flow")]
    pub query: String,
    /// The words that a document must have.
    pub mode: Mode,
    /// Whether `+`, `-` and `"` are operators; otherwise they are text.
    #[schema(default = true)]
    pub operators: bool,
    /// Conditions on fields. A document must meet all of them.
    pub filters: Vec<FilterRequest>,
    /// The most milliseconds to wait for the answer.
    #[schema(minimum = 1)]
    pub timeout_ms: Option<u64>,
}

impl Default for CountRequest {
    fn default() -> Self {
        CountRequest {
            query: String::new(),
            mode: Mode::Or,
            operators: true,
            filters: Vec::new(),
            timeout_ms: None,
        }
    }
}

/// The number of documents that match.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct CountAnswer {
    /// The microseconds from the request to the answer.
    pub took_us: u64,
    /// The name of the index.
    pub index: String,
    /// The state of the index that was searched.
    pub epoch: u64,
    /// Whether all of the index was searched.
    pub complete: bool,
    /// The number of documents that match.
    pub count: u64,
}
