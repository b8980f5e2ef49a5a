//! One open input, read piece by piece into blocks.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use super::block::{Block, First};
use super::decode::{self, Decoded};
use super::parquet::ParquetSource;
use super::reader::Reader;
use super::{CorpusOptions, Format, Input, Progress};
use crate::error::{Error, Place, Position, Result};

/// The most memory that is asked for ahead of the text that fills it.
const RESERVED_BYTES: usize = 64 << 20;

/// An input that is being read.
pub(super) enum Source {
    Records(Box<RecordSource>),
    Parquet(Box<ParquetSource>),
}

impl Source {
    pub(super) fn open(
        input: &Input,
        options: &CorpusOptions,
        progress: &Arc<Progress>,
    ) -> Result<Source> {
        let path: Arc<Path> = Arc::from(input.path.as_path());
        let decoded = decode::open(input, options.format, progress)?;
        log::info!("{}: read as {:?}", path.display(), decoded.format);
        let has_fields = matches!(
            decoded.format,
            Format::Jsonl | Format::Trec | Format::Parquet
        );
        if let (Some(field), false) = (options.fields.first(), has_fields) {
            return Err(Error::Input {
                place: Place {
                    path: path.to_path_buf(),
                    position: Position::Whole,
                },
                what: format!(
                    "documents of this format have no field `{field}`; JSONL, TREC and Parquet have fields"
                ),
            });
        }
        if decoded.format == Format::Parquet {
            return Ok(Source::Parquet(Box::new(ParquetSource::open(
                input, decoded, options,
            )?)));
        }
        let Decoded {
            reader,
            format,
            compressed,
        } = decoded;
        Ok(Source::Records(Box::new(RecordSource {
            path,
            format,
            reader,
            compressed,
            carried: Vec::new(),
            read_bytes: 0,
            next_line: 1,
            at_start: true,
        })))
    }

    /// Adds records to `block` until it is full; false when the input is at its end.
    pub(super) fn read_into(&mut self, block: &mut Block) -> Result<bool> {
        match self {
            Source::Records(source) => source.read_into(block),
            Source::Parquet(source) => source.read_into(block),
        }
    }
}

/// An input whose records end at a mark in the text.
pub(super) struct RecordSource {
    path: Arc<Path>,
    format: Format,
    reader: Reader,
    compressed: bool,
    /// The beginning of a record whose end has not been read.
    carried: Vec<u8>,
    read_bytes: u64,
    /// The number of the next line, where the reader cannot tell.
    next_line: u64,
    /// Whether no record has been given yet.
    at_start: bool,
}

impl RecordSource {
    fn read_into(&mut self, block: &mut Block) -> Result<bool> {
        let start = block.bytes.len();
        let mut first = First::Number(self.next_line);
        if let Reader::File(file) = &mut self.reader {
            file.unread(self.carried.len());
            self.carried.clear();
            first = First::At(file.clone());
            let records = match start {
                0 => file.split_records(self.format, block.room()),
                _ => None,
            };
            if let Some(records) = records {
                block.add_unread(&self.path, self.format, records, first, self.at_start);
                self.at_start = false;
                return Ok(true);
            }
        }
        block.bytes.append(&mut self.carried);
        // Read up to the room that is left; if no record ends in it, twice that, and so on.
        let mut target = start.saturating_add(block.room());
        let mut searched = start;
        loop {
            let wanted = target.saturating_sub(block.bytes.len()).max(1);
            let (read, failure) = self.read(wanted, &mut block.bytes);
            let at_end = read < wanted && failure.is_none();
            let end = match at_end {
                true => Some(block.bytes.len()),
                false => self
                    .format
                    .last_record_end(&block.bytes[start..], searched - start)
                    .map(|end| start + end),
            };
            if let Some(end) = end {
                self.carried.extend_from_slice(&block.bytes[end..]);
                block.bytes.truncate(end);
                if let First::Number(_) = first {
                    let line_ends = memchr::memchr_iter(b'\n', &block.bytes[start..]);
                    self.next_line += line_ends.count() as u64;
                }
                block.add(&self.path, self.format, start, first, self.at_start);
                self.at_start = false;
                return failure.map_or(Ok(!at_end), Err);
            }
            if let Some(failure) = failure {
                block.bytes.truncate(start);
                return Err(failure);
            }
            searched = block.bytes.len();
            if searched - start >= block.document_bytes {
                block.bytes.truncate(start);
                return Err(self.too_large(block.document_bytes, &first));
            }
            target = searched.saturating_add(searched - start);
        }
    }

    /// The error that the next document has more than `bytes` bytes.
    fn too_large(&self, bytes: usize, first: &First) -> Error {
        let line = match first {
            First::Number(line) => *line,
            First::At(reader) => reader.line(),
        };
        Error::Input {
            place: Place {
                path: self.path.to_path_buf(),
                position: Position::Line(line),
            },
            what: format!(
                "here begins a document of more than {} MB, for which there is not enough memory; \
                 give more memory, or use fewer threads",
                bytes / 1_000_000
            ),
        }
    }

    /// Reads up to `count` bytes more; fewer at the end of the input or where it is damaged.
    fn read(&mut self, count: usize, bytes: &mut Vec<u8>) -> (usize, Option<Error>) {
        let before = bytes.len();
        // A chunk may be asked for that is larger than the input, or than the memory.
        bytes.reserve(count.min(RESERVED_BYTES));
        let result = (&mut self.reader).take(count as u64).read_to_end(bytes);
        let read = bytes.len() - before;
        self.read_bytes += read as u64;
        let failure = result
            .err()
            .map(|source| decode::failed(&self.path, self.compressed, self.read_bytes, source));
        (read, failure)
    }
}
