//! The writers of all indexes, opened when they are first used.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use tokapi::{Analyzer, Corpus, CorpusOptions, Error, IndexBuilder, Keep, Result};

use tokapi_storage::whole::remove_folder;

use super::locked;
use super::remembered::Remembered;
use super::writer::{Writer, WriterOptions};
use crate::problem::{Kind, Problem};
use crate::served::{Catalog, Snapshot, is_name, name_of};

/// The permission to change indexes, and the folder of new ones.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WritersOptions {
    /// Whether indexes may be changed.
    pub enabled: bool,
    /// The folder of indexes that clients create; without it, they create none.
    pub data: Option<PathBuf>,
    /// The folder of snapshots; without it, there are none.
    pub snapshots: Option<PathBuf>,
    /// The options of each writer.
    pub writer: WriterOptions,
}

/// A new index.
#[derive(Clone, Default)]
pub struct NewIndex {
    /// How text is cut into terms.
    pub analyzer: Analyzer,
    /// The data of documents that it keeps.
    pub keep: Keep,
    /// A text that is attached to it.
    pub attachment: Option<String>,
}

/// The writers of all indexes.
pub struct Writers {
    pub(super) options: WritersOptions,
    open: Mutex<BTreeMap<String, Arc<Writer>>>,
    /// The answers to changes of snapshots; locked during a change.
    pub(super) snapshots: Mutex<Remembered<Bytes>>,
}

impl Writers {
    /// No writer is open yet.
    pub fn new(options: WritersOptions) -> Self {
        Writers {
            options,
            open: Mutex::default(),
            snapshots: Mutex::default(),
        }
    }

    /// The writer of an index.
    ///
    /// # Errors
    /// The server takes no changes; there is no such index; another process is changing it.
    pub fn get(&self, catalog: &Catalog, name: &str) -> std::result::Result<Arc<Writer>, Problem> {
        self.check_enabled()?;
        let mut open = locked(&self.open);
        // Of the index that has the name as long as the lock is held.
        let served = catalog.get(name)?;
        if let Some(writer) = open.get(name) {
            return Ok(Arc::clone(writer));
        }
        let path = served.snapshot().index().path().to_path_buf();
        let writer = Writer::open(&path, served, &self.options.writer)?;
        let writer = Arc::new(writer);
        open.insert(name.to_owned(), Arc::clone(&writer));
        Ok(writer)
    }

    /// Creates an index without documents, and serves it.
    ///
    /// # Errors
    /// The server takes no changes; the name is taken or is none; files cannot be written.
    pub fn create(
        &self,
        catalog: &Catalog,
        name: &str,
        new: NewIndex,
    ) -> std::result::Result<(), Problem> {
        self.check_enabled()?;
        // One creation at a time.
        let mut open = locked(&self.open);
        let path = self.place_of_new(catalog, name)?;
        let nothing = Corpus::from_documents([], CorpusOptions::default());
        IndexBuilder::new(&path)
            .analyzer(new.analyzer)
            .keep(new.keep)
            .build(nothing)?;
        let served = catalog.add(Snapshot::open(name, &path)?)?;
        let writer = Arc::new(Writer::open(&path, served, &self.options.writer)?);
        open.insert(name.to_owned(), Arc::clone(&writer));
        drop(open);
        if new.attachment.is_some() {
            let write = super::Write {
                attachment: new.attachment,
                ..Default::default()
            };
            writer.queue(write)?.wait()?;
        }
        Ok(())
    }

    /// The folder of a new index.
    pub(super) fn place_of_new(
        &self,
        catalog: &Catalog,
        name: &str,
    ) -> std::result::Result<PathBuf, Problem> {
        let Some(data) = &self.options.data else {
            return Err(Problem::new(
                Kind::Forbidden,
                "this server has no folder for new indexes: start it with --data DIR",
            ));
        };
        check_name("an index", name)?;
        let path = data.join(name);
        if catalog.get(name).is_ok() || path.exists() {
            return Err(Problem::new(
                Kind::Conflict,
                format!("an index is named `{name}` already: choose another name"),
            ));
        }
        std::fs::create_dir_all(data).map_err(Error::writing(data))?;
        Ok(path)
    }

    /// Ends to serve an index that a client created, and removes its files.
    ///
    /// # Errors
    /// The server takes no changes; there is no such index; it is not in the folder of new indexes.
    pub fn remove(&self, catalog: &Catalog, name: &str) -> std::result::Result<(), Problem> {
        self.check_enabled()?;
        let path = catalog.snapshot(name)?.index().path().to_path_buf();
        if self.options.data.as_deref() != path.parent() {
            return Err(Problem::new(
                Kind::Forbidden,
                format!(
                    "the index `{name}` is not in the folder of --data, and clients remove indexes of that folder only: stop the server and remove the folder"
                ),
            ));
        }
        let mut open = locked(&self.open);
        // Another request may have been first.
        catalog.get(name)?;
        catalog.remove(name);
        let writer = open.remove(name);
        // Requests that wait are answered first. Nobody writes to the folder of an index that gets the name later.
        if let Some(writer) = writer {
            writer.close();
        }
        drop(open);
        remove_folder(&path)?;
        Ok(())
    }

    /// Answers all waiting changes, and closes the writers.
    pub fn close(&self) {
        locked(&self.open).clear();
    }

    /// Checks that indexes may be changed.
    ///
    /// # Errors
    /// The server takes no changes.
    pub fn check_enabled(&self) -> std::result::Result<(), Problem> {
        match self.options.enabled {
            true => Ok(()),
            false => Err(Problem::new(
                Kind::Forbidden,
                "this server takes no changes: start it with --write",
            )),
        }
    }
}

/// Checks the name of `what`, which is new.
pub(super) fn check_name(what: &str, name: &str) -> std::result::Result<(), Problem> {
    /// Paths of the server itself.
    const RESERVED: [&str; 4] = ["live", "ready", "metrics", "v1"];
    match is_name(name) && !RESERVED.contains(&name) {
        true => Ok(()),
        false => Err(Problem::invalid(format!(
            "`{}` is not a name for {what}: use letters of ASCII, digits, -, _ and ., begin with a letter or a digit, and do \
             not use {}",
            name.escape_debug(),
            RESERVED.join(", ")
        ))),
    }
}

/// The folders of indexes in the folder of new indexes, by name.
///
/// # Errors
/// The folder cannot be read.
pub fn indexes_in(data: &Path) -> Result<BTreeMap<String, PathBuf>> {
    let unread = |source| Error::Read {
        path: data.to_path_buf(),
        source,
    };
    let mut found = BTreeMap::new();
    if !data.exists() {
        return Ok(found);
    }
    for entry in std::fs::read_dir(data).map_err(unread)? {
        let path = entry.map_err(unread)?.path();
        if tokapi_storage::apart::is_index(&path)
            && let Ok(name) = name_of(None, &path)
        {
            found.insert(name, path);
        }
    }
    Ok(found)
}
