//! A block: the raw bytes of whole records, and how to turn them into a chunk.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::reader::{FileReader, RecordRange};
use super::small::SmallFile;
use super::table::{self, Table};
use super::{Chunk, CorpusOptions, Format, PADDING};
use super::{csv, json, jsonl, parquet, terms, text, trec, tsv};
use tokapi_storage::error::{Error, Place, Position, Result};

/// What to do with a document that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum OnError {
    /// Stop with the error.
    #[default]
    Stop,
    /// Leave the document out, and count it.
    Skip,
}

/// What was left out under [`OnError::Skip`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// How many documents or broken files.
    pub count: u64,
    /// The first few reasons.
    pub reasons: Vec<String>,
}

impl Skipped {
    /// Reasons that are kept.
    const REASONS: usize = 10;

    /// Counts one more; its reason is made only if it is kept.
    pub fn add(&mut self, reason: impl FnOnce() -> Error) {
        self.count += 1;
        if self.reasons.len() < Self::REASONS {
            // Names and ids from the input may hold line ends; a reason is one line.
            self.reasons
                .push(reason().to_string().replace(['\n', '\r'], " "));
        }
    }

    /// Adds what was left out elsewhere.
    pub fn append(&mut self, other: Skipped) {
        self.count += other.count;
        self.reasons.extend(other.reasons);
        self.reasons.truncate(Self::REASONS);
    }
}

/// Raw records, perhaps of several files, in input order. Reused from one fill to the next.
/// Stored elsewhere, it names the files that are not read yet.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Block {
    pub(super) bytes: Vec<u8>,
    segments: Vec<Segment>,
    sequence: u64,
    options: Arc<CorpusOptions>,
    chunk_bytes: usize,
    /// The most bytes that one document may have.
    pub(super) document_bytes: usize,
    skipped: Skipped,
    /// Records that are read when the block is parsed: all of the block, if there are any.
    unread: Option<RecordRange>,
    /// Files that are read when the block is parsed, behind all other records.
    small: Vec<SmallFile>,
    small_bytes: usize,
}

/// Which line, or row, of its file comes first in a segment.
#[derive(Clone, Serialize, Deserialize)]
pub(super) enum First {
    /// The one of this number.
    Number(u64),
    /// The line that begins where this reader stands.
    At(FileReader),
}

/// The file that records come from, and how they are read.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Origin {
    #[serde(with = "tokapi_storage::paths")]
    pub path: Arc<Path>,
    pub format: Format,
    /// What the header says, where the file has one.
    pub table: Option<Arc<Table>>,
}

/// The records of one file within a block.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Segment {
    pub origin: Origin,
    start: usize,
    first: First,
    /// Whether nothing of the file comes before.
    pub starts_file: bool,
}

impl Segment {
    /// The number of the first line in its file, or of the first row.
    pub(super) fn first(&self) -> u64 {
        match &self.first {
            First::Number(number) => *number,
            First::At(reader) => reader.line(),
        }
    }

    /// The error that `what` is wrong at byte `at` of this segment's `bytes`.
    pub(super) fn error_at(&self, bytes: &[u8], at: usize, what: impl Into<String>) -> Error {
        let line = self.first() + memchr::memchr_iter(b'\n', &bytes[..at]).count() as u64;
        self.error(Position::Line(line), what)
    }

    /// The error that `what` is wrong at `position`.
    pub(super) fn error(&self, position: Position, what: impl Into<String>) -> Error {
        Error::Input {
            place: Place {
                path: self.origin.path.to_path_buf(),
                position,
            },
            what: what.into(),
        }
    }
}

/// Where parsers put documents, and what they could not make documents of.
pub(super) struct Sink<'a> {
    pub chunk: &'a mut Chunk,
    on_error: OnError,
    skipped: &'a mut Skipped,
}

impl Sink<'_> {
    /// Stops with `error`, or counts it. Only the first few are made: finding a line's number
    /// takes longer than reading it.
    pub(super) fn skip(&mut self, error: impl FnOnce() -> Error) -> Result<()> {
        match self.on_error {
            OnError::Stop => Err(error()),
            OnError::Skip => {
                self.skipped.add(error);
                Ok(())
            }
        }
    }
}

