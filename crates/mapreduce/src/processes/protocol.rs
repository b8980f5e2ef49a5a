//! The messages between coordinator and workers: one line of JSON a task, lines of JSON as
//! answers.

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::super::reduce::Counts;
use tokapi_storage::error::{Error, Place, Position};

/// A task: its job, its work, and the folder of its results.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Task {
    /// The job's name in the registry.
    pub job: String,
    /// The file that the job is stored in.
    #[serde(with = "tokapi_storage::paths")]
    pub job_file: PathBuf,
    /// Its number in its phase.
    pub number: u32,
    /// The number of earlier attempts.
    pub attempt: u32,
    pub work: Work,
    /// The folder that appears when the task is complete.
    #[serde(with = "tokapi_storage::paths")]
    pub output: PathBuf,
}

/// The work of a task.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Work {
    /// Map the records of the split in this file.
    Map(#[serde(with = "tokapi_storage::paths")] PathBuf),
    /// Merge the runs that this file lists.
    Merge(#[serde(with = "tokapi_storage::paths")] PathBuf),
    /// Reduce the partition with the task's number. This file has the job, runs and cuts.
    Reduce(#[serde(with = "tokapi_storage::paths")] PathBuf),
}

impl Task {
    /// The folder of incomplete results, for this attempt alone.
    pub(super) fn temporary(&self) -> PathBuf {
        self.output.with_extension(format!("{}.tmp", self.attempt))
    }
}

/// A worker's message about its task.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    /// The task makes progress.
    Alive,
    /// The task is complete; the counts are those of reduce tasks.
    Done(Counts),
    Failed(Failure),
}

/// An error in a form for the coordinator.
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
    /// A damaged file.
    Damaged {
        #[serde(with = "tokapi_storage::paths")]
        path: PathBuf,
        what: String,
    },
    Other(String),
}

/// A system error on a file.
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
    /// Whether a retry may succeed on another worker. Functions of jobs depend on their arguments
    /// alone; disks do not.
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
