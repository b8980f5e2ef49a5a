//! All indexes that are served, by name.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use tokapi::{Error, Result};

use super::columns::Columns;
use super::snapshot::Snapshot;
use crate::problem::{Kind, Problem};

/// An index under a name. Its state changes; who has a snapshot keeps it.
pub struct Served {
    current: RwLock<Arc<Snapshot>>,
}

impl Served {
    /// Serves a snapshot.
    pub fn new(snapshot: Snapshot) -> Self {
        Served {
            current: RwLock::new(Arc::new(snapshot)),
        }
    }

    /// The current state.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        let current = self.current.read();
        Arc::clone(&current.unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the state: new requests read the new one.
    pub fn replace(&self, snapshot: Snapshot) {
        let snapshot = Arc::new(snapshot);
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *current, snapshot);
        drop(current);
        // Perhaps the last use, which closes its files.
        drop(before);
    }
}

/// The indexes by name.
#[derive(Default)]
pub struct Catalog {
    served: RwLock<BTreeMap<String, Arc<Served>>>,
    columns: Arc<Columns>,
}

impl Catalog {
    /// No indexes, whose values of fields will take at most `columns_bytes` bytes of memory.
    pub fn new(columns_bytes: u64) -> Self {
        Catalog {
            served: RwLock::default(),
            columns: Arc::new(Columns::new(columns_bytes)),
        }
    }

    /// The values of fields of all indexes, as far as they are in memory.
    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    /// The index of a name.
    ///
    /// # Errors
    /// There is none.
    pub fn get(&self, name: &str) -> std::result::Result<Arc<Served>, Problem> {
        let served = self.served.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = served.get(name) {
            return Ok(Arc::clone(found));
        }
        let known: Vec<&str> = served.keys().map(String::as_str).collect();
        Err(Problem::new(
            Kind::UnknownIndex,
            format!(
                "no index is named `{}`; this server has {}",
                name.escape_debug(),
                match &known[..] {
                    [] => "none".to_owned(),
                    known => known.join(", "),
                }
            ),
        ))
    }

    /// The current state of the index of a name.
    ///
    /// # Errors
    /// There is none.
    pub fn snapshot(&self, name: &str) -> std::result::Result<Arc<Snapshot>, Problem> {
        Ok(self.get(name)?.snapshot())
    }

    /// The current states of all indexes, by name.
    pub fn snapshots(&self) -> Vec<Arc<Snapshot>> {
        let served = self.served.read().unwrap_or_else(PoisonError::into_inner);
        served.values().map(|served| served.snapshot()).collect()
    }

    /// The names, ascending.
    pub fn names(&self) -> Vec<String> {
        let served = self.served.read().unwrap_or_else(PoisonError::into_inner);
        served.keys().cloned().collect()
    }

    /// Serves an index under the name of its snapshot.
    ///
    /// # Errors
    /// The name is taken.
    pub fn add(&self, snapshot: Snapshot) -> Result<Arc<Served>> {
        let name = snapshot.name().to_owned();
        let mut served = self.served.write().unwrap_or_else(PoisonError::into_inner);
        if served.contains_key(&name) {
            return Err(Error::Usage(format!(
                "two indexes are named `{name}`: name one of them, NAME=PATH"
            )));
        }
        let snapshot = snapshot.with_columns(Arc::clone(&self.columns));
        let added = Arc::new(Served::new(snapshot));
        served.insert(name, Arc::clone(&added));
        Ok(added)
    }

    /// Ends to serve an index.
    pub fn remove(&self, name: &str) -> Option<Arc<Served>> {
        let mut served = self.served.write().unwrap_or_else(PoisonError::into_inner);
        served.remove(name)
    }
}

/// The most bytes of a name.
const NAME_BYTES: usize = 128;

/// The name of an index: `name` if it is given, or that of its folder.
///
/// # Errors
/// The name has characters that a URL or a client would not take.
pub fn name_of(name: Option<&str>, path: &Path) -> Result<String> {
    let folder = || {
        // `.` has no name of its own.
        let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let name = path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    };
    let name = name.map_or_else(folder, str::to_owned);
    match is_name(&name) {
        true => Ok(name),
        false => Err(Error::Usage(format!(
            "{}: `{}` is not a name for an index: use letters of ASCII, digits, -, _ and ., at most {NAME_BYTES}, and begin with \
             a letter or a digit; write NAME=PATH",
            path.display(),
            name.escape_debug()
        ))),
    }
}

/// Whether indexes may have a name: a URL and clients take it as it is.
pub fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    name.chars().all(is_plain)
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.len() <= NAME_BYTES
}
