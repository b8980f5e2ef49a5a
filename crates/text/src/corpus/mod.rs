//! Documents from files, folders, globs and standard input, as chunks of bounded size.
//!
//! Reading is split in two so that it scales: [`Corpus::fill`] takes the next raw bytes, whole
//! records only, in input order, and does nothing else; [`Block::parse`] turns them into a
//! [`Chunk`], on any thread. The collection is never in memory as a whole.

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

/// The size of a chunk where none is asked for. Measured on 500 MB of generated text with two
/// threads: smaller chunks repeat more terms, larger ones leave the cache.
pub const DEFAULT_CHUNK_BYTES: usize = 16 << 20;

/// A collection of documents, read front to back.
pub struct Corpus {
    inputs: VecDeque<Input>,
    current: Option<Source>,
    options: Arc<CorpusOptions>,
    progress: Progress,
    /// The size of all inputs on disk, or of the sample that is read of them; 0 while unknown.
    total_bytes: u64,
    /// The number of the next block.
    sequence: u64,
    chunk_bytes: usize,
    /// A larger document is an error.
    document_bytes: usize,
    /// The sizes of chunks and of documents that were asked for, here or where this is read again.
    bounds: Arc<OnceLock<(usize, usize)>>,
    /// What may still be read.
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

    /// Reads what a file called `name` would hold from memory; the name may tell the format, and
    /// errors call the file by it.
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

    /// Reads documents from memory. The iterator is pulled as the documents are needed: no more of them are held than are
    /// worked on. The format and the names of id and text in `options` have no meaning here.
    ///
    /// Such a corpus can be read once, unless it is [spooled](Corpus::spool) first, and a build of it is never resumed.
    pub fn from_documents<I>(documents: I, options: CorpusOptions) -> Self
    where
        I: IntoIterator<Item = Document>,
        I::IntoIter: Send + 'static,
    {
        Corpus::from_source(DocumentSource::new(documents.into_iter().map(Ok)), options)
    }

    /// Reads the documents that other threads send. They wait while the corpus is behind.
    ///
    /// ```
    /// use tokapi_text::corpus::{Corpus, CorpusOptions, Document};
    ///
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

    /// Keeps what documents have in `fields` too ([`CorpusOptions::fields`]).
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

    /// Ends the corpus after the documents that the first `bytes` bytes hold, decompressed: a
    /// sample. The last document may go beyond.
    pub fn limit(&mut self, bytes: u64) {
        self.left_bytes = bytes;
        self.set_total(self.total_bytes.min(bytes));
    }

    /// Makes chunks small enough, unless their size was given, that `threads` have enough of them
    /// to end at about the same time.
    pub fn share_among(&mut self, threads: usize) {
        /// Chunks for every thread, at the least.
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

    /// Makes chunks that fit into the cache, unless their size was given.
    pub fn chunk_finely(&mut self) {
        /// Measured with words counted on two threads.
        const FINE_BYTES: usize = 2 << 20;
        if self.options.chunk_bytes.is_none() {
            self.chunk_bytes = self.chunk_bytes.min(FINE_BYTES);
        }
    }

    /// The most text that a chunk has, one oversized document excepted.
    pub fn chunk_bytes(&self) -> usize {
        self.chunk_bytes
    }

    /// Makes chunks of at most `bytes`, and refuses documents of more than `document_bytes`.
    pub fn bound(&mut self, bytes: usize, document_bytes: usize) {
        self.chunk_bytes = bytes.max(1);
        self.document_bytes = document_bytes;
        let _ = self.bounds.set((bytes, document_bytes));
    }

    /// Makes the chunks that the first reading made, and refuses the same documents.
    pub fn bound_as_before(&mut self) {
        if let Some(&(bytes, document_bytes)) = self.bounds.get() {
            self.bound(bytes, document_bytes);
        }
    }

    /// The size of all inputs on disk, or of the sample that is read of them; 0 while unknown.
    pub fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// The size of chunks that was asked for.
    pub fn asked_chunk_bytes(&self) -> Option<usize> {
        self.options.chunk_bytes
    }

    /// Counts a block as read.
    pub fn pass_over(&self, block: &Block) {
        let bytes = block.unread_bytes() as u64;
        self.progress.add_bytes(bytes);
    }

    /// What tells the documents that this corpus gives: inputs with their sizes and times, and how
    /// they are read.
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

    /// What is done about documents that cannot be read.
    pub fn on_error(&self) -> OnError {
        self.options.on_error
    }

    /// How far reading has come, and the way to cancel it.
    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// Reports to `progress`, and ends when that is cancelled.
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

    /// Fills `block` with the next records; false when there are none left.
    ///
    /// # Errors
    /// A file that cannot be read or decompressed; with [`OnError::Skip`] the rest of the file is
    /// left out instead and noted in the block.
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
        // Also where this fails: no two blocks have one number.
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

    /// The next chunk and what was left out of it, for whoever reads on one thread; `None` at the
    /// end.
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
