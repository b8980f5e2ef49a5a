//! The folder of an index that changes: new parts, the lock, and the leftovers of interrupted
//! changes.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::manifest::{Manifest, STAGED, epoch};
use crate::part::layout;
use crate::part::note::PartNote;
use tokapi_storage::error::{Error, Result};
use tokapi_storage::whole;

/// The prefix of the names of parts.
pub(crate) const PART: &str = "part";

/// The lock file of a writer.
const LOCK: &str = "lock";
/// The number of attempts at the lock, and the pause between them.
const LOCK_TRIES: usize = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// A folder for a part. It is removed on drop unless it is kept.
pub(super) struct NewFolder {
    pub name: String,
    pub path: PathBuf,
    kept: bool,
}

impl NewFolder {
    pub fn create(index: &Path, name: String) -> Result<Self> {
        let path = index.join(&name);
        fs::create_dir(&path).map_err(Error::writing(&path))?;
        Ok(NewFolder {
            name,
            path,
            kept: false,
        })
    }

    pub fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        if !self.kept {
            remove(&self.path);
        }
    }
}

/// Waits until the names in the folder of a part, and its own name, are on disk.
pub(super) fn sync_part(folder: &Path) -> Result<()> {
    whole::sync_folder(&folder.join(PART))?;
    whole::sync_folder(folder)
}

/// Locks the index for as long as the file is open.
pub(super) fn lock(path: &Path) -> Result<File> {
    let file = path.join(LOCK);
    let mut options = File::options();
    let lock = options.write(true).create(true).truncate(false).open(&file);
    let lock = lock.map_err(Error::writing(&file))?;
    let mut tries = 0;
    let locked = loop {
        match lock.try_lock() {
            // A reader holds the lock only for a moment.
            Err(TryLockError::WouldBlock) if tries < LOCK_TRIES => tries += 1,
            locked => break locked,
        }
        std::thread::sleep(LOCK_PAUSE);
    };
    match locked {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(Error::Busy {
                path: path.to_path_buf(),
                what: "another process is changing this index; try again when it has ended".into(),
            });
        }
        // Without a lock, two writers could change the index at the same time and lose documents.
        Err(TryLockError::Error(source)) => return Err(Error::writing(&file)(source)),
    }
    Ok(lock)
}

/// Files left in the folder of an index by interrupted changes. The next change removes them.
///
/// ```
/// # use tokapi_index::{Index, IndexBuilder};
/// # use tokapi_text::corpus::{Corpus, CorpusOptions, Document};
/// # fn main() -> tokapi_storage::error::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("index");
/// # let corpus = Corpus::from_documents([Document::new("a", "one")], CorpusOptions::default());
/// IndexBuilder::new(&path).build(corpus)?;
/// assert_eq!(Index::open(&path)?.info().left_over.count, 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOver {
    /// Paths of files and of whole folders.
    pub count: u64,
    /// Their size in bytes.
    pub bytes: u64,
}

impl LeftOver {
    /// The leftover files in `path`; none while a writer holds the index.
    pub(super) fn of(path: &Path) -> Self {
        let is_changed = File::open(path.join(LOCK))
            .is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)));
        let mut left = LeftOver::default();
        if let (false, Ok(manifest)) = (is_changed, Manifest::read(path)) {
            for path in left_over(path, &states(path, manifest)) {
                left.count += 1;
                left.bytes += bytes_of(&path);
            }
        }
        left
    }
}

/// The size of a file, or of all files in a folder, in bytes.
fn bytes_of(path: &Path) -> u64 {
    match fs::read_dir(path) {
        Ok(entries) => entries.flatten().map(|entry| bytes_of(&entry.path())).sum(),
        Err(_) => fs::symlink_metadata(path).map_or(0, |metadata| metadata.len()),
    }
}

/// Removes the leftovers of interrupted changes, and the epochs before `manifest` that nobody holds. Returns the earlier
/// epochs that remain. The index is locked.
pub(super) fn sweep(path: &Path, manifest: &Manifest) -> Vec<Manifest> {
    for epoch in epoch::all(path) {
        // A later manifest is not whole: it was never committed.
        if epoch != manifest.epoch {
            epoch::remove(path, epoch);
        }
    }
    let mut states = states(path, manifest.clone());
    left_over(path, &states)
        .iter()
        .for_each(|path| remove(path));
    states.retain(|state| state.epoch < manifest.epoch);
    states
}

/// The states of an index whose files are needed: `newest`, and those that a reader holds.
fn states(path: &Path, newest: Manifest) -> Vec<Manifest> {
    let earlier = epoch::all(path).into_iter();
    let earlier = earlier.filter(|&epoch| epoch < newest.epoch);
    let earlier = earlier.filter_map(|epoch| Manifest::read_at(path, epoch).ok());
    let mut states: Vec<Manifest> = earlier.collect();
    states.push(newest);
    states
}

/// The files and folders of an index that none of its `states` names.
fn left_over(path: &Path, states: &[Manifest]) -> Vec<PathBuf> {
    let mut left = whole::left_over(&path.join(STAGED));
    for (entry, name) in entries(path) {
        if number(&name, PART).is_none() {
            continue;
        }
        let named = notes(states).filter(|part| part.name == name);
        let named: Vec<&PartNote> = named.collect();
        if named.is_empty() {
            left.push(entry);
            continue;
        }
        let is_needed = |name: &str| named.iter().any(|part| part.has_deleted(name));
        let files = entries(&entry)
            .filter(|(_, name)| number(name, layout::DELETED.name).is_some() && !is_needed(name));
        left.extend(files.map(|(file, _)| file));
    }
    left
}

/// Removes the files and folders that `states` of the index name, and `needed` do not.
pub(super) fn remove_files(path: &Path, states: &[Manifest], needed: &[Manifest]) {
    for part in notes(states) {
        let folder = path.join(&part.name);
        if !notes(needed).any(|other| other.name == part.name) {
            if folder.exists() {
                remove(&folder);
            }
        } else if let Some(deleted) = &part.deleted
            && !notes(needed)
                .any(|other| other.name == part.name && other.has_deleted(&deleted.name))
        {
            let file = folder.join(&deleted.name);
            if file.exists() {
                remove(&file);
            }
        }
    }
}

/// The parts of several states.
fn notes(states: &[Manifest]) -> impl Iterator<Item = &PartNote> {
    states.iter().flat_map(|state| &state.parts)
}

/// The highest part number in the folder of an index.
pub(super) fn last_number(path: &Path) -> u64 {
    let numbers = entries(path).filter_map(|(_, name)| number(&name, PART));
    numbers.max().unwrap_or(0)
}

/// The number in a name of the form `prefix-number`.
fn number(name: &str, prefix: &str) -> Option<u64> {
    let number = name.strip_prefix(prefix)?.strip_prefix('-')?;
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
    number.parse().ok().filter(|_| is_number)
}

/// The paths and names in a folder.
fn entries(folder: &Path) -> impl Iterator<Item = (PathBuf, String)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some((entry.path(), entry.file_name().into_string().ok()?)))
}

/// Removes a file or a folder. A failure does no harm: the next writer tries again.
pub(super) fn remove(path: &Path) {
    let removed = match path.is_dir() {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    };
    if let Err(error) = removed {
        log::info!("cannot remove {}: {error}", path.display());
    }
}
