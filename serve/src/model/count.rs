//! The number of documents that match.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::filter::FilterRequest;
use super::search::Mode;
use super::state::IndexState;

/// A query whose matches are counted.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CountRequest {
    /// The query, as that of a search.
    #[serde(default)]
    #[schema(default = "", example = "boundary layer +flow")]
    pub query: String,
    /// The words that a document must have.
    #[serde(default)]
    #[schema(default = "or")]
    pub mode: Mode,
    /// Whether `+`, `-` and `"` are operators; otherwise they are text.
    #[serde(default = "yes")]
    #[schema(default = true)]
    pub operators: bool,
    /// Conditions on fields. A document must meet all of them.
    #[serde(default)]
    #[schema(default = json!([]))]
    pub filters: Vec<FilterRequest>,
    /// The most milliseconds to wait for the answer.
    #[schema(minimum = 1)]
    pub timeout_ms: Option<u64>,
}

fn yes() -> bool {
    true
}

/// The number of documents that match.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct CountAnswer {
    /// The microseconds from the request to the answer.
    pub took_us: u64,
    /// The state of the index that was searched.
    #[serde(flatten)]
    pub state: IndexState,
    /// The number of documents that match.
    pub count: u64,
}
