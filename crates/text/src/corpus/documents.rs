//! Documents from memory: an iterator that is read as an input, row by row.
//!
//! The thread that fills blocks pulls the iterator. No more documents are held than those of the blocks in flight.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

use super::options::CorpusOptions;
use super::records::Records;
use super::rows::{put, put_count};
use super::segment::{First, Layout, Origin};
use super::value::ValueType;
use tokapi_storage::error::{Error, Place, Position, Result};
use tokapi_storage::progress::Progress;

/// The name of documents from memory in errors.
pub(super) const NAME: &str = "documents";

/// A document in memory.
///
/// ```
/// # use tokapi_text::corpus::{Document, Value};
/// let document = Document::new("a", "Boundary layers").field("year", 1959.0);
/// assert_eq!(document.fields, [("year".to_owned(), Value::Number(1959.0))]);
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Document {
    /// The id, unique among all documents.
    pub id: String,
    /// The text that becomes terms.
    pub text: String,
    /// Names of fields and their values. A field may have several values. Only the fields that the corpus keeps are
    /// used ([`CorpusOptions::fields`]).
    pub fields: Vec<(String, Value)>,
}

/// The value of a field.
///
/// [`Document`] has an example.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// A string.
    Text(String),
    /// A number.
    Number(f64),
    /// A whole number, with all its digits.
    Integer(i128),
    /// A boolean.
    Boolean(bool),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Text(text)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Value::Number(number)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Value::Integer(number.into())
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Value::Integer(number.into())
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Boolean(value)
    }
}

impl Value {
    /// The type of the value, and its text.
    fn typed(&self) -> (ValueType, Cow<'_, str>) {
        match self {
            Value::Text(text) => (ValueType::Text, Cow::Borrowed(text)),
            // Negative zero is zero.
            Value::Number(number) => (ValueType::Number, Cow::Owned((number + 0.0).to_string())),
            Value::Integer(number) => (ValueType::Number, Cow::Owned(number.to_string())),
            Value::Boolean(value) => (ValueType::Boolean, Cow::Owned(value.to_string())),
        }
    }

    /// The value of a type that has this text; none if no value has. A number is an [`Value::Integer`] if a
    /// [`Value::Number`] would have another text.
    #[doc(hidden)]
    pub fn of_text(kind: ValueType, text: &str) -> Option<Self> {
        Some(match kind {
            ValueType::Text => Value::Text(text.to_owned()),
            ValueType::Boolean => Value::Boolean(text.parse().ok()?),
            ValueType::Number => match Value::Number(text.parse().ok()?) {
                number if number.typed().1 == text => number,
                number => text.parse().map_or(number, Value::Integer),
            },
        })
    }
}

impl Document {
    /// A document without fields.
    pub fn new(id: impl Into<String>, text: impl Into<String>) -> Self {
        Document {
            id: id.into(),
            text: text.into(),
            fields: Vec::new(),
        }
    }

    /// Adds a value of a field.
    pub fn field(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.fields.push((name.into(), value.into()));
        self
    }

    /// Appends the document as a row.
    fn put(&self, options: &CorpusOptions, bytes: &mut Vec<u8>) -> Result<(), &'static str> {
        const TOO_LONG: &str = "a text of 4 GiB or more; cut the document";
        put(Some(self.id.as_bytes()), bytes).map_err(|_| TOO_LONG)?;
        put(Some(self.text.as_bytes()), bytes).map_err(|_| TOO_LONG)?;
        for field in &options.fields {
            let values = self.fields.iter().filter(|(name, _)| name == field);
            put_count(values.clone().count(), bytes).map_err(|_| TOO_LONG)?;
            for (_, value) in values {
                let (kind, text) = value.typed();
                put(Some(&kind.mark(text.as_bytes())), bytes).map_err(|_| TOO_LONG)?;
            }
        }
        Ok(())
    }

    /// The document as a line for [`Document::of_line`].
    pub(super) fn line(&self) -> String {
        let fields = self.fields.iter().map(|(name, value)| {
            let (kind, text) = value.typed();
            (name, kind as u8, text)
        });
        let fields: Vec<_> = fields.collect();
        serde_json::json!([self.id, self.text, fields]).to_string()
    }

    fn of_line(line: &str) -> Option<Self> {
        type Line = (String, String, Vec<(String, u8, String)>);
        let (id, text, fields): Line = serde_json::from_str(line).ok()?;
        let field = |(name, kind, text): (String, u8, String)| {
            let kinds = [ValueType::Text, ValueType::Number, ValueType::Boolean];
            let kind = kinds.into_iter().find(|known| *known as u8 == kind)?;
            Some((name, Value::of_text(kind, &text)?))
        };
        Some(Document {
            id,
            text,
            fields: fields.into_iter().map(field).collect::<Option<_>>()?,
        })
    }
}

