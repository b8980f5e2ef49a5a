//! Snapshots: copies of indexes, each in one epoch, in a folder of the operator.
//!
//! A snapshot is a folder with an index in it, under the name of the index: `SNAPSHOTS/monday/books`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use bytes::Bytes;
use tokapi::{Error, Index};
use tokapi_storage::apart::has_epoch;
use tokapi_storage::whole::{StagedFolder, remove_folder, sync_folder};

use super::locked;
use super::writers::{Writers, check_name};
use crate::model::{EpochAnswer, SnapshotAnswer};
use crate::problem::{Kind, Problem};
use crate::served::{Catalog, Snapshot, is_name};

/// A snapshot on disk.
struct Kept {
    /// Its folder.
    folder: PathBuf,
    /// The name of its index.
    index: String,
}

impl Kept {
    /// The snapshot in a folder, if there is one.
    fn in_folder(folder: PathBuf) -> Option<Self> {
        let entries = std::fs::read_dir(&folder).ok()?.flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut indexes = names.filter(|name| is_name(name) && has_epoch(&folder.join(name)));
        let index = indexes.next()?;
        Some(Kept { folder, index })
    }

    fn path(&self) -> PathBuf {
        self.folder.join(&self.index)
    }

    fn answer(self, name: &str) -> SnapshotAnswer {
        let metadata = std::fs::metadata(&self.folder);
        let created = metadata.and_then(|metadata| metadata.modified()).ok();
        let created = created.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let index = Index::open(self.path()).ok();
        let info = index.as_ref().map(Index::info);
        SnapshotAnswer {
            snapshot: name.to_owned(),
            index: self.index,
            // Fewer than 2^64 milliseconds.
            created_ms: created.map_or(0, |created| created.as_millis() as u64),
            epoch: index.as_ref().map(Index::epoch),
            documents: info.as_ref().map(|info| info.statistics.documents),
            bytes: info.map(|info| info.files.iter().map(|(_, bytes)| bytes).sum()),
        }
    }
}

impl Writers {
    /// Changes snapshots, one request at a time. A request whose key was there before is answered as then.
    ///
    /// # Errors
    /// Those of `change`, which are not kept.
    pub fn change_snapshots(
        &self,
        key: Option<String>,
        change: impl FnOnce() -> Result<Bytes, Problem>,
    ) -> Result<Bytes, Problem> {
        let mut remembered = locked(&self.snapshots);
        if let Some(answer) = key.as_ref().and_then(|key| remembered.get(key)) {
            return Ok(answer);
        }
        let answer = change()?;
        if let Some(key) = key {
            remembered.put(key, answer.clone());
        }
        Ok(answer)
    }

    /// All snapshots, by name.
    ///
    /// # Errors
    /// The server keeps no snapshots; their folder cannot be read.
    pub fn snapshots(&self) -> Result<Vec<SnapshotAnswer>, Problem> {
        let all = self.snapshots_folder()?;
        if !all.exists() {
            return Ok(Vec::new());
        }
        let unread = |source| Error::Read {
            path: all.to_path_buf(),
            source,
        };
        let mut found = BTreeMap::new();
        for entry in std::fs::read_dir(all).map_err(unread)? {
            let entry = entry.map_err(unread)?;
            let name = entry.file_name().into_string();
            if let Some(name) = name.ok().filter(|name| is_name(name))
                && let Some(kept) = Kept::in_folder(entry.path())
            {
                found.insert(name, kept);
            }
        }
        let found = found.into_iter();
        Ok(found.map(|(name, kept)| kept.answer(&name)).collect())
    }

    /// The snapshot of a name.
    ///
    /// # Errors
    /// The server keeps no snapshots, or none of this name.
    pub fn snapshot(&self, name: &str) -> Result<SnapshotAnswer, Problem> {
        self.kept(name).map(|kept| kept.answer(name))
    }

