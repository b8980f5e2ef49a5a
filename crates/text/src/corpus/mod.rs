//! Documents from files, folders, globs and standard input, as chunks of bounded size.
//!
//! Reading is split in two so that it scales. [`Corpus::fill`] only takes the next raw bytes, whole records in input
//! order. [`Block::parse`] turns them into a [`Chunk`], on any thread. The whole collection is never in memory.

mod block;
mod cells;
mod chunk;
mod columns;
mod csv;
mod decode;
mod documents;
mod ends;
mod foreign;
mod format;
mod gzip;
mod inputs;
mod json;
mod jsonl;
mod options;
mod parquet;
mod reader;
mod recognise;
mod records;
mod rows;
mod segment;
mod skipped;
mod small;
mod source;
mod spool;
mod table;
mod terms;
#[cfg(test)]
mod tests;
mod text;
mod trec;
mod tsv;
mod value;

pub use block::Block;
pub use chunk::Chunk;
pub use chunk::Span;
pub use decode::unpack;
pub use documents::{Document, DocumentSender, Value};
pub use format::Format;
pub use inputs::Input;
pub use options::CorpusOptions;
pub use skipped::{OnError, Skipped};
pub use spool::Spooled;
pub use value::{FieldValue, ValueType};

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use documents::DocumentSource;
use small::SmallFile;
use source::Source;
use tokapi_storage::error::{Error, Result};
use tokapi_storage::progress::{Progress, Stage};

/// The default size of a chunk. Measured on 500 MB of generated text with two threads: smaller chunks repeat more
/// terms, larger ones exceed the cache.
pub const DEFAULT_CHUNK_BYTES: usize = 16 << 20;

/// A collection of documents, read front to back.
///
/// ```
/// # use tokapi_text::corpus::{Corpus, CorpusOptions};
/// let text = "{\"id\": \"a\", \"text\": \"one two\"}\n";
/// let mut corpus = Corpus::from_bytes("docs.jsonl", text, CorpusOptions::default());
/// let (chunk, _) = corpus.next_chunk()?.expect("one document");
/// assert_eq!(chunk.text(0), b"one two");
/// # Ok::<(), tokapi_storage::error::Error>(())
/// ```
///
/// [`Corpus::channel`] takes documents from another thread.
pub struct Corpus {
    inputs: VecDeque<Input>,
    current: Option<Source>,
    options: Arc<CorpusOptions>,
    progress: Progress,
    /// The size on disk of all inputs, or of the sample to read; 0 while unknown.
    total_bytes: u64,
    /// The number of the next block.
    sequence: u64,
    chunk_bytes: usize,
    /// A larger document is an error.
    document_bytes: usize,
    /// The given sizes of chunks and documents, shared with later readings of the same input.
    bounds: Arc<OnceLock<(usize, usize)>>,
    /// The bytes that may still be read.
    left_bytes: u64,
    /// Whether the documents come from an iterator or a channel of this process.
    is_from_memory: bool,
}

impl Corpus {
    /// Opens files, folders (with all that is below them), globs, and `-` for standard input.
    ///
    /// # Errors
    /// A path that does not exist, a glob that matches nothing.
    pub fn open<P: AsRef<Path>>(paths: &[P], options: CorpusOptions) -> Result<Self> {
        let corpus = Corpus::new(inputs::expand(paths)?, options);
        log::info!(
            "{} input files, {} bytes",
            corpus.inputs.len(),
            corpus.total_bytes
        );
        Ok(corpus)
    }

    /// Reads the content of a file from memory. `name` may tell the format, and errors call the file by it.
    pub fn from_bytes(name: &str, bytes: impl Into<Vec<u8>>, options: CorpusOptions) -> Self {
        let bytes = bytes::Bytes::from(bytes.into());
        let input = Input {
            path: name.into(),
            bytes: bytes.len() as u64,
            memory: Some(bytes),
            spooled: None,
            holds_documents: false,
        };
        Corpus::new(vec![input], options)
    }

    fn new(inputs: Vec<Input>, options: CorpusOptions) -> Self {
        let total = inputs.iter().map(|input| input.bytes).sum();
        let chunk_bytes = options.chunk_bytes.unwrap_or(DEFAULT_CHUNK_BYTES).max(1);
        Corpus {
            inputs: inputs.into(),
            current: None,
            options: Arc::new(options),
            progress: Progress::new(),
            total_bytes: total,
            sequence: 0,
            chunk_bytes,
            document_bytes: usize::MAX,
            bounds: Arc::default(),
            left_bytes: u64::MAX,
            is_from_memory: false,
        }
    }

