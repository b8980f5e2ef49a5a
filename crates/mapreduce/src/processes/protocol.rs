//! What coordinator and workers say to each other: a line of JSON a task, lines of JSON in answer.

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::super::reduce::Counts;
use tokapi_storage::error::{Error, Place, Position};

/// A task: which job, what of it, and where its results go.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Task {
    /// The job's name in the registry.
    pub job: String,
    /// The file that the job is stored in.
    #[serde(with = "tokapi_storage::paths")]
    pub job_file: PathBuf,
    /// Its number among the tasks of its phase.
    pub number: u32,
    /// How often it has been given out before.
    pub attempt: u32,
    pub work: Work,
    /// The folder that appears when the task is done.
    #[serde(with = "tokapi_storage::paths")]
    pub output: PathBuf,
}

/// What a task does.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Work {
    /// Map the records of the split in this file.
    Map(#[serde(with = "tokapi_storage::paths")] PathBuf),
    /// Merge the runs that this file lists.
    Merge(#[serde(with = "tokapi_storage::paths")] PathBuf),
    /// Reduce the partition of the task's number of what this file holds: the job, runs and cuts.
    Reduce(#[serde(with = "tokapi_storage::paths")] PathBuf),
}

impl Task {
    /// Where results are put until they are whole: a folder of this attempt alone.
    pub(super) fn temporary(&self) -> PathBuf {
        self.output.with_extension(format!("{}.tmp", self.attempt))
    }
}

/// What a worker says of its task.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    /// It goes on.
    Alive,
    /// It is done; counts are of reduce tasks.
    Done(Counts),
    Failed(Failure),
}

/// An error on its way to the coordinator.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Failure {
    Map {
        input: String,
        what: String,
    },
    Reduce {
        key: String,
        what: String,
    },
    Input {
        #[serde(with = "tokapi_storage::paths")]
        path: PathBuf,
        position: Position,
        what: String,
    },
    Read(Io),
    Scratch(Io),
    /// A file that is not what was written.
    Damaged {
        #[serde(with = "tokapi_storage::paths")]
        path: PathBuf,
        what: String,
    },
    Other(String),
}

/// What the system said of a file.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Io {
    #[serde(with = "tokapi_storage::paths")]
    path: PathBuf,
    code: Option<i32>,
    what: String,
}

impl Io {
    fn new(path: PathBuf, source: &io::Error) -> Self {
        Io {
            path,
            code: source.raw_os_error(),
            what: source.to_string(),
        }
    }

    fn source(&self) -> io::Error {
        match self.code {
            Some(code) => io::Error::from_raw_os_error(code),
            None => io::Error::other(self.what.clone()),
        }
    }
}

impl Failure {
    /// Whether the same task may do better elsewhere: functions of jobs depend on their arguments
    /// alone, disks do not.
    pub(super) fn may_pass(&self) -> bool {
        matches!(
            self,
            Failure::Read(_) | Failure::Scratch(_) | Failure::Damaged { .. }
        )
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Map { input, what } => Failure::Map { input, what },
            Error::Reduce { key, what } => Failure::Reduce { key, what },
            Error::Input { place, what } => Failure::Input {
                path: place.path,
                position: place.position,
                what,
            },
            Error::Read { path, source } => Failure::Read(Io::new(path, &source)),
            Error::Scratch { path, source } => Failure::Scratch(Io::new(path, &source)),
            Error::Damaged { path, what } => Failure::Damaged { path, what },
            other => Failure::Other(other.to_string()),
        }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Map { input, what } => Error::Map { input, what },
            Failure::Reduce { key, what } => Error::Reduce { key, what },
            Failure::Input {
                path,
                position,
                what,
            } => Error::Input {
                place: Place { path, position },
                what,
            },
            Failure::Read(io) => Error::Read {
                source: io.source(),
                path: io.path,
            },
            Failure::Scratch(io) => Error::Scratch {
                source: io.source(),
                path: io.path,
            },
            Failure::Damaged { path, what } => Error::Damaged { path, what },
            Failure::Other(what) => Error::Verification(what),
        }
    }
}
