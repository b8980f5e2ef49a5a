//! A copy of an index in one state: its own folder, with the same files.

use std::fs;
use std::path::Path;

use crate::Index;
use crate::folder::sync_part;
use crate::manifest::Manifest;
use tokapi_storage::error::{Error, Result};
use tokapi_storage::whole::{StagedFolder, sync_folder};

impl Index {
    /// Writes this state of the index to the new folder `path`, whole or not at all, while the index may go on
    /// changing. The copy is an index of its own, in the same epoch. No file of an index ever changes, so the copy
    /// shares the files with the index by hard links where the file system permits; otherwise the files are copied.
    ///
    /// ```
    /// # use tokapi_index::{Index, IndexBuilder, IndexWriter, Missing};
    /// # use tokapi_text::corpus::{Corpus, CorpusOptions, Document};
    /// # fn main() -> tokapi_storage::error::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let (path, backup) = (folder.path().join("index"), folder.path().join("backup"));
    /// # let corpus = Corpus::from_documents([Document::new("a", "one")], CorpusOptions::default());
    /// # IndexBuilder::new(&path).build(corpus)?;
    /// Index::open(&path)?.copy_to(&backup)?;
    /// IndexWriter::open(&path, 1)?.delete(["a"], Missing::Stop)?;
    /// assert_eq!(Index::open(&backup)?.statistics().documents, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Something exists at `path`; a file cannot be written.
    pub fn copy_to(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let mut manifest = Manifest::read_at(self.path(), self.epoch())?;
        let staged = StagedFolder::create(path)?;
        for part in self.parts() {
            let folder = staged.temporary().join(&part.note.name);
            fs::create_dir(&folder).map_err(Error::writing(path))?;
            for (_, file) in part.files() {
                let name = file.path().file_name().unwrap_or_default();
                link_or_copy(file.path(), &folder.join(name)).map_err(Error::writing(path))?;
            }
            sync_part(&folder)?;
        }
        manifest.commit(staged.temporary())?;
        staged.rename()?;
        sync_folder(path)
    }
}

/// Gives a file a second name; copies it if the file system gives none there.
fn link_or_copy(from: &Path, to: &Path) -> std::io::Result<()> {
    if fs::hard_link(from, to).is_ok() {
        return Ok(());
    }
    fs::copy(from, to)?;
    fs::File::open(to)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_the_same_bytes_under_both_names() {
        let folder = tempfile::tempdir().unwrap();
        let [from, to] = ["from", "to"].map(|name| folder.path().join(name));
        fs::write(&from, b"bytes").unwrap();
        link_or_copy(&from, &to).unwrap();
        assert_eq!(fs::read(&to).unwrap(), b"bytes");
        // A link cannot take the place of a file; a copy can.
        fs::write(&from, b"others").unwrap();
        fs::remove_file(&to).unwrap();
        fs::write(&to, b"bytes").unwrap();
        link_or_copy(&from, &to).unwrap();
        assert_eq!(fs::read(&to).unwrap(), b"others");
        assert!(link_or_copy(&from, &folder.path().join("none/to")).is_err());
    }
}
