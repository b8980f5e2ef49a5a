//! A block: the raw bytes of whole records, and their conversion to a chunk.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::chunk::{Chunk, PADDING};
use super::format::Format;
use super::options::CorpusOptions;
use super::records::Records;
use super::segment::{Layout, NOT_UTF8, Sink};
use super::skipped::{OnError, Skipped};
use super::small::SmallFile;
use super::{cells, json, jsonl, rows, terms, text, trec, tsv};
use tokapi_storage::error::Result;

/// Raw records, possibly of several files, in input order. A block is reused from one fill to the next. A serialized
/// block names the files that are not read yet.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Block {
    pub(super) records: Records,
    sequence: u64,
    /// Files that are read when the block is parsed. They follow all other records.
    small: Vec<SmallFile>,
    small_bytes: usize,
}

impl Block {
    /// The number of bytes of records.
    pub fn len(&self) -> usize {
        self.records.len() + self.small_bytes
    }

    /// The number of bytes that are read when the block is parsed.
    pub(super) fn unread_bytes(&self) -> usize {
        self.records.unread_bytes() + self.small_bytes
    }

    /// Whether the block has no records and no skipped documents.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && !self.has_small()
    }

    /// The number of this block in its corpus.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The place of the first record, in words.
    pub fn place(&self) -> String {
        let place = self.records.segments.first().map(|first| {
            let number = first.first();
            format!(
                "{}, from line or row {number} on",
                first.origin.path.display()
            )
        });
        let small = || Some(format!("{} and others", self.small.first()?.path.display()));
        place.or_else(small).unwrap_or_else(|| "nothing".into())
    }

    /// Reads the records that were left to the parsing thread.
    ///
    /// # Errors
    /// A file cannot be read, and errors stop.
    pub fn load(&mut self) -> Result<()> {
        self.records.load()?;
        self.small_bytes = 0;
        for file in std::mem::take(&mut self.small) {
            let read = file.read_into(&mut self.records);
            read.or_else(|error| self.records.skip(error))?;
        }
        Ok(())
    }

    /// Turns the records into documents, which replace those in `chunk`. Returns the skipped documents.
    ///
    /// # Errors
    /// The first malformed record, if errors stop; a file cannot be read.
    pub fn parse(&mut self, chunk: &mut Chunk) -> Result<Skipped> {
        chunk.clear();
        self.load()?;
        let mut skipped = Skipped::default();
        let records = &mut self.records;
        let on_error = records.options.on_error;
        if let [only] = &records.segments[..]
            && only.origin.layout.format() == Some(Format::Terms)
        {
            // The chunk takes the text over, so nothing is copied.
            std::mem::swap(&mut chunk.text, &mut records.bytes);
            chunk.files.push((0, Arc::clone(&only.origin.path)));
            let mut sink = Sink {
                segment: only,
                chunk,
                on_error,
                skipped: &mut skipped,
            };
            terms::parse_in_place(&mut sink)?;
        } else {
            chunk.text.reserve(records.bytes.len() + PADDING);
            for (segment, bytes) in records.iter() {
                let path = Arc::clone(&segment.origin.path);
                chunk.files.push((chunk.len(), path));
                let mut sink = Sink {
                    segment,
                    chunk,
                    on_error,
                    skipped: &mut skipped,
                };
                parse(bytes, &records.options, &mut sink)?;
            }
        }
        chunk.finish();
        // A file that cannot be read further ends after its records.
        skipped.append(std::mem::take(&mut records.skipped));
        Ok(skipped)
    }

    /// Passes every non-empty line of the records, unchanged, its file, and a function that counts its number, to `each`.
    /// Returns the skipped lines.
    ///
    /// # Errors
    /// An error of `each`; a line is not text, and errors stop; a file cannot be read.
    pub fn lines(
        &mut self,
        mut each: impl FnMut(&str, &Path, &dyn Fn() -> u64) -> Result<()>,
    ) -> Result<Skipped> {
        self.load()?;
        let mut skipped = Skipped::default();
        let records = &mut self.records;
        for (segment, bytes) in records.iter() {
            let mut start = 0;
            for end in memchr::memchr_iter(b'\n', bytes).chain([bytes.len()]) {
                let line = &bytes[start..end];
                let line = line.strip_suffix(b"\r").unwrap_or(line);
                let at = std::mem::replace(&mut start, end + 1);
                match (std::str::from_utf8(line), records.options.on_error) {
                    (Ok(""), _) => {}
                    (Ok(text), _) => each(text, &segment.origin.path, &|| segment.line(bytes, at))?,
                    (Err(_), OnError::Stop) => {
                        return Err(segment.error_at(bytes, at, NOT_UTF8));
                    }
                    (Err(_), OnError::Skip) => {
                        skipped.add(|| segment.error_at(bytes, at, NOT_UTF8));
                    }
                }
            }
        }
        skipped.append(std::mem::take(&mut records.skipped));
        Ok(skipped)
    }

    pub(super) fn start(
        &mut self,
        sequence: u64,
        options: &Arc<CorpusOptions>,
        chunk_bytes: usize,
        document_bytes: usize,
    ) {
        self.records.start(options, chunk_bytes, document_bytes);
        self.sequence = sequence;
        self.small.clear();
        self.small_bytes = 0;
    }

    /// Whether the block ends with files that are not read yet.
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

    /// The number of bytes that still fit.
    pub(super) fn room(&self) -> usize {
        self.records.room().saturating_sub(self.small_bytes)
    }
}

/// Adds the documents of one segment, whose records are `bytes`.
fn parse(bytes: &[u8], options: &CorpusOptions, sink: &mut Sink<'_>) -> Result<()> {
    let format = match &sink.segment.origin.layout {
        Layout::Rows => return rows::parse(bytes, options, sink),
        Layout::Table(Format::Tsv, table) => return cells::parse_tsv(table, bytes, sink),
        Layout::Table(_, table) => return cells::parse_csv(table, bytes, sink),
        Layout::Format(format) => format,
    };
    match format {
        Format::Jsonl => jsonl::parse(bytes, options, sink),
        Format::Json => json::parse(bytes, options, sink),
        Format::Tsv => tsv::parse(bytes, sink),
        Format::Trec => trec::parse(bytes, options, sink),
        Format::Text => text::parse(bytes, sink),
        Format::Terms => terms::parse(bytes, sink),
        // CSV without a header is rejected before, and Parquet is decoded to rows.
        Format::Csv | Format::Parquet => Ok(()),
    }
}
