//! The one error type of the library: what was wrong, where, and what to do.

use std::path::{Path, PathBuf};

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong between a document and its weights.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be opened or read.
    #[error("{}: cannot read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file could not be created, written or renamed into place.
    #[error("{}: cannot write: {source}; nothing was left under that name", path.display())]
    Write {
        /// The final name of the output.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A scratch file could not be written or read; the job can be continued when that is mended.
    #[error("{}: scratch file: {source}", path.display())]
    Scratch {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A scratch file is not what was written to it.
    #[error("{}: {what}; remove its folder and begin again", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// A file of an index is not what was written to it.
    #[error("{}: {what}", path.display())]
    Index {
        /// The file.
        path: PathBuf,
        /// What is wrong and what to do.
        what: String,
    },
    /// A document, a line or a whole file does not follow its format.
    #[error("{place}: {what}")]
    Input {
        /// File, and line or document.
        place: Place,
        /// What is wrong and what to do.
        what: String,
    },
    /// The map function of a job panicked.
    #[error("{input}: the map function failed: {what}")]
    Map {
        /// The record at which it did.
        input: String,
        /// What it said.
        what: String,
    },
    /// The reduce function of a job panicked.
    #[error("the reduce function failed at the key {key}: {what}")]
    Reduce {
        /// The key, as it is stored.
        key: String,
        /// What it said.
        what: String,
    },
    /// A worker process could not be started, or a task ended worker after worker.
    #[error("{task}: {what}")]
    Worker {
        /// The program, or the task and its input.
        task: String,
        /// What happened.
        what: String,
    },
    /// An option, or a combination of options, that cannot be served.
    #[error("{0}")]
    Usage(String),
    /// A GPU cannot be used, or failed.
    #[error("{0}")]
    Device(String),
    /// An engine gave a result that another one did not.
    #[error("{0}")]
    Verification(String),
    /// The collection outgrew a limit of this engine.
    #[error("{0}")]
    Limit(String),
}

impl Error {
    /// Makes an [`Error::Write`] of what the system said about `path`.
    pub fn writing(path: &Path) -> impl Fn(std::io::Error) -> Error + Copy {
        move |source| Error::Write {
            path: path.to_path_buf(),
            source,
        }
    }
}

/// Where in the input something stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file, `-` for standard input.
    pub path: PathBuf,
    /// The position in it, in the terms of its format.
    pub position: Position,
}

/// A position within one input file; lines and documents count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Position {
    /// The file as a whole.
    Whole,
    /// A line.
    Line(u64),
    /// A document.
    Document(u64),
    /// A number of (decompressed) bytes from the start.
    Byte(u64),
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = self.path.display();
        match self.position {
            Position::Whole => write!(f, "{path}"),
            Position::Line(line) => write!(f, "{path}, line {line}"),
            Position::Document(document) => write!(f, "{path}, document {document}"),
            Position::Byte(byte) => write!(f, "{path}, byte {byte}"),
        }
    }
}
