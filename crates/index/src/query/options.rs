//! The options of a search.

use std::sync::Arc;

use super::rank::Rank;
use super::statistics::QueryStatistics;
use tokapi_weigh::formula::Bm25;

/// The algorithm that finds the best documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Algorithm {
    /// The fastest algorithm for the query.
    #[default]
    Auto,
    /// Scores every document: the definition of the result.
    Exhaustive,
}

/// The options of [`Index::search`](crate::Index::search).
///
/// ```
/// # use tokapi_index::query::SearchOptions;
/// let options = SearchOptions::default().k(100);
/// assert_eq!(options.k, 100);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SearchOptions {
    /// Number of documents to find.
    pub k: usize,
    /// The formula and its parameters. An index of impacts accepts only the formula that it was
    /// built with, and the default.
    pub bm25: Bm25,
    /// The algorithm.
    #[doc(hidden)]
    pub algorithm: Algorithm,
    /// Finds only documents that rank behind this place: the last hit of the page before.
    pub after: Option<Rank>,
    /// The statistics of a larger collection, if the index is a part of it. Scores are those of the
    /// larger collection.
    pub statistics: Option<Arc<QueryStatistics>>,
}

impl Default for SearchOptions {
    fn default() -> Self {
        SearchOptions {
            k: 10,
            bm25: Bm25::default(),
            algorithm: Algorithm::Auto,
            after: None,
            statistics: None,
        }
    }
}

impl SearchOptions {
    tokapi_storage::setters! {
        k: usize, bm25: Bm25, #[doc(hidden)] algorithm: Algorithm, after: Option<Rank>,
        statistics: Option<Arc<QueryStatistics>>,
    }
}
