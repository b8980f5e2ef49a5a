//! The records of one file within a block, and the sink of parsed documents.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::chunk::Chunk;
use super::format::Format;
use super::reader::FileReader;
use super::skipped::{OnError, Skipped};
use super::table::Table;
use tokapi_storage::error::{Error, Place, Position, Result};

/// The reason for refusing a text that is not UTF-8.
pub(super) const NOT_UTF8: &str = "not valid UTF-8; convert the file to UTF-8";

/// The number of the first line, or row, of a segment in its file.
#[derive(Clone, Serialize, Deserialize)]
pub(super) enum First {
    /// This number.
    Number(u64),
    /// The line at the position of this reader.
    At(FileReader),
}

/// The layout of the bytes of records.
#[derive(Clone, Serialize, Deserialize)]
pub(super) enum Layout {
    /// The layout of a file of this format.
    Format(Format),
    /// The layout of a table of this format; its header names the columns.
    Table(Format, Arc<Table>),
    /// Rows of ids, texts and values (`rows.rs`).
    Rows,
}

impl Layout {
    /// The format of the file, if the bytes are the file's own.
    pub(super) fn format(&self) -> Option<Format> {
        match self {
            Layout::Format(format) | Layout::Table(format, _) => Some(*format),
            Layout::Rows => None,
        }
    }
}

/// The file of some records, and how they are read.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Origin {
    #[serde(with = "tokapi_storage::paths")]
    pub path: Arc<Path>,
    pub layout: Layout,
}

/// The records of one file within a block.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Segment {
    pub origin: Origin,
    /// The start of its bytes among those of its block.
    pub start: usize,
    pub first: First,
    /// Whether this is the beginning of the file.
    pub starts_file: bool,
}

impl Segment {
    /// The number of the first line, or row, in the file.
    pub(super) fn first(&self) -> u64 {
        match &self.first {
            First::Number(number) => *number,
            First::At(reader) => reader.line(),
        }
    }

    /// The error for fault `what` at byte `at` of this segment's `bytes`.
    pub(super) fn error_at(&self, bytes: &[u8], at: usize, what: impl Into<String>) -> Error {
        self.error(Position::Line(self.line(bytes, at)), what)
    }

    /// The number of the line at byte `at` of this segment's `bytes`.
    pub(super) fn line(&self, bytes: &[u8], at: usize) -> u64 {
        self.first() + memchr::memchr_iter(b'\n', &bytes[..at]).count() as u64
    }

    /// The error for fault `what` at `position`.
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

/// The lines of `bytes` without their ends, each with its place; an empty one after the last line end.
pub(super) fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let ends = memchr::memchr_iter(b'\n', bytes).chain([bytes.len()]);
    ends.scan(0, |start, end| {
        let at = std::mem::replace(start, end + 1);
        Some((at, &bytes[at..end]))
    })
}

/// The sink of the parser of a segment: the documents, and the errors of those that failed.
pub(super) struct Sink<'a> {
    pub segment: &'a Segment,
    pub chunk: &'a mut Chunk,
    pub on_error: OnError,
    pub skipped: &'a mut Skipped,
}

impl Sink<'_> {
    /// Stops with `error`, or counts it as skipped. Only the first few errors are made, because finding the number of a
    /// line takes longer than reading it.
    pub(super) fn skip(&mut self, error: impl FnOnce() -> Error) -> Result<()> {
        match self.on_error {
            OnError::Stop => Err(error()),
            OnError::Skip => {
                self.skipped.add(error);
                Ok(())
            }
        }
    }

    /// Skips for fault `what` at byte `at` of the segment's `bytes`.
    pub(super) fn skip_at<W: Into<String>>(
        &mut self,
        bytes: &[u8],
        at: usize,
        what: impl FnOnce() -> W,
    ) -> Result<()> {
        let segment = self.segment;
        self.skip(|| segment.error_at(bytes, at, what()))
    }
}