    /// Writes the current state of an index to a new snapshot.
    ///
    /// # Errors
    /// The server keeps no snapshots; there is no such index; the name is taken or is none; files cannot be written.
    pub fn take_snapshot(
        &self,
        catalog: &Catalog,
        name: &str,
        index: &str,
    ) -> Result<SnapshotAnswer, Problem> {
        let all = self.snapshots_folder()?;
        check_name("a snapshot", name)?;
        let snapshot = catalog.snapshot(index)?;
        let folder = all.join(name);
        if folder.exists() {
            return Err(Problem::new(
                Kind::Conflict,
                format!("a snapshot is named `{name}` already: choose another name"),
            ));
        }
        std::fs::create_dir_all(all).map_err(Error::writing(all))?;
        let staged = StagedFolder::create(&folder)?;
        let copied = snapshot.index().copy_to(staged.temporary().join(index));
        // The index may have been removed meanwhile.
        copied.map_err(|error| catalog.get(index).err().unwrap_or(error.into()))?;
        staged.rename()?;
        sync_folder(&folder)?;
        self.snapshot(name)
    }

    /// Serves the index of a snapshot under a name that no index has, after a check of all its files. Its changes do not
    /// reach the snapshot.
    ///
    /// # Errors
    /// The server keeps no snapshots, or none of this name; the snapshot is damaged; the name of the index is taken; the
    /// server creates no indexes; files cannot be written.
    pub fn restore(
        &self,
        catalog: &Catalog,
        name: &str,
        index: Option<&str>,
    ) -> Result<EpochAnswer, Problem> {
        self.check_enabled()?;
        let kept = self.kept(name)?;
        let index = index.unwrap_or(&kept.index);
        let path = self.place_of_new(catalog, index)?;
        let opened = Index::open_within(kept.path(), &self.options.writer.memory);
        let checked = opened.and_then(|opened| opened.check().map(|_| opened));
        let opened = checked.map_err(|error| match error {
            Error::Damaged { .. } | Error::Read { .. } => Problem::damaged(
                format!(
                    "the snapshot `{name}` is damaged, and nothing was restored: restore another one; the log of the \
                     server has the place, under the id of this request"
                ),
                error,
            ),
            other => other.into(),
        })?;
        let copied = opened.copy_to(&path);
        // Another request may have taken the name meanwhile.
        copied.map_err(|error| {
            let taken = self.place_of_new(catalog, index).err();
            taken.unwrap_or(error.into())
        })?;
        let served = catalog.add(Snapshot::open(index, &path)?)?;
        Ok(EpochAnswer {
            index: index.to_owned(),
            epoch: served.snapshot().epoch(),
        })
    }

    /// Removes a snapshot, and gives what it was.
    ///
    /// # Errors
    /// The server keeps no snapshots, or none of this name; files cannot be removed.
    pub fn remove_snapshot(&self, name: &str) -> Result<SnapshotAnswer, Problem> {
        let kept = self.kept(name)?;
        let folder = kept.folder.clone();
        let answer = kept.answer(name);
        remove_folder(&folder)?;
        Ok(answer)
    }

    fn kept(&self, name: &str) -> Result<Kept, Problem> {
        let all = self.snapshots_folder()?;
        let kept = is_name(name).then(|| Kept::in_folder(all.join(name)));
        kept.flatten().ok_or_else(|| {
            Problem::new(
                Kind::UnknownSnapshot,
                format!(
                    "no snapshot is named `{}`: the route /v1/snapshots lists them",
                    name.escape_debug()
                ),
            )
        })
    }

    /// The folder of all snapshots.
    ///
    /// # Errors
    /// The server keeps none.
    pub fn snapshots_folder(&self) -> Result<&Path, Problem> {
        self.options.snapshots.as_deref().ok_or_else(|| {
            Problem::new(
                Kind::Forbidden,
                "this server has no folder for snapshots: start it with --snapshots DIR",
            )
        })
    }
}
