//! The state of an index.

use serde::Serialize;
use utoipa::ToSchema;

/// The state of an index that was read.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct IndexState {
    /// The name of the index.
    pub index: String,
    /// The number of the state.
    pub epoch: u64,
    /// Whether all of the index was read.
    pub complete: bool,
}

/// The answer to a change of an index as a whole.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct EpochAnswer {
    /// The name of the index.
    pub index: String,
    /// Its state.
    pub epoch: u64,
}
