//! Terms, and the parts that they have in scores.

use serde::Serialize;
use utoipa::ToSchema;

use super::state::IndexState;

/// The part of a term in a score.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct TermAnswer {
    /// The term.
    pub term: String,
    /// How often the query has the term.
    pub times: f64,
    /// How often the document has the term.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tf: Option<u32>,
    /// The impact of the term in the document, in an index of impacts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub impact: Option<u32>,
    /// The number of documents with the term.
    pub df: u64,
    /// The idf.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idf: Option<f64>,
    /// The weight of an impact of 1, in an index of impacts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<f64>,
    /// The weight of the term in the document.
    pub weight: f32,
}

/// Some terms of an index.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct TermsAnswer {
    /// The state of the index that was read.
    #[serde(flatten)]
    pub state: IndexState,
    /// The terms, ascending by their bytes.
    pub terms: Vec<TermCount>,
    /// `after` of the next page; missing if this is the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A term and the number of documents with it.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct TermCount {
    /// The term.
    pub term: String,
    /// The number of documents with it.
    pub df: u64,
}
