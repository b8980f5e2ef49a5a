//! The one error type of the library: the fault, its place, and what to do.

use std::path::{Path, PathBuf};

/// A result whose error is [`Error`].
///
/// [`Error`] has an example.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Every error of the library, with its place and what to do.
///
/// ```
/// # use tokapi_storage::{error::Error, memory::Memory};
/// match Memory::new(1 << 20) {
///     Err(Error::Memory { bytes, .. }) => assert_eq!(bytes, 300_000_000),
///     _ => panic!("a mebibyte is too little"),
/// }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be opened or read.
    #[error("{}: {}", path.display(), unread(source))]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A file cannot be created, written or renamed into place.
    #[error("{}: cannot write: {source}; nothing was left under that name", path.display())]
    Write {
        /// The final name of the output.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A scratch file cannot be written or read. The job can be resumed after the cause is fixed.
    #[error("{}: scratch file: {source}", path.display())]
    Scratch {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A file that Tokapi wrote has changed since, or is truncated.
    #[error("{}: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The damage, and what to do.
        what: String,
    },
    /// A document, a line or a whole file of the input does not follow its format.
    #[error("{place}: {what}")]
    Input {
        /// File, and line or document.
        place: Place,
        /// The fault, and what to do.
        what: String,
    },
    /// An option or a combination of options that is not supported.
    #[error("{0}")]
    Usage(String),
    /// The index was built without something that the query needs.
    #[error("the index keeps no {0}")]
    NotKept(Kept),
    /// Another process holds the index or the job.
    #[error("{}: {what}", path.display())]
    Busy {
        /// The folder.
        path: PathBuf,
        /// The holder, and what to do.
        what: String,
    },
    /// An interrupted run of the same job has left its scratch files.
    #[error("{}: an interrupted run of this job left its work here: resume it, or remove the folder to begin again", path.display())]
    Interrupted {
        /// The folder of the interrupted run.
        path: PathBuf,
    },
    /// The memory budget is too small.
    #[error("{what} needs a memory budget of {} MB or more", bytes.div_ceil(1_000_000))]
    Memory {
        /// The work that needs more.
        what: String,
        /// The least budget.
        bytes: u64,
    },
    /// The collection exceeds a limit of the engine or format.
    #[error("{0}")]
    Limit(String),
    /// There is no GPU, no driver, or this build cannot use one.
    #[error("{0}")]
    NoDevice(String),
    /// A GPU failed, or has too little memory.
    #[error("{0}")]
    Device(String),
    /// Two engines gave different results.
    #[error("{0}")]
    Verification(String),
    /// The caller ended the operation ([`Progress::cancel`](crate::progress::Progress::cancel)).
    #[error("cancelled; nothing was written")]
    Cancelled,
    /// The map function of a job rejected a record, or panicked.
    #[error("{input}: {what}")]
    Map {
        /// The record.
        input: String,
        /// The reason.
        what: String,
    },
    /// The reduce function of a job panicked.
    #[error("the reduce function failed at the key {key}: {what}")]
    Reduce {
        /// The key, as it is stored.
        key: String,
        /// The message of the panic.
        what: String,
    },
    /// A worker process could not be started, or a task ended several workers.
    #[error("{task}: {what}")]
    Worker {
        /// The program, or the task and its input.
        task: String,
        /// The failure.
        what: String,
    },
}

/// Content that an index keeps only if it was built with it.
///
/// ```
/// # use tokapi_storage::error::{Error, Kept};
/// let error = Error::NotKept(Kept::Texts);
/// assert_eq!(error.to_string(), "the index keeps no texts: build it again with them");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kept {
    /// Values of a field.
    Field {
        /// The field.
        name: String,
        /// The fields that the index does keep.
        known: Vec<String>,
    },
    /// The positions of terms, needed by phrase queries.
    Positions,
    /// The texts of documents.
    Texts,
}

impl std::fmt::Display for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Kept::Field { name, known } if known.is_empty() => {
                write!(f, "fields: build it again with the field `{name}`")
            }
            Kept::Field { name, known } => write!(
                f,
                "field `{name}`, only {}: use one of these, or build it again with `{name}`",
                known.join(", ")
            ),
            Kept::Positions => {
                write!(
                    f,
                    "positions, and phrases need them: build it again with positions"
                )
            }
            Kept::Texts => write!(f, "texts: build it again with them"),
        }
    }
}

/// The reason why a file cannot be read.
fn unread(source: &std::io::Error) -> String {
    match source.kind() {
        std::io::ErrorKind::NotFound => "there is no such file; check the name".into(),
        _ => format!("cannot read: {source}"),
    }
}

impl Error {
    /// Makes an [`Error::Write`] for `path` from the system's error.
    pub fn writing(path: &Path) -> impl Fn(std::io::Error) -> Error + Copy {
        move |source| Error::Write {
            path: path.to_path_buf(),
            source,
        }
    }
}

/// A place in the input.
///
/// ```
/// # use tokapi_storage::error::{Place, Position};
/// let place = Place { path: "docs.jsonl".into(), position: Position::Line(7) };
/// assert_eq!(place.to_string(), "docs.jsonl, line 7");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file, `-` for standard input.
    pub path: PathBuf,
    /// The position in it, in the terms of its format.
    pub position: Position,
}

/// A position within one input file; lines and documents count from 1.
///
/// [`Place`] has an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum Position {
    /// The file as a whole.
    Whole,
    /// A line.
    Line(u64),
    /// A document.
    Document(u64),
    /// A number of bytes from the start, after decompression.
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
