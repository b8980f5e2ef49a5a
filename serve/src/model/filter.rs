//! A condition on a field.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A condition on a field: `"field:value"`, `"-field:value"` for documents without the value, or an object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(
    untagged,
    expecting = "a filter is \"field:value\", or {\"field\": ..., \"value\": ..., \"not\": ...}"
)]
pub enum FilterRequest {
    /// `field:value` or `-field:value`.
    Text(String),
    /// The parts.
    Parts(FilterParts),
}

/// The parts of a condition on a field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FilterParts {
    /// The field, one of those that the index keeps.
    pub field: String,
    /// The value, matched exactly.
    pub value: String,
    /// Whether documents with the value are excluded.
    #[serde(default)]
    pub not: bool,
}
