//! Queries over an index: they count the matching documents, or find the best of them exactly.
//!
//! The score of a document is the sum of the weights of the query's distinct terms. Each weight is
//! multiplied by the number of times that the query has the term. Weights are added in the order
//! in which terms first occur, in double precision, and the sum is rounded once to f32. Documents
//! are ordered by descending score; of equal scores, the document added first comes first. A query of filters
//! alone finds all documents that pass them, with the score 0. Every algorithm returns the same
//! documents and the same bits of scores as [`Algorithm::Exhaustive`], which scores every
//! document.

mod and;
mod any;
mod batch;
mod bounds;
mod clause;
mod column;
mod exhaustive;
mod explain;
mod filter;
mod filtered;
mod histogram;
mod lead;
mod matches;
mod options;
mod parse;
mod rank;
mod simd;
mod single;
mod snippet;
mod statistics;
mod terms;
mod top;
pub mod values;
mod windows;

pub use clause::{Clause, Filter, Occur, Phrase, Query};
pub use explain::{Explained, ExplainedTerm};
pub use options::{Algorithm, SearchOptions};
pub use rank::Rank;
pub use snippet::{Highlighter, Snippet};
pub use statistics::QueryStatistics;

use std::borrow::Cow;

use crate::Index;
use crate::weighing::Weighing;
use matches::{Collect, Count, Matches};
use terms::{Terms, WeighedQuery};
use tokapi_storage::error::Result;
use top::{Ranked, Top};

/// A document found by a search.
///
/// [`Index`] has an example.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// Its number in the index.
    pub document: u64,
    /// Its score.
    pub score: f32,
    /// Its sequence number: documents are numbered in the order of addition.
    pub sequence: u64,
}

impl Hit {
    /// Its place in the ranking.
    #[inline]
    pub fn rank(&self) -> Rank {
        Rank {
            score: self.score,
            sequence: self.sequence,
        }
    }
}

impl Index {
    /// Finds the best documents for a query, the best first.
    ///
    /// # Errors
    /// Parameters are out of range; the formula differs from that of an index of impacts; a filter
    /// names a field that the index does not keep; the given statistics have fewer documents than the index;
    /// the index is damaged.
    pub fn search(&self, query: &Query, options: &SearchOptions) -> Result<Vec<Hit>> {
        let weighing = Weighing::of(self, &options.bm25)?;
        filter::check(self, query)?;
        let weighed = WeighedQuery::new(self, query, weighing, options.statistics.as_deref())?;
        if self.statistics().documents == 0 {
            return Ok(Vec::new());
        }
        let mut top = Top::new(options.k, options.after);
        let mut first = 0;
        for (number, part) in self.parts().iter().enumerate() {
            let mut terms = Terms::new(self, number, query, &weighed)?;
            let magnitudes = terms.scored.iter().map(|term| term.magnitude);
            top.begin_part(part, first, magnitudes.sum())?;
            match options.algorithm {
                Algorithm::Exhaustive => exhaustive::search(&mut terms, &mut top)?,
                Algorithm::Auto if terms.filters_alone => filtered::all(&mut terms, &mut top)?,
                Algorithm::Auto if filtered::pays(&terms) => {
                    filtered::search(&mut terms, &mut top)?
                }
                Algorithm::Auto if terms.scored.len() == 1 => single::search(&mut terms, &mut top)?,
                Algorithm::Auto if terms.must() > 1 => and::search(&mut terms, &mut top)?,
                Algorithm::Auto => lead::search(&mut terms, &mut top)?,
            }
            first += part.note.documents;
        }
        let hit = |Ranked { document, score }| {
            Ok(Hit {
                document,
                score,
                sequence: self.sequence(document)?,
            })
        };
        top.into_hits().into_iter().map(hit).collect()
    }

    /// Checks that the index keeps all that a query needs, as every search does first.
    ///
    /// # Errors
    /// A filter names a field that the index does not keep, or has too long a value; the query has a phrase, and the
    /// index keeps no positions.
    pub fn check_query(&self, query: &Query) -> Result<()> {
        filter::check(self, query)
    }

    /// Counts the documents that match a query.
    ///
    /// # Errors
    /// A filter names a field that the index does not keep; the index is damaged.
    pub fn count(&self, query: &Query) -> Result<u64> {
        let mut count = Count::default();
        self.visit(query, &mut count, |_, _| {})?;
        Ok(count.0)
    }

    /// The numbers of all documents that match a query, ascending.
    ///
    /// # Errors
    /// As [`Index::count`].
    pub fn documents(&self, query: &Query) -> Result<Vec<u64>> {
        let mut collect = Collect::default();
        self.visit(query, &mut collect, |collect, first| collect.first = first)?;
        Ok(collect.documents)
    }

    /// Passes the documents that match a query to `matches`, part by part. `begin` receives the
    /// number of the first document of each part.
    fn visit<M: Matches>(
        &self,
        query: &Query,
        matches: &mut M,
        begin: impl Fn(&mut M, u64),
    ) -> Result<()> {
        filter::check(self, query)?;
        let mut query = Cow::Borrowed(query);
        if query
            .clauses
            .iter()
            .any(|clause| clause.occur == Occur::Must)
        {
            // The optional terms do not change the set of matches.
            let decides = |clause: &Clause| clause.occur != Occur::Should;
            query.to_mut().clauses.retain(decides);
        }
        let weighed = WeighedQuery::unweighed(self, &query)?;
        let mut first = 0;
        for (number, part) in self.parts().iter().enumerate() {
            begin(matches, first);
            let mut terms = Terms::new(self, number, &query, &weighed)?;
            match terms.must() {
                _ if filtered::pays_to_count(&terms) => filtered::visit(&mut terms, matches)?,
                0 => any::visit(&mut terms, matches)?,
                _ => and::visit(&mut terms, matches)?,
            }
            first += part.note.documents;
        }
        Ok(())
    }

    /// The id of a document.
    ///
    /// # Errors
    /// The document does not exist; the index is damaged.
    pub fn id(&self, document: u64) -> Result<Cow<'_, str>> {
        let (part, document) = self.locate(document)?;
        Ok(String::from_utf8_lossy(self.parts()[part].id(document)?))
    }
}