/// The source of documents.
enum Documents {
    Iterator(Box<dyn Iterator<Item = Result<Document>> + Send>),
    Channel(Receiver<Document>),
}

/// The sending end of a channel to a corpus ([`Corpus::channel`](super::Corpus::channel)). The corpus ends when all
/// clones have been dropped.
#[derive(Debug, Clone)]
pub struct DocumentSender(Sender<Document>);

impl DocumentSender {
    /// Sends a document to the corpus. Waits while the channel is full.
    ///
    /// # Errors
    /// [`Error::Cancelled`] if nobody reads the corpus any more.
    pub fn send(&self, document: Document) -> Result<()> {
        self.0.send(document).map_err(|_| Error::Cancelled)
    }
}

/// An iterator or a channel of documents that is being read.
pub(super) struct DocumentSource {
    documents: Documents,
    /// The number of the next document, from 1.
    next: u64,
}

impl DocumentSource {
    pub(super) fn new(
        documents: impl IntoIterator<Item = Result<Document>, IntoIter: Send + 'static>,
    ) -> Self {
        DocumentSource {
            documents: Documents::Iterator(Box::new(documents.into_iter())),
            next: 1,
        }
    }

    /// A channel: its sender, and the source of its documents.
    pub(super) fn channel() -> (DocumentSender, Self) {
        /// The capacity of the channel, in documents.
        const WAITING: usize = 256;
        let (sender, receiver) = bounded(WAITING);
        let source = DocumentSource {
            documents: Documents::Channel(receiver),
            next: 1,
        };
        (DocumentSender(sender), source)
    }

    /// The documents of the file `path`, one per line.
    pub(super) fn spooled(path: &Path) -> Result<Self> {
        let unread = |path: &Path| {
            let path = path.to_path_buf();
            move |source| Error::Read { path, source }
        };
        let file = File::open(path).map_err(unread(path))?;
        let path = path.to_path_buf();
        let lines = BufReader::with_capacity(1 << 18, file).lines();
        Ok(DocumentSource::new(lines.map(move |line| {
            let line = line.map_err(unread(&path))?;
            Document::of_line(&line).ok_or_else(|| Error::Damaged {
                path: path.clone(),
                what: "the copy of a document has changed; begin again".into(),
            })
        })))
    }

    /// The next document; none at the end.
    ///
    /// # Errors
    /// An error of the iterator; `progress` is cancelled.
    pub(super) fn next(&mut self, progress: &Progress) -> Result<Option<Document>> {
        /// After this time without a document, cancellation is checked.
        const PATIENCE: Duration = Duration::from_millis(50);
        loop {
            progress.check()?;
            match &mut self.documents {
                Documents::Iterator(documents) => return documents.next().transpose(),
                Documents::Channel(documents) => match documents.recv_timeout(PATIENCE) {
                    Ok(document) => return Ok(Some(document)),
                    Err(RecvTimeoutError::Disconnected) => return Ok(None),
                    Err(RecvTimeoutError::Timeout) => {}
                },
            }
        }
    }

    /// Adds documents to `records` until it is full; returns false at the end.
    pub(super) fn read_into(&mut self, records: &mut Records, progress: &Progress) -> Result<bool> {
        let options = Arc::clone(&records.options);
        let (mut start, mut first) = (records.bytes.len(), self.next);
        let mut read = Ok(true);
        while records.room() > 0 {
            let document = match self.next(progress) {
                Ok(Some(document)) => document,
                end => {
                    read = end.map(|_| false);
                    break;
                }
            };
            let (number, before) = (self.next, records.bytes.len());
            progress.add_bytes(document.text.len() as u64);
            self.next += 1;
            let put = match document.text.len() > records.document_bytes {
                true => Err("more text than there is memory for; cut the document"),
                false => document.put(&options, &mut records.bytes),
            };
            if let Err(what) = put {
                records.bytes.truncate(before);
                add(records, start, first);
                (start, first) = (before, self.next);
                records.skip(Error::Input {
                    place: Place {
                        path: NAME.into(),
                        position: Position::Document(number),
                    },
                    what: what.into(),
                })?;
            }
        }
        add(records, start, first);
        read
    }
}

/// Marks the rows from `start` on. The first is document `first`.
fn add(records: &mut Records, start: usize, first: u64) {
    let origin = Origin {
        path: Arc::from(Path::new(NAME)),
        layout: Layout::Rows,
    };
    records.add(&origin, start, First::Number(first), first == 1);
}
