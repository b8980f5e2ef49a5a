//! How a corpus is read.

use serde::{Deserialize, Serialize};

use super::format::Format;
use super::skipped::OnError;

/// How a corpus is read.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CorpusOptions {
    /// The format of all inputs; told from the name and the first bytes of each where not given.
    pub format: Option<Format>,
    /// The field or column that holds a document's id.
    pub id_field: Option<String>,
    /// The fields or columns that hold its text, in the order in which they are joined.
    pub text_fields: Vec<String>,
    /// The fields or columns whose values are kept beside the text ([`Chunk::values`](super::Chunk::values)).
    pub fields: Vec<String>,
    /// The most bytes in a chunk, one larger document excepted; [`DEFAULT_CHUNK_BYTES`](super::DEFAULT_CHUNK_BYTES), or less
    /// where the input is small, if not given.
    pub chunk_bytes: Option<usize>,
    /// What to do with a document that cannot be read.
    pub on_error: OnError,
}

impl Default for CorpusOptions {
    fn default() -> Self {
        CorpusOptions {
            format: None,
            id_field: None,
            text_fields: Vec::new(),
            fields: Vec::new(),
            chunk_bytes: None,
            on_error: OnError::Stop,
        }
    }
}
