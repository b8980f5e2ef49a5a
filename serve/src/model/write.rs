//! Changes of an index: documents, operations of a bulk request, and their results.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::object::{fields, object};

/// A document without its id.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DocumentRequest {
    /// The text that is searched.
    #[schema(example = "The boundary layer of a wing")]
    pub text: String,
    /// The values of fields: a string, a number, a boolean, or a list of these. The index must keep the fields.
    #[serde(default, deserialize_with = "fields")]
    #[schema(value_type = Object, example = json!({"lang": "en", "topic": ["wings", "flow"]}))]
    pub fields: Map<String, Value>,
}

/// A document with its id.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewDocument {
    /// The id; at most 512 bytes.
    #[schema(min_length = 1, example = "1")]
    pub id: String,
    /// The text that is searched.
    #[schema(example = "The boundary layer of a wing")]
    pub text: String,
    /// The values of fields: a string, a number, a boolean, or a list of these. The index must keep the fields.
    #[serde(default, deserialize_with = "fields")]
    #[schema(value_type = Object, example = json!({"lang": "en", "topic": ["wings", "flow"]}))]
    pub fields: Map<String, Value>,
}

/// A line of a bulk request: an object with one member.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum BulkLine {
    /// Adds a document, or replaces the one with its id.
    #[serde(deserialize_with = "object")]
    Put(NewDocument),
    /// Adds a document, unless one has its id.
    #[serde(deserialize_with = "object")]
    Create(NewDocument),
    /// Deletes a document.
    #[serde(deserialize_with = "object")]
    Delete(DocumentId),
}

/// The id of a document.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DocumentId {
    /// The id.
    #[schema(min_length = 1, example = "1")]
    pub id: String,
}

/// The result of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WriteResult {
    /// The document is new.
    Created,
    /// It replaced another.
    Replaced,
    /// It was deleted.
    Deleted,
    /// There was no document to delete.
    NotFound,
    /// A document has the id, and stays.
    Conflict,
}

/// The answer to a change.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct WriteAnswer {
    /// The name of the index.
    pub index: String,
    /// The first state with the change.
    pub epoch: u64,
    /// The id of the document.
    pub id: String,
    /// The result.
    pub result: WriteResult,
}

/// The answer to a line of a bulk request.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct BulkAnswer {
    /// The number of the line, from 1 on.
    pub line: u64,
    /// The id of the document, if the line has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The first state with the change; none if nothing was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
    /// The result; none if the line has a problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<WriteResult>,
    /// The fault of the line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<crate::problem::Problem>,
}

impl BulkAnswer {
    /// The answer to a line, without a result.
    pub fn new(line: u64) -> Self {
        BulkAnswer {
            line,
            id: None,
            epoch: None,
            result: None,
            problem: None,
        }
    }
}

/// A new index.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct IndexRequest {
    /// Where terms begin and end. `unicode`: words with their marks, in lower case and composed to NFC; `plain`: runs of
    /// ASCII letters, digits and other characters beyond ASCII; `python`: runs that `\w+` matches in Python;
    /// `whitespace`: runs without white space.
    #[schema(default = "unicode")]
    pub analyzer: Option<String>,
    /// `english` drops the 33 stop words of Lucene.
    #[schema(default = "none")]
    pub stop_words: Option<String>,
    /// The language of the Snowball stemmer; none unless given.
    pub stemmer: Option<String>,
    /// Whether it keeps texts, for snippets.
    #[schema(default = true)]
    pub text: Option<bool>,
    /// Whether it keeps positions, for phrases.
    #[schema(default = true)]
    pub positions: Option<bool>,
    /// The fields that it keeps, for filters and display. Each has a name and is named once.
    #[schema(example = json!(["lang", "year"]))]
    pub fields: Vec<String>,
}