    /// Reads documents from memory. The iterator is pulled as documents are needed: only those in use are held. The
    /// format and the names of id and text in `options` have no meaning here.
    ///
    /// Such a corpus can be read once, unless it is [spooled](Corpus::spool) first. A build of it is never resumed.
    pub fn from_documents<I>(documents: I, options: CorpusOptions) -> Self
    where
        I: IntoIterator<Item = Document>,
        I::IntoIter: Send + 'static,
    {
        Corpus::from_source(DocumentSource::new(documents.into_iter().map(Ok)), options)
    }

    /// Reads documents that other threads send. Senders wait while the corpus is behind.
    ///
    /// ```
    /// # use tokapi_text::corpus::{Corpus, CorpusOptions, Document};
    /// let (sender, mut corpus) = Corpus::channel(CorpusOptions::default());
    /// std::thread::spawn(move || sender.send(Document::new("a", "one two")));
    /// let (chunk, _) = corpus.next_chunk()?.expect("one document");
    /// assert_eq!(chunk.text(0), b"one two");
    /// # Ok::<(), tokapi_storage::error::Error>(())
    /// ```
    pub fn channel(options: CorpusOptions) -> (DocumentSender, Self) {
        let (sender, source) = DocumentSource::channel();
        (sender, Corpus::from_source(source, options))
    }

    fn from_source(source: DocumentSource, options: CorpusOptions) -> Self {
        Corpus {
            current: Some(Source::Documents(source)),
            is_from_memory: true,
            ..Corpus::new(Vec::new(), options)
        }
    }

    /// Whether the documents come from an iterator or a channel of this process.
    pub fn is_from_memory(&self) -> bool {
        self.is_from_memory
    }

    /// Keeps the values of `fields` too ([`CorpusOptions::fields`]).
    ///
    /// # Errors
    /// A field is named twice, or has no name.
    pub fn keep_fields(&mut self, fields: &[String]) -> Result<()> {
        for (place, field) in fields.iter().enumerate() {
            if field.is_empty() || fields[..place].contains(field) {
                return Err(Error::Usage(format!(
                    "`{field}` is no field to keep: every field has a name and is named once"
                )));
            }
        }
        Arc::make_mut(&mut self.options).fields = fields.to_vec();
        Ok(())
    }

    /// The fields that are kept.
    pub fn fields(&self) -> &[String] {
        &self.options.fields
    }

    /// Ends the corpus after the documents in the first `bytes` decompressed bytes: a sample. The last document may go
    /// beyond.
    pub fn limit(&mut self, bytes: u64) {
        self.left_bytes = bytes;
        self.set_total(self.total_bytes.min(bytes));
    }

    /// Reduces the size of chunks, unless it was given, so that `threads` threads have enough of them to end at about
    /// the same time.
    pub fn share_among(&mut self, threads: usize) {
        /// The fewest chunks per thread.
        const CHUNKS: u64 = 4;
        /// A smaller chunk is not worth its overhead.
        const LEAST_BYTES: u64 = 1 << 20;
        let total = self.total_bytes;
        if self.options.chunk_bytes.is_none() && total > 0 {
            let share = total / (CHUNKS * threads as u64);
            let most = DEFAULT_CHUNK_BYTES as u64;
            // At most `DEFAULT_CHUNK_BYTES`, so it fits.
            self.chunk_bytes = share.clamp(LEAST_BYTES, most) as usize;
        }
    }

    /// Reduces chunks to the size of the cache, unless their size was given.
    pub fn chunk_finely(&mut self) {
        /// Measured by counting words on two threads.
        const FINE_BYTES: usize = 2 << 20;
        if self.options.chunk_bytes.is_none() {
            self.chunk_bytes = self.chunk_bytes.min(FINE_BYTES);
        }
    }

    /// The most text in a chunk, except for one oversized document.
    pub fn chunk_bytes(&self) -> usize {
        self.chunk_bytes
    }

    /// Limits chunks to `bytes`, and refuses documents of more than `document_bytes`.
    pub fn bound(&mut self, bytes: usize, document_bytes: usize) {
        self.chunk_bytes = bytes.max(1);
        self.document_bytes = document_bytes;
        let _ = self.bounds.set((bytes, document_bytes));
    }

