//! One open input, read piece by piece into blocks.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use super::decode::{self, Decoded};
use super::documents::DocumentSource;
use super::ends::Ends;
use super::format::Format;
use super::inputs::Input;
use super::options::CorpusOptions;
use super::parquet::ParquetSource;
use super::reader::Reader;
use super::records::Records;
use super::segment::{First, Layout, Origin};
use super::table::Table;
use super::{json, recognise};
use tokapi_storage::error::{Error, Place, Position, Result};
use tokapi_storage::progress::Progress;

/// The most memory that is reserved before the text arrives.
const RESERVED_BYTES: usize = 64 << 20;

/// An input that is being read.
pub enum Source {
    Records(Box<RecordSource>),
    Parquet(Box<ParquetSource>),
    Documents(DocumentSource),
}

impl Source {
    pub(super) fn open(
        input: &Input,
        options: &CorpusOptions,
        progress: &Progress,
    ) -> Result<Source> {
        if input.holds_documents {
            return DocumentSource::spooled(input.file()).map(Source::Documents);
        }
        let path: Arc<Path> = Arc::from(input.path.as_path());
        let mut decoded = decode::open(input, options, progress)?;
        log::info!("{}: read as {}", path.display(), decoded.format.name());
        let wrong = |position: Position, what: String| Error::Input {
            place: Place {
                path: path.to_path_buf(),
                position,
            },
            what,
        };
        let table = match decoded.start.is_empty() {
            true => None,
            false => Table::of(decoded.format, &decoded.start, options)
                .map_err(|what| wrong(Position::Line(1), what))?,
        };
        let has_fields = table.is_some()
            || matches!(
                decoded.format,
                Format::Jsonl | Format::Json | Format::Csv | Format::Trec | Format::Parquet
            );
        if let (Some(field), false) = (options.fields.first(), has_fields) {
            let what = format!(
                "documents of this format have no field `{field}`; JSON, CSV, TSV with a header, TREC and Parquet have fields"
            );
            return Err(wrong(Position::Whole, what));
        }
        if decoded.format == Format::Parquet {
            return Ok(Source::Parquet(Box::new(ParquetSource::open(
                input, decoded, options,
            )?)));
        }
        let header = &decoded.start[..table.as_ref().map_or(0, |table| table.header_bytes)];
        let skipped = std::io::copy(
            &mut (&mut decoded.reader).take(header.len() as u64),
            &mut std::io::sink(),
        );
        skipped.map_err(|source| decode::failed(&path, decoded.compressed, 0, source))?;
        let next_line = 1 + memchr::memchr_iter(b'\n', header).count() as u64;
        let Decoded {
            reader,
            format,
            compressed,
            ..
        } = decoded;
        Ok(Source::Records(Box::new(RecordSource {
            format,
            origin: Origin {
                path,
                layout: match table {
                    Some(table) => Layout::Table(format, Arc::new(table)),
                    None => Layout::Format(format),
                },
            },
            ends: Ends::of(format),
            reader,
            compressed,
            carried: Vec::new(),
            read_bytes: 0,
            next_line,
            at_start: true,
        })))
    }

    /// Adds records to `records` until it is full; returns false at the end of the input.
    pub(super) fn read_into(&mut self, records: &mut Records, progress: &Progress) -> Result<bool> {
        match self {
            Source::Records(source) => source.read_into(records),
            Source::Parquet(source) => source.read_into(records),
            Source::Documents(source) => source.read_into(records, progress),
        }
    }
}

/// An input whose records end at a mark in the text.
pub(super) struct RecordSource {
    origin: Origin,
    format: Format,
    /// The state that finds the ends of records.
    ends: Ends,
    reader: Reader,
    compressed: bool,
    /// The beginning of an incomplete record.
    carried: Vec<u8>,
    read_bytes: u64,
    /// The number of the next line, if the reader cannot tell.
    next_line: u64,
    /// Whether no record has been read yet.
    at_start: bool,
}

