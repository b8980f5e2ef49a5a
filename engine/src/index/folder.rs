//! The folder of an index that changes: new parts, the lock, and what interrupted changes have left.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use super::manifest::{MANIFEST, Manifest};
use super::{PART, layout};
use crate::error::{Error, Result};
use crate::output::remove_left_over;

/// The file that a writer holds.
const LOCK: &str = "lock";

/// A folder for a part, which vanishes unless it is kept.
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

/// Takes the lock of the index, for as long as the file is open.
pub(super) fn lock(path: &Path) -> Result<File> {
    let file = path.join(LOCK);
    let mut options = File::options();
    let lock = options.write(true).create(true).truncate(false).open(&file);
    let lock = lock.map_err(Error::writing(&file))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(Error::Usage(format!(
                "{}: another process is changing this index; try again when it has ended",
                path.display()
            )));
        }
        // Without one, two could change the index at a time and lose documents.
        Err(TryLockError::Error(source)) => return Err(Error::writing(&file)(source)),
    }
    Ok(lock)
}

/// Removes what interrupted changes have left.
pub(super) fn sweep(path: &Path, manifest: &Manifest) {
    remove_left_over(&path.join(MANIFEST));
    let is_numbered = |name: &str, prefix: &str| {
        name.strip_prefix(prefix)
            .and_then(|rest| rest.strip_prefix('-'))
            .is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| is_numbered(name, PART)) else {
            continue;
        };
        let Some(part) = manifest.parts.iter().find(|part| part.name == name) else {
            remove(&entry.path());
            continue;
        };
        for file in fs::read_dir(entry.path()).into_iter().flatten().flatten() {
            let name = file.file_name();
            let name = name.to_str().unwrap_or_default();
            let needed = part.deleted.as_ref().is_some_and(|note| note.name == name);
            if is_numbered(name, layout::DELETED.name) && !needed {
                remove(&file.path());
            }
        }
    }
}

/// Removes a file or a folder. What cannot be removed is in nobody's way; the next writer tries again.
pub(super) fn remove(path: &Path) {
    let removed = match path.is_dir() {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    };
    if let Err(error) = removed {
        log::info!("{}: not removed: {error}", path.display());
    }
}
