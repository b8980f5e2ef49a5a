//! Documents, postings, statistics and values of an index.

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::state::IndexState;
use super::term::{TermAnswer, TermCount};

/// A document.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct DocumentAnswer {
    /// The state of the index that was read.
    #[serde(flatten)]
    pub state: IndexState,
    /// The id.
    pub id: String,
    /// The sequence number: documents are numbered in the order of addition.
    pub sequence: u64,
    /// The number of terms.
    pub length: u32,
    /// The values of the kept fields: a value, or a list of values.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub fields: Option<Map<String, Value>>,
    /// The text, if the index keeps it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A document as a sparse vector of weights.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct VectorAnswer {
    /// The state of the index that was read.
    #[serde(flatten)]
    pub state: IndexState,
    /// The id of the document.
    pub id: String,
    /// The number of its terms, repeated ones included.
    pub length: u32,
    /// The formula with its parameters.
    pub formula: String,
    /// The distinct terms, in the order of the text.
    pub terms: Vec<TermAnswer>,
}

/// Some postings of a term.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct PostingsAnswer {
    /// The state of the index that was read.
    #[serde(flatten)]
    pub state: IndexState,
    /// The term, and the number of documents with it.
    #[serde(flatten)]
    pub of: TermCount,
    /// The formula of the weights, with its parameters.
    pub formula: String,
    /// The postings, in the order of the index.
    pub postings: Vec<PostingAnswer>,
    /// `after` of the next page; missing if this is the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// A posting.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct PostingAnswer {
    /// The id of the document.
    pub id: String,
    /// How often it has the term; in an index of impacts, the impact there.
    pub tf: u32,
    /// The weight of the term in it.
    pub weight: f32,
}

/// The statistics of an index.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct StatisticsAnswer {
    /// The state of the index that was read.
    #[serde(flatten)]
    pub state: IndexState,
    /// N, the number of documents.
    pub documents: u64,
    /// The total length of all documents, in terms.
    pub total_length: u64,
    /// avdl, the average length of a document; missing if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub average_length: Option<f64>,
    /// Deleted documents that still take space.
    pub deleted: u64,
    /// Distinct (term, document) pairs, including those of deleted documents.
    pub postings: u64,
    /// The sum of the numbers of terms of all parts.
    pub terms: u64,
    /// The number of parts.
    pub parts: usize,
}

/// Values of a field.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct ValuesAnswer {
    /// The state of the index that was read.
    #[serde(flatten)]
    pub state: IndexState,
    /// The field.
    pub field: String,
    /// The number of distinct values.
    pub distinct: u64,
    /// The values, the most frequent first.
    pub values: Vec<ValueCount>,
}

/// A value and the number of documents with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct ValueCount {
    /// The value, as filters take it.
    pub value: String,
    /// The number of documents with it.
    pub count: u64,
}
