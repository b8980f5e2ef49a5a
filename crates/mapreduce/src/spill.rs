//! The storage of runs: in memory while they fit, then in scratch files.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::run::{Run, RunWriter};
use tokapi_storage::error::{Error, Result};
use tokapi_storage::progress::Progress;
use tokapi_storage::scratch::frames::FrameWriter;
use tokapi_storage::whole::StagedFolder;

/// A new folder in `parent`, removed with all its content on drop.
pub(crate) fn scratch_folder(parent: &Path) -> Result<StagedFolder> {
    let folder = StagedFolder::create(&parent.join("tokapi-mapreduce"));
    folder.map_err(|error| match error {
        Error::Write { path, source } => Error::Scratch { path, source },
        other => other,
    })
}

/// The storage of one job's runs.
pub(crate) struct Spill {
    /// Remaining memory for runs.
    most_bytes: u64,
    held_bytes: AtomicU64,
    pub(crate) spilled_bytes: AtomicU64,
    parent: PathBuf,
    /// The folder, created for the first run on scratch and removed on drop. Without one, runs go
    /// to `parent` itself.
    folder: Option<OnceLock<StagedFolder>>,
    files: AtomicU64,
    stamp: u64,
    pub(crate) progress: Progress,
}

impl Spill {
    /// Keeps runs of up to `most_bytes` in total in memory; others go to a folder in `parent`.
    pub(crate) fn new(most_bytes: u64, parent: &Path) -> Self {
        Spill {
            most_bytes,
            held_bytes: AtomicU64::new(0),
            spilled_bytes: AtomicU64::new(0),
            parent: parent.to_path_buf(),
            folder: Some(OnceLock::new()),
            files: AtomicU64::new(1),
            stamp: std::process::id().into(),
            progress: Progress::default(),
        }
    }

    /// As above, for a job that `progress` can cancel.
    pub(crate) fn following(mut self, progress: &Progress) -> Self {
        self.progress = progress.clone();
        self
    }

    /// Keeps nothing in memory: all runs are files in `folder`, and stay there.
    pub(crate) fn into_folder(folder: &Path) -> Self {
        Spill {
            folder: None,
            ..Spill::new(0, folder)
        }
    }

    /// Writes a run of about `bytes`, in memory or, without room, in a file.
    pub(crate) fn write(
        &self,
        bytes: usize,
        write: impl FnOnce(&mut RunWriter) -> Result<()>,
    ) -> Result<Run> {
        let before = self.held_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        let fits = before + bytes as u64 <= self.most_bytes;
        let file = (!fits).then(|| self.create()).transpose()?;
        let mut run = RunWriter::new(file, bytes);
        write(&mut run)?;
        let run = run.finish()?;
        self.held_bytes.fetch_sub(bytes as u64, Ordering::Relaxed);
        match run.is_on_disk() {
            true => self.spilled_bytes.fetch_add(run.bytes, Ordering::Relaxed),
            false => self.held_bytes.fetch_add(run.bytes, Ordering::Relaxed),
        };
        Ok(run)
    }

    /// Reserves `bytes` of the memory, if there is room; they are never released.
    pub(crate) fn hold(&self, bytes: usize) -> bool {
        let before = self.held_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        let fits = before + bytes as u64 <= self.most_bytes;
        if !fits {
            self.held_bytes.fetch_sub(bytes as u64, Ordering::Relaxed);
        }
        fits
    }

    /// A writer of a run in a file.
    pub(crate) fn create(&self) -> Result<FrameWriter> {
        let folder = match &self.folder {
            None => &self.parent,
            Some(folder) => self.temporary(folder)?,
        };
        let number = self.files.fetch_add(1, Ordering::Relaxed);
        FrameWriter::create(folder.join(format!("run-{number}")), self.stamp)
    }

    fn temporary<'a>(&self, folder: &'a OnceLock<StagedFolder>) -> Result<&'a Path> {
        let folder = match folder.get() {
            Some(folder) => folder,
            None => {
                let made = scratch_folder(&self.parent)?;
                // Another thread may have created one meanwhile; this one is then removed.
                folder.get_or_init(|| made)
            }
        };
        Ok(folder.temporary())
    }
}
