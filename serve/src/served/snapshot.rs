//! An index in one state.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokapi::{Bm25, Error, Index, IndexInfo, Query, Result, StoredDocument};
use tokapi_index::query::values::{self, Column, ValueCounts};

use super::columns::Columns;
use crate::model::IndexState;
use crate::problem::Problem;

/// An index in one state. A request reads one snapshot to its end.
pub struct Snapshot {
    name: Arc<str>,
    index: Arc<Index>,
    epoch: u64,
    identity: u64,
    info: IndexInfo,
    columns: Arc<Columns>,
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
            columns: Arc::default(),
        }
    }

    /// Keeps the values of fields in `columns`, which several indexes share.
    pub fn with_columns(self, columns: Arc<Columns>) -> Self {
        Snapshot { columns, ..self }
    }

    /// The newest state of the index; none if it is this one.
    ///
    /// # Errors
    /// The index is damaged.
    pub fn newest(&self) -> Result<Option<Self>> {
        let index = self.index.open_again()?;
        let is_newer = index.epoch() != self.epoch;
        Ok(is_newer.then(|| {
            let columns = Arc::clone(&self.columns);
            Snapshot::new(&self.name, Arc::new(index)).with_columns(columns)
        }))
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

    /// The values of a field in each part of the index.
    ///
    /// # Errors
    /// The index is damaged.
    pub fn columns(&self, field: &str) -> Result<Vec<Arc<Column>>> {
        self.columns.of(&self.index, field)
    }

    /// Counts the documents that match a query, and the values of fields in them.
    ///
    /// # Errors
    /// The index lacks something that the query needs; it is damaged.
    pub fn count_values(
        &self,
        query: &Query,
        fields: &[String],
    ) -> Result<(u64, Vec<ValueCounts>)> {
        let columns = fields.iter().map(|field| self.columns(field));
        let columns: Vec<_> = columns.collect::<Result<_>>()?;
        values::count(&self.index, query, &columns)
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
