//! The folder of an index that changes: new parts, the lock, and the leftovers of interrupted
//! changes.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::manifest::{MANIFEST, Manifest};
use crate::part::layout;
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
            for path in left_over(path, &manifest) {
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

/// Removes the leftovers of interrupted changes.
pub(super) fn sweep(path: &Path, manifest: &Manifest) {
    left_over(path, manifest)
        .iter()
        .for_each(|path| remove(path));
}

/// The files and folders of an index that its manifest does not name.
fn left_over(path: &Path, manifest: &Manifest) -> Vec<PathBuf> {
    let mut left = whole::left_over(&path.join(MANIFEST));
    for (entry, name) in entries(path) {
        if number(&name, PART).is_none() {
            continue;
        }
        let Some(part) = manifest.parts.iter().find(|part| part.name == name) else {
            left.push(entry);
            continue;
        };
        let needed = part.deleted.as_ref().map(|note| &*note.name);
        let files = entries(&entry).filter(|(_, name)| {
            number(name, layout::DELETED.name).is_some() && Some(&**name) != needed
        });
        left.extend(files.map(|(file, _)| file));
    }
    left
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
