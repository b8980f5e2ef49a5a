//! An existing index that a new one replaces.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::folder::{NewFolder, PART, last_number, lock, sweep, sync_part};
use crate::manifest::{Manifest, epoch};
use crate::part::note::PartNote;
use tokapi_storage::error::{Error, Result};
use tokapi_storage::pipeline::StageTimes;

/// An existing index that a new one will replace. It is locked for as long as this value lives.
/// Processes that have it open continue with its old state.
///
/// ```
/// # use tokapi_index::Replaced;
/// # use tokapi_index::{Index, IndexBuilder};
/// # use tokapi_text::corpus::{Corpus, CorpusOptions, Document};
/// # fn main() -> tokapi_storage::error::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("index");
/// # let again = || Corpus::from_documents([Document::new("a", "one")], CorpusOptions::default());
/// IndexBuilder::new(&path).build(again())?;
/// let replaced = Replaced::lock(&path)?;
/// IndexBuilder::new(&path).replace(replaced).build(again())?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Replaced {
    path: PathBuf,
    _lock: File,
}

impl Replaced {
    /// The index in the folder `path`. None if the folder is empty or does not exist.
    ///
    /// # Errors
    /// Something else is there; another process is changing the index.
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
    /// Writes a new part beside the existing ones, and then a manifest that names only the new
    /// part. The manifest is the commit, on every file system and whenever the process is killed.
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
        // An unreadable manifest names no files.
        manifest.names = manifest.names.max(last_number(path));
        manifest.epoch += epoch::all(path).first().copied().unwrap_or(0);
        let folder = NewFolder::create(path, manifest.new_name(PART))?;
        let (mut note, times) = write_part(&folder.path, &mut manifest)?;
        note.name.clone_from(&folder.name);
        manifest.begin_with(note);
        sync_part(&folder.path)?;
        manifest.commit(path)?;
        folder.keep();
        sweep(path, &manifest);
        Ok(times)
    }
}
