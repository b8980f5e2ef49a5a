//! A chunk: a bounded piece of the collection, in one text buffer with the documents' spans and ids.

use std::path::Path;
use std::sync::Arc;

use super::value::{FieldValue, ValueType};
use tokapi_storage::strings::Strings;

/// The bytes after the last document in a chunk's buffer. They allow loading a term as one 16-byte word at any
/// position, and classifying text 64 bytes at a time.
pub(crate) const PADDING: usize = 64;

/// Whole documents, their text in one buffer.
///
/// Invariants: spans ascend and do not touch, with at least one white space between two documents; the text of every
/// document is valid UTF-8; 64 spaces end the buffer.
#[derive(Debug, Clone, Default)]
pub struct Chunk {
    /// The text of all documents, followed by 64 spaces.
    pub text: Vec<u8>,
    /// The span of every document's text.
    pub spans: Vec<Span>,
    /// The external ids. An empty id stands for the document's number in the whole input.
    pub ids: Strings,
    /// The files of the documents, each with the number of its first document here.
    pub files: Vec<(usize, Arc<Path>)>,
    /// The values of the kept fields.
    pub(crate) values: Values,
}

/// The values of fields, document by document.
#[derive(Debug, Clone, Default)]
pub(crate) struct Values {
    values: Strings,
    /// The field of every value, as its index among the kept fields.
    fields: Vec<u32>,
    /// One past the last value of every document, up to the last document with a value.
    ends: Vec<usize>,
}

impl Values {
    fn clear(&mut self) {
        self.values.clear();
        self.fields.clear();
        self.ends.clear();
    }

    /// Adds a value of field `field` of document `document`, the next one in the chunk. A value that is not a string
    /// begins with the mark of its type.
    pub(crate) fn push(&mut self, document: usize, field: usize, value: &[u8]) {
        self.ends.resize(document, self.values.len());
        self.values.push(value);
        // Fields are named one by one, so there are far fewer than 2^32.
        self.fields.push(field as u32);
        self.ends.push(self.values.len());
    }

    /// The values of a document, in the order of the kept fields.
    pub(crate) fn of(&self, document: usize) -> impl Iterator<Item = FieldValue<'_>> + Clone {
        let end = |document: usize| self.ends.get(document).copied();
        let start = document.checked_sub(1).map_or(Some(0), end);
        let range = start.unwrap_or(0)..end(document).unwrap_or(start.unwrap_or(0));
        range.map(|value| {
            let (kind, text) = ValueType::split(self.values.get(value));
            FieldValue {
                field: self.fields[value] as usize,
                kind,
                text,
            }
        })
    }
}

/// The span of a document's text in its chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Chunk {
    /// Builds a chunk from documents, each as (id, text).
    pub fn from_documents<'a>(documents: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut chunk = Chunk::default();
        for (id, text) in documents {
            chunk.push(id, text);
        }
        chunk.finish();
        chunk
    }

    /// The number of documents.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there is no document.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The id of document `index`. It is empty if the format has no ids, and then stands for the document's number in
    /// the whole input.
    pub fn id(&self, index: usize) -> &[u8] {
        self.ids.get(index)
    }

    /// The text of document `index`.
    pub fn text(&self, index: usize) -> &[u8] {
        let Span { start, end } = self.spans[index];
        &self.text[start..end]
    }

    /// The values of document `index` in the kept fields, field after field.
    pub fn values(&self, index: usize) -> impl Iterator<Item = FieldValue<'_>> + Clone {
        self.values.of(index)
    }

    /// The file of document `index`.
    pub fn file(&self, index: usize) -> &Path {
        let after = self.files.partition_point(|(first, _)| *first <= index);
        let file = after.checked_sub(1).map(|place| &self.files[place].1);
        file.map_or(Path::new(""), |path| path)
    }

    /// Empties the chunk; its buffers are kept.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.spans.clear();
        self.ids.clear();
        self.files.clear();
        self.values.clear();
    }

    /// Adds a document.
    pub(crate) fn push(&mut self, id: &str, text: &str) {
        self.ids.push(id.as_bytes());
        let start = self.text.len();
        self.text.extend_from_slice(text.as_bytes());
        self.end_document(start);
    }

    /// Ends a document: its id has been added, and its text begins at `start`.
    pub(crate) fn end_document(&mut self, start: usize) {
        let end = self.text.len();
        self.spans.push(Span { start, end });
        self.text.push(b'\n');
    }

    /// Pads the buffer; no document may follow.
    pub(crate) fn finish(&mut self) {
        let end = self.spans.last().map_or(0, |span| span.end);
        self.text.truncate(end);
        self.text.resize(end + PADDING, b' ');
    }
}