impl Block {
    /// The number of bytes of records.
    pub fn len(&self) -> usize {
        self.bytes.len() + self.unread_bytes()
    }

    /// The bytes that are read when the block is parsed.
    pub(super) fn unread_bytes(&self) -> usize {
        self.unread.as_ref().map_or(0, RecordRange::len) + self.small_bytes
    }

    /// Whether there is nothing in it: no records, and nothing left out.
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty() && self.skipped.count == 0 && !self.has_small()
    }

    /// The place of this block among all of its corpus.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Where its first record stands, for whoever must find it.
    pub fn place(&self) -> String {
        let place = self.segments.first().map(|first| {
            let number = first.first();
            format!(
                "{}, from line or row {number} on",
                first.origin.path.display()
            )
        });
        let small = || Some(format!("{} and others", self.small.first()?.path.display()));
        place.or_else(small).unwrap_or_else(|| "nothing".into())
    }

    /// Reads the records, where that has been left to whoever parses them.
    ///
    /// # Errors
    /// A file that cannot be read, where errors stop.
    pub fn load(&mut self) -> Result<()> {
        if let Some(unread) = self.unread.take()
            && let Err(source) = unread.read(&mut self.bytes)
        {
            let path = self.segments[0].origin.path.to_path_buf();
            self.segments.clear();
            self.bytes.clear();
            self.skip(Error::Read { path, source })?;
        }
        let options = Arc::clone(&self.options);
        self.small_bytes = 0;
        for file in std::mem::take(&mut self.small) {
            let read = file.read_into(&options, self);
            read.or_else(|error| self.skip(error))?;
        }
        Ok(())
    }

    /// Turns the records into documents, over what `chunk` held. Gives what was left out.
    ///
    /// # Errors
    /// The first record that does not follow its format, where errors stop; a file that cannot be
    /// read.
    pub fn parse(&mut self, chunk: &mut Chunk) -> Result<Skipped> {
        chunk.clear();
        self.load()?;
        let mut skipped = Skipped::default();
        if let [only] = &self.segments[..]
            && only.origin.format == Format::Terms
        {
            // The text is its own chunk: nothing need be copied.
            std::mem::swap(&mut chunk.text, &mut self.bytes);
            chunk.files.push((0, Arc::clone(&only.origin.path)));
            let mut sink = Sink {
                chunk,
                on_error: self.options.on_error,
                skipped: &mut skipped,
            };
            terms::parse_in_place(only, &mut sink)?;
        } else {
            chunk.text.reserve(self.bytes.len() + PADDING);
            for (segment, bytes) in self.records() {
                let Origin {
                    path,
                    format,
                    table,
                } = &segment.origin;
                chunk.files.push((chunk.len(), Arc::clone(path)));
                let mut sink = Sink {
                    chunk,
                    on_error: self.options.on_error,
                    skipped: &mut skipped,
                };
                match (format, table) {
                    (Format::Jsonl, _) => jsonl::parse(segment, bytes, &self.options, &mut sink)?,
                    (Format::Json, _) => json::parse(segment, bytes, &self.options, &mut sink)?,
                    (Format::Tsv, Some(table)) => {
                        table::parse_tsv(table, segment, bytes, &mut sink)?
                    }
                    (Format::Tsv, None) => tsv::parse(segment, bytes, &mut sink)?,
                    (Format::Csv, Some(table)) => csv::parse(table, segment, bytes, &mut sink)?,
                    // An input without its header is not opened.
                    (Format::Csv, None) => {}
                    (Format::Trec, _) => trec::parse(segment, bytes, &self.options, &mut sink)?,
                    (Format::Text, _) => text::parse(segment, bytes, &mut sink)?,
                    (Format::Terms, _) => terms::parse(segment, bytes, &mut sink)?,
                    (Format::Parquet, _) => {
                        parquet::parse(segment, bytes, &self.options, &mut sink)?
                    }
                }
            }
        }
        chunk.finish();
        // A file that cannot be read further ends behind its records.
        skipped.append(std::mem::take(&mut self.skipped));
        Ok(skipped)
    }

    /// The records of every segment.
    fn records(&self) -> impl Iterator<Item = (&Segment, &[u8])> {
        let ends = self.segments.iter().skip(1).map(|next| next.start);
        let ends = ends.chain([self.bytes.len()]);
        let records = self.segments.iter().zip(ends);
        records.map(|(segment, end)| (segment, &self.bytes[segment.start..end]))
    }

    /// Gives the lines of the records as they are, but for empty ones, and their file to `each`.
    /// Gives what was left out.
    ///
    /// # Errors
    /// What `each` says; a line that is not text, where errors stop; a file that cannot be read.
    pub fn lines(&mut self, mut each: impl FnMut(&str, &Path) -> Result<()>) -> Result<Skipped> {
        self.load()?;
        let mut skipped = Skipped::default();
        for (segment, bytes) in self.records() {
            let mut start = 0;
            for end in memchr::memchr_iter(b'\n', bytes).chain([bytes.len()]) {
                let line = &bytes[start..end];
                let line = line.strip_suffix(b"\r").unwrap_or(line);
                let at = std::mem::replace(&mut start, end + 1);
                match (std::str::from_utf8(line), self.options.on_error) {
                    (Ok(""), _) => {}
                    (Ok(text), _) => each(text, &segment.origin.path)?,
                    (Err(_), OnError::Stop) => {
                        return Err(segment.error_at(bytes, at, tsv::NOT_UTF8));
                    }
                    (Err(_), OnError::Skip) => {
                        skipped.add(|| segment.error_at(bytes, at, tsv::NOT_UTF8));
                    }
                }
            }
        }
        skipped.append(std::mem::take(&mut self.skipped));
        Ok(skipped)
    }

    pub(super) fn start(
        &mut self,
        sequence: u64,
        options: &Arc<CorpusOptions>,
        chunk_bytes: usize,
        document_bytes: usize,
    ) {
        self.chunk_bytes = chunk_bytes;
        self.document_bytes = document_bytes;
        self.bytes.clear();
        self.segments.clear();
        self.sequence = sequence;
        self.options = Arc::clone(options);
        self.skipped = Skipped::default();
        self.unread = None;
        self.small.clear();
        self.small_bytes = 0;
    }

    /// Whether it ends with files that are not read yet.
    pub(super) fn has_small(&self) -> bool {
        !self.small.is_empty()
    }

    /// Adds a small file, if there is one and it fits.
    pub(super) fn add_small(&mut self, file: Option<SmallFile>) -> bool {
        match file.filter(|file| file.bytes <= self.room()) {
            Some(file) => {
                self.small_bytes += file.bytes;
                self.small.push(file);
                true
            }
            None => false,
        }
    }

    /// The bytes that may still be added.
    pub(super) fn room(&self) -> usize {
        self.chunk_bytes.saturating_sub(self.len())
    }

    /// Makes room for as much again, in a block that is full.
    pub(super) fn widen(&mut self) {
        self.chunk_bytes += self.len().max(1);
    }

    /// Says that the block, empty so far, has these records of `origin`.
    pub(super) fn add_unread(
        &mut self,
        origin: &Origin,
        records: RecordRange,
        first: First,
        starts_file: bool,
    ) {
        self.unread = Some(records);
        self.add(origin, 0, first, starts_file);
    }

    /// Says that the bytes from `start` on are records of `origin`.
    pub(super) fn add(&mut self, origin: &Origin, start: usize, first: First, starts_file: bool) {
        if self.len() > start || origin.format == Format::Text {
            self.segments.push(Segment {
                origin: origin.clone(),
                start,
                first,
                starts_file,
            });
        }
    }

    /// Stops with `error`, or counts it.
    pub(super) fn skip(&mut self, error: Error) -> Result<()> {
        match self.options.on_error {
            OnError::Stop => Err(error),
            OnError::Skip => {
                self.skipped.add(|| error);
                Ok(())
            }
        }
    }
}
