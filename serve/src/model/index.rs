//! The server and its indexes.

use serde::Serialize;
use utoipa::ToSchema;

use super::state::IndexState;

/// The server.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct ServerAnswer {
    /// `tokapi`.
    pub name: &'static str,
    /// The version of the program.
    pub version: &'static str,
    /// The names of the indexes.
    pub indexes: Vec<String>,
    /// The path of the OpenAPI document.
    pub openapi: &'static str,
}

/// All indexes.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct IndexesAnswer {
    /// The indexes, by name.
    pub indexes: Vec<IndexAnswer>,
}

/// An index.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct IndexAnswer {
    /// The state.
    #[serde(flatten)]
    pub state: IndexState,
    /// The number of documents.
    pub documents: u64,
    /// Deleted documents that still take space.
    pub deleted: u64,
    /// The number of parts.
    pub parts: usize,
    /// The size of the files.
    pub bytes: u64,
    /// How text is cut into terms.
    pub analyzer: String,
    /// Whether it keeps texts, for snippets.
    pub keeps_text: bool,
    /// Whether it keeps positions, for phrases.
    pub keeps_positions: bool,
    /// The fields that it keeps, for filters and display.
    pub fields: Vec<String>,
    /// The formula of its scores, if that was fixed when it was built.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub impacts: Option<String>,
}
