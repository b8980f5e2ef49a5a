//! The epochs of an index: each state has a number and a manifest of its own, `epoch-N.json`. A manifest is created
//! only if its name is free, so that of two writers one succeeds, and it never changes. A reader holds the epoch that
//! it has open by a shared lock on that file; a writer removes an epoch, and the files that only this epoch needs, if
//! nobody holds it.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Manifest;
use tokapi_storage::apart::{FORMER_MANIFEST, epoch_name, epoch_of};
use tokapi_storage::error::{Error, Result};

/// The number of attempts to hold an epoch that a writer is creating or removing, and the pause between them.
const HOLD_TRIES: usize = 40;
const HOLD_PAUSE: Duration = Duration::from_millis(5);

/// An epoch in use: no writer removes its files while this value lives.
#[derive(Debug)]
pub(crate) struct Hold {
    /// Locked; none if the file system has no locks.
    _file: Option<File>,
}

/// The path of the manifest of an epoch.
pub(crate) fn path_of(folder: &Path, epoch: u64) -> PathBuf {
    match epoch {
        0 => folder.join(FORMER_MANIFEST),
        epoch => folder.join(epoch_name(epoch)),
    }
}

/// The epochs with a manifest in `folder`, the newest first.
pub(crate) fn all(folder: &Path) -> Vec<u64> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut epochs: Vec<u64> = names.filter_map(|name| epoch_of(&name)).collect();
    epochs.sort_unstable_by(|a, b| b.cmp(a));
    epochs
}

/// Holds an epoch. None if it has been removed.
pub(crate) fn hold(folder: &Path, epoch: u64) -> Option<Hold> {
    let path = path_of(folder, epoch);
    for _ in 0..HOLD_TRIES {
        let file = File::open(&path).ok()?;
        match file.try_lock_shared() {
            // Removed, or replaced, before it was locked.
            Ok(()) if !is_at(&file, &path) => return None,
            Ok(()) => return Some(Hold { _file: Some(file) }),
            Err(TryLockError::WouldBlock) => std::thread::sleep(HOLD_PAUSE),
            Err(TryLockError::Error(_)) => break,
        }
    }
    // Without locks, removed files stay readable for processes that have them open.
    Some(Hold { _file: None })
}

/// Whether the open file is the one at `path`.
fn is_at(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let (Ok(open), Ok(there)) = (file.metadata(), fs::metadata(path)) else {
            return false;
        };
        (open.dev(), open.ino()) == (there.dev(), there.ino())
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        path.exists()
    }
}

/// Removes the manifest of an epoch, unless somebody holds it. Returns whether it is gone.
pub(crate) fn remove(folder: &Path, epoch: u64) -> bool {
    let path = path_of(folder, epoch);
    let Ok(file) = File::open(&path) else {
        return true;
    };
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => return false,
        Ok(()) | Err(TryLockError::Error(_)) => {}
    }
    // The next writer tries again.
    fs::remove_file(&path).is_ok()
}

impl Manifest {
    /// Reads and holds the newest epoch of the index in `folder`.
    pub fn hold(folder: &Path) -> Result<(Self, Hold)> {
        loop {
            let manifest = Manifest::read(folder)?;
            if let Some(hold) = hold(folder, manifest.epoch) {
                return Ok((manifest, hold));
            }
        }
    }

    /// Reads and holds an epoch of the index in `folder`.
    pub fn hold_at(folder: &Path, epoch: u64) -> Result<(Self, Hold)> {
        if let Some(hold) = hold(folder, epoch) {
            return Ok((Manifest::read_at(folder, epoch)?, hold));
        }
        let now = Manifest::read(folder)?.epoch;
        Err(Error::Usage(format!(
            "{}: epoch {epoch} is not there: the index is at epoch {now}, and earlier ones stay as long as somebody \
             has them open",
            folder.display()
        )))
    }
}
