//! An index in one state.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tokapi::{Bm25, Error, Index, IndexInfo, Result, StoredDocument};

use super::columns::Column;
use crate::model::IndexState;
use crate::problem::Problem;

/// An index in one state. A request reads one snapshot to its end.
pub struct Snapshot {
    name: Arc<str>,
    index: Arc<Index>,
    epoch: u64,
    identity: u64,
    info: IndexInfo,
    /// The values of fields that were counted in this state, by field.
    columns: Mutex<HashMap<String, Arc<OnceLock<Arc<Column>>>>>,
}

impl Snapshot {
    /// Opens the index in the folder `path`.
    ///
    /// # Errors
    /// There is no index; it is damaged.
    pub fn open(name: &str, path: &Path) -> Result<Self> {
        Ok(Snapshot::new(name, Arc::new(Index::open(path)?)))
    }

    /// An index that is open.
    pub fn new(name: &str, index: Arc<Index>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Snapshot {
            name: name.into(),
            epoch: index.epoch(),
            identity: NEXT.fetch_add(1, Ordering::Relaxed),
            info: index.info(),
            index,
            columns: Mutex::default(),
        }
    }

    /// The name under which the index is served.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The index.
    pub fn index(&self) -> &Arc<Index> {
        &self.index
    }

    /// The number of the state.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The state, as answers name it.
    pub fn state(&self) -> IndexState {
        IndexState {
            index: self.name().to_owned(),
            epoch: self.epoch,
            complete: true,
        }
    }

    /// A number that no other snapshot of this process has: the name of the state in caches.
    pub fn identity(&self) -> u64 {
        self.identity
    }

    /// The size of the index when it was opened.
    pub fn info(&self) -> &IndexInfo {
        &self.info
    }

    /// The number of the document with an id.
    ///
    /// # Errors
    /// The index is damaged.
    pub fn find(&self, id: &str) -> Result<Option<u64>> {
        self.index.find(id)
    }

    /// The values of a field in all documents, read once.
    ///
    /// # Errors
    /// The index does not keep the field; it is damaged.
    pub fn column(&self, field: &str) -> Result<Arc<Column>> {
        let cell = {
            let mut columns = self.columns.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(columns.entry(field.to_owned()).or_default())
        };
        if let Some(column) = cell.get() {
            return Ok(Arc::clone(column));
        }
        // Two threads may read it at the same time; one column is kept.
        let column = Arc::new(Column::read(&self.index, field)?);
        Ok(Arc::clone(cell.get_or_init(|| column)))
    }

    /// Checks that the index can weigh by a formula. Gives the formula that it weighs by.
    ///
    /// # Errors
    /// The index has impacts, computed by another formula.
    pub fn check_formula<'a>(&'a self, asked: &'a Bm25) -> Result<&'a Bm25, Problem> {
        let Some(impacts) = self.index.impacts() else {
            return Ok(asked);
        };
        match *asked == impacts.bm25 || *asked == Bm25::default() {
            true => Ok(&impacts.bm25),
            false => Err(Problem::invalid(format!(
                "the weights of the index `{}` were computed by {} when it was built: leave out formula, k1, b, delta \
                 and avdl",
                self.name, impacts.bm25
            ))),
        }
    }

    /// Checks that the index keeps a field.
    ///
    /// # Errors
    /// It does not.
    pub fn check_field(&self, field: &str) -> Result<()> {
        let fields = &self.index.keep().fields;
        match fields.iter().any(|known| known == field) {
            true => Ok(()),
            false => Err(Error::NotKept(tokapi::Kept::Field {
                name: field.to_owned(),
                known: fields.clone(),
            })),
        }
    }

    /// Checks that the values of a field can be counted.
    ///
    /// # Errors
    /// The index does not keep the field, or for display only.
    pub fn check_values(&self, field: &str) -> Result<()> {
        if field == StoredDocument::SOURCE_FIELD {
            return Err(Error::Usage(format!(
                "`{field}` is kept for display only; count the values of another field"
            )));
        }
        self.check_field(field)
    }
}