impl RecordSource {
    fn read_into(&mut self, records: &mut Records) -> Result<bool> {
        let start = records.bytes.len();
        let mut first = First::Number(self.next_line);
        if let Reader::File(file) = &mut self.reader {
            file.unread(self.carried.len());
            self.carried.clear();
            first = First::At(file.clone());
            let range = match start {
                0 => file.split_records(self.format, records.room()),
                _ => None,
            };
            if let Some(range) = range {
                records.add_unread(&self.origin, range, first, self.at_start);
                self.at_start = false;
                return Ok(true);
            }
        }
        records.bytes.append(&mut self.carried);
        // Reads up to the room that is left. If no record ends there, reads twice as much, and so on.
        let mut target = start.saturating_add(records.room());
        let mut searched = start;
        let mut ends = self.ends;
        loop {
            let wanted = target.saturating_sub(records.bytes.len()).max(1);
            let (read, failure) = self.read(wanted, &mut records.bytes);
            let at_end = read < wanted && failure.is_none();
            let found = ends.last(&records.bytes[start..], searched - start);
            let end = match found {
                _ if at_end => Some(records.bytes.len()),
                found => found.map(|(end, ends)| {
                    self.ends = ends;
                    start + end
                }),
            };
            if let Some(end) = end {
                let read_bytes = records.bytes.len() - start;
                self.carried.extend_from_slice(&records.bytes[end..]);
                records.bytes.truncate(end);
                if let First::Number(_) = first {
                    let line_ends = memchr::memchr_iter(b'\n', &records.bytes[start..]);
                    self.next_line += line_ends.count() as u64;
                }
                records.add(&self.origin, start, first, self.at_start);
                self.at_start = false;
                if at_end && ends.is_open() {
                    // The next block reports this error, after the errors of this block.
                    self.ends = ends;
                    return match read_bytes {
                        0 => Err(self.open_array()),
                        _ => Ok(true),
                    };
                }
                return failure.map_or(Ok(!at_end), Err);
            }
            if let Some(failure) = failure {
                records.bytes.truncate(start);
                return Err(failure);
            }
            searched = records.bytes.len();
            if searched - start >= records.document_bytes {
                let too_large =
                    self.too_large(records.document_bytes, &first, &records.bytes[start..]);
                records.bytes.truncate(start);
                return Err(too_large);
            }
            target = searched.saturating_add(searched - start);
        }
    }

    /// The error for a next document, beginning with `text`, of more than `bytes` bytes.
    fn too_large(&self, bytes: usize, first: &First, text: &[u8]) -> Error {
        let line = match first {
            First::Number(line) => *line,
            First::At(reader) => reader.line(),
        };
        let size = bytes / 1_000_000;
        let what = match self.format {
            Format::Text => format!(
                "the whole file is one document, of more than {size} MB, for which there is not enough \
                 memory; it is probably {}",
                recognise::probably(text)
            ),
            _ => format!(
                "here begins a document of more than {size} MB, for which there is not enough memory; \
                 give more memory, or use fewer threads"
            ),
        };
        self.error(line, what)
    }

    /// The error for an array that is open at the end of the file.
    fn open_array(&self) -> Error {
        self.error(self.next_line, json::CUT_OFF.into())
    }

    fn error(&self, line: u64, what: String) -> Error {
        Error::Input {
            place: Place {
                path: self.origin.path.to_path_buf(),
                position: Position::Line(line),
            },
            what,
        }
    }

    /// Reads up to `count` more bytes; fewer at the end of the input or at damage.
    fn read(&mut self, count: usize, bytes: &mut Vec<u8>) -> (usize, Option<Error>) {
        let before = bytes.len();
        // A chunk may be larger than the input, or than the memory.
        bytes.reserve(count.min(RESERVED_BYTES));
        let result = (&mut self.reader).take(count as u64).read_to_end(bytes);
        let read = bytes.len() - before;
        self.read_bytes += read as u64;
        let failure = result.err().map(|source| {
            decode::failed(&self.origin.path, self.compressed, self.read_bytes, source)
        });
        (read, failure)
    }
}