    /// Takes over the limits of the first reading for chunks and documents.
    pub fn bound_as_before(&mut self) {
        if let Some(&(bytes, document_bytes)) = self.bounds.get() {
            self.bound(bytes, document_bytes);
        }
    }

    /// The size on disk of all inputs, or of the sample to read; 0 while unknown.
    pub fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// The given size of chunks, if any.
    pub fn asked_chunk_bytes(&self) -> Option<usize> {
        self.options.chunk_bytes
    }

    /// Counts a block as read.
    pub fn pass_over(&self, block: &Block) {
        let bytes = block.unread_bytes() as u64;
        self.progress.add_bytes(bytes);
    }

    /// The identity of the documents of this corpus: inputs with their sizes and times, and the options of reading.
    pub fn description(&self) -> serde_json::Value {
        let inputs: Vec<String> = self.inputs.iter().map(Input::description).collect();
        let CorpusOptions {
            format,
            id_field,
            text_fields,
            fields,
            on_error,
            chunk_bytes: _,
        } = &*self.options;
        serde_json::json!({
            "inputs": inputs,
            "reading": format!("{format:?} {id_field:?} {text_fields:?} {fields:?} {on_error:?}"),
        })
    }

    /// The inputs that have not been opened yet.
    pub fn inputs(&self) -> impl Iterator<Item = &Input> {
        self.inputs.iter()
    }

    /// The treatment of documents that cannot be read.
    pub fn on_error(&self) -> OnError {
        self.options.on_error
    }

    /// The progress of reading, with which it can be cancelled.
    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// Reports to `progress`, and ends when it is cancelled.
    pub fn with_progress(mut self, progress: Progress) -> Self {
        self.progress = progress;
        self
    }

    fn set_total(&mut self, bytes: u64) {
        self.total_bytes = bytes;
        if self.sequence > 0 {
            self.progress.set_total(bytes);
        }
    }

    /// Fills `block` with the next records; returns false if there are none left.
    ///
    /// # Errors
    /// A file cannot be read or decompressed. With [`OnError::Skip`] the rest of the file is skipped instead, and noted
    /// in the block.
    pub fn fill(&mut self, block: &mut Block) -> Result<bool> {
        self.progress.check()?;
        if self.sequence == 0 {
            log::info!("chunks of at most {} bytes", self.chunk_bytes);
            self.progress.begin(Stage::Reading, self.total_bytes);
        }
        let left = usize::try_from(self.left_bytes).unwrap_or(usize::MAX);
        block.start(
            self.sequence,
            &self.options,
            self.chunk_bytes.min(left),
            self.document_bytes,
        );
        // Also after an error: no two blocks have the same number.
        self.sequence += 1;
        while block.room() > 0 {
            let mut source = match self.current.take() {
                Some(source) => source,
                None => match self.inputs.pop_front() {
                    Some(input) if block.add_small(SmallFile::of(&input, &self.progress)) => {
                        continue;
                    }
                    // Small files are the last of a block.
                    Some(input) if block.has_small() => {
                        self.inputs.push_front(input);
                        break;
                    }
                    Some(input) => match Source::open(&input, &self.options, &self.progress) {
                        Ok(source) => source,
                        Err(error) => {
                            block.records.skip(error)?;
                            continue;
                        }
                    },
                    None => break,
                },
            };
            match source.read_into(&mut block.records, &self.progress) {
                Ok(true) => {
                    self.current = Some(source);
                    break;
                }
                Ok(false) => {}
                Err(error) => block.records.skip(error)?,
            }
        }
        self.left_bytes = self.left_bytes.saturating_sub(block.len() as u64);
        Ok(!block.is_empty())
    }

    /// The next chunk and its skipped documents, for readers on one thread; `None` at the end.
    ///
    /// # Errors
    /// As [`Corpus::fill`] and [`Block::parse`].
    pub fn next_chunk(&mut self) -> Result<Option<(Chunk, Skipped)>> {
        let mut block = Block::default();
        if !self.fill(&mut block)? {
            return Ok(None);
        }
        let mut chunk = Chunk::default();
        let skipped = block.parse(&mut chunk)?;
        Ok(Some((chunk, skipped)))
    }
}
