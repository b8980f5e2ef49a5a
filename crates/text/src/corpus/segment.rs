//! The records of one file within a block, and the place that parsers put documents in.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::chunk::Chunk;
use super::format::Format;
use super::reader::FileReader;
use super::skipped::{OnError, Skipped};
use super::table::Table;
use tokapi_storage::error::{Error, Place, Position, Result};

/// Why a text cannot be taken, where it is not UTF-8.
pub(super) const NOT_UTF8: &str = "not valid UTF-8; convert the file to UTF-8";

/// Which line, or row, of its file comes first in a segment.
#[derive(Clone, Serialize, Deserialize)]
pub(super) enum First {
    /// The one of this number.
    Number(u64),
    /// The line that begins where this reader stands.
    At(FileReader),
}

/// How the bytes of records are laid out.
#[derive(Clone, Serialize, Deserialize)]
pub(super) enum Layout {
    /// As in a file of this format.
    Format(Format),
    /// As in a table of this format, whose header names the columns.
    Table(Format, Arc<Table>),
    /// As rows of ids, texts and values (`rows.rs`).
    Rows,
}

impl Layout {
    /// The format of the file, where the bytes are the file's own.
    pub(super) fn format(&self) -> Option<Format> {
        match self {
            Layout::Format(format) | Layout::Table(format, _) => Some(*format),
            Layout::Rows => None,
        }
    }
}

/// The file that records come from, and how they are read.
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
    /// Where its bytes begin among those of its block.
    pub start: usize,
    pub first: First,
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
    pub on_error: OnError,
    pub skipped: &'a mut Skipped,
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
