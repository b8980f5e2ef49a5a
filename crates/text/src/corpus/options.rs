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
    /// Sets [`format`](Self::format).
    pub fn format(mut self, format: impl Into<Option<Format>>) -> Self {
        self.format = format.into();
        self
    }

    /// Sets [`id_field`](Self::id_field).
    pub fn id_field(mut self, name: impl Into<Option<String>>) -> Self {
        self.id_field = name.into();
        self
    }

    /// Sets [`text_fields`](Self::text_fields).
    pub fn text_fields(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.text_fields = names.into_iter().map(Into::into).collect();
        self
    }

    /// Sets [`fields`](Self::fields).
    pub fn fields(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.fields = names.into_iter().map(Into::into).collect();
        self
    }

    /// Sets [`chunk_bytes`](Self::chunk_bytes).
    pub fn chunk_bytes(mut self, bytes: impl Into<Option<usize>>) -> Self {
        self.chunk_bytes = bytes.into();
        self
    }

    /// Sets [`on_error`](Self::on_error).
    pub fn on_error(mut self, on_error: OnError) -> Self {
        self.on_error = on_error;
        self
    }
}
