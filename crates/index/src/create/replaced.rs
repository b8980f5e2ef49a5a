//! An index that a new one takes the place of.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::folder::{NewFolder, PART, last_number, lock, sweep};
use crate::manifest::{MANIFEST, Manifest};
use crate::part::note::PartNote;
use tokapi_storage::error::{Error, Result};
use tokapi_storage::pipeline::StageTimes;
use tokapi_storage::whole::sync_folder;

/// An index that a new one is to take the place of. Nobody else can change it for as long as this lives; those who have
/// opened it go on with what they have.
#[derive(Debug)]
pub struct Replaced {
    path: PathBuf,
    _lock: File,
}

impl Replaced {
    /// The index in the folder `path`. None where nothing is there, or an empty folder.
    ///
    /// # Errors
    /// There is something else; another process changes the index.
    pub fn lock(path: &Path) -> Result<Option<Self>> {
        let is_free = match fs::read_dir(path) {
            Ok(mut entries) => entries.next().is_none(),
            Err(_) => fs::symlink_metadata(path).is_err(),
        };
        if is_free {
            return Ok(None);
        }
        if !Manifest::is_there(path) {
            return Err(Error::Usage(format!(
                "{} is not an index, and only an index is overwritten; name another folder",
                path.display()
            )));
        }
        Ok(Some(Replaced {
            path: path.to_path_buf(),
            _lock: lock(path)?,
        }))
    }
}

impl Replaced {
    /// Writes a new part beside those that are there, and then a manifest that has no other: as ever, that is the moment
    /// of change, on every file system and whenever the process is killed.
    pub(super) fn write(
        self,
        mut manifest: Manifest,
        write_part: impl FnOnce(&Path, &mut Manifest) -> Result<(PartNote, StageTimes)>,
    ) -> Result<StageTimes> {
        let path = &self.path;
        if let Ok(before) = Manifest::read(path) {
            sweep(path, &before);
            manifest.names = before.names;
        }
        // What cannot be read tells of no names.
        manifest.names = manifest.names.max(last_number(path));
        let folder = NewFolder::create(path, manifest.new_name(PART))?;
        let (mut note, times) = write_part(&folder.path, &mut manifest)?;
        note.name.clone_from(&folder.name);
        manifest.begin_with(note);
        sync_folder(&folder.path.join(MANIFEST));
        sync_folder(&folder.path);
        manifest.write(path)?;
        folder.keep();
        sweep(path, &manifest);
        Ok(times)
    }
}
