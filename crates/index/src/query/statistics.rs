//! The statistics that the scores of a query depend on.

use hashbrown::HashMap;

use super::Query;
use crate::Index;
use tokapi_storage::error::{Error, Result};
use tokapi_weigh::formula::Statistics;

/// N, the total length, and the df of each term of a query.
///
/// Those of several indexes add up to those of one index with all their documents. With the sum, each of them gives
/// the scores of that one index, to the bit.
///
/// ```
/// # use tokapi_index::query::QueryStatistics;
/// let mut sum = QueryStatistics::default();
/// let shard = QueryStatistics::default().documents(10, 120).df("flow", 3);
/// sum.add(&shard);
/// sum.add(&shard);
/// assert_eq!(sum, QueryStatistics::default().documents(20, 240).df("flow", 6));
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct QueryStatistics {
    /// N and the total length.
    pub collection: Statistics,
    /// The number of documents that have a term.
    pub dfs: HashMap<String, u64>,
}

impl QueryStatistics {
    /// Sets N and the total length.
    pub fn documents(mut self, documents: u64, total_length: u64) -> Self {
        self.collection = Statistics {
            documents,
            total_length,
        };
        self
    }

    /// Sets the df of a term.
    pub fn df(mut self, term: impl Into<String>, df: u64) -> Self {
        self.dfs.insert(term.into(), df);
        self
    }

    /// Adds the statistics of other documents.
    pub fn add(&mut self, other: &QueryStatistics) {
        self.collection.documents += other.collection.documents;
        self.collection.total_length += other.collection.total_length;
        for (term, df) in &other.dfs {
            *self.dfs.entry_ref(&**term).or_default() += df;
        }
    }

    /// The df of a term, which `local` documents of an index have.
    #[doc(hidden)]
    pub fn df_of(&self, term: &str, local: u64) -> Result<u64> {
        match self.dfs.get(term) {
            Some(&df) if df >= local => Ok(df),
            None if local == 0 => Ok(0),
            given => Err(Error::Usage(format!(
                "the given statistics have {} documents with the term {term:?}, but this index alone has {local}: \
                 collect all statistics at one state of the collection",
                given.copied().unwrap_or_default()
            ))),
        }
    }

    /// Fails if the larger collection has fewer documents than an index of it.
    #[doc(hidden)]
    pub fn check(&self, local: &Statistics) -> Result<()> {
        match self.collection.documents < local.documents
            || self.collection.total_length < local.total_length
        {
            false => Ok(()),
            true => Err(Error::Usage(format!(
                "the given statistics have {} documents and {} terms, but this index alone has {} and {}: \
                 collect all statistics at one state of the collection",
                self.collection.documents,
                self.collection.total_length,
                local.documents,
                local.total_length
            ))),
        }
    }
}

impl Index {
    /// The statistics of this index that the scores of `query` depend on.
    ///
    /// # Errors
    /// The index is damaged.
    pub fn query_statistics(&self, query: &Query) -> Result<QueryStatistics> {
        let mut statistics = QueryStatistics {
            collection: self.statistics(),
            dfs: HashMap::default(),
        };
        for clause in &query.clauses {
            if !statistics.dfs.contains_key(&clause.term) {
                let df = self.df(&clause.term)?;
                statistics.dfs.insert(clause.term.clone(), df);
            }
        }
        Ok(statistics)
    }
}
