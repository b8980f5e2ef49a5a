//! The options of reading a corpus.

use serde::{Deserialize, Serialize};

use super::format::Format;
use super::skipped::OnError;

/// The options of reading a corpus.
///
/// ```
/// # use tokapi_text::corpus::{Corpus, CorpusOptions, OnError};
/// let options = CorpusOptions::default()
///     .id_field("url".to_owned())
///     .text_fields(["title", "body"])
///     .on_error(OnError::Skip);
/// let text = "{\"url\": \"/a\", \"title\": \"One\", \"body\": \"two\"}\nno JSON\n";
/// let mut corpus = Corpus::from_bytes("docs.jsonl", text, options);
/// let (_, skipped) = corpus.next_chunk()?.expect("one document");
/// assert_eq!(skipped.count, 1);
/// # Ok::<(), tokapi_storage::error::Error>(())
/// ```
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CorpusOptions {
    /// The format of all inputs. By default it is detected from the name and the first bytes of each input.
    pub format: Option<Format>,
    /// The field or column that holds a document's id.
    pub id_field: Option<String>,
    /// The fields or columns of its text, in the order in which they are joined; the default names if empty.
    pub text_fields: Vec<String>,
    /// The fields or columns whose values are kept beside the text ([`Chunk::values`](super::Chunk::values)).
    pub fields: Vec<String>,
    /// The most bytes in a chunk, except for one larger document. The default is
    /// [`DEFAULT_CHUNK_BYTES`](super::DEFAULT_CHUNK_BYTES), or less for small inputs.
    pub chunk_bytes: Option<usize>,
    /// The treatment of a document that cannot be read.
    pub on_error: OnError,
}

impl CorpusOptions {
    tokapi_storage::setters! {
        format: impl Into<Option<Format>>, id_field: impl Into<Option<String>>,
        text_fields: each impl Into<String>, fields: each impl Into<String>,
        chunk_bytes: impl Into<Option<usize>>, on_error: OnError,
    }
}
