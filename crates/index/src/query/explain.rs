//! Explains a score, term by term.

use super::terms::WeighedQuery;
use super::{Query, SearchOptions};
use crate::Index;
use crate::part::cursor::Cursor;
use crate::weighing::{Weigher, Weighing};
use tokapi_storage::error::Result;

/// The score of a document, term by term.
///
/// [`Index`] has an example.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Explained {
    /// Its length.
    pub length: u32,
    /// Its score.
    pub score: f32,
    /// The query's terms that the document has, in the order of the query.
    pub terms: Vec<ExplainedTerm>,
}

/// The share of a term in a score.
///
/// [`Index`] has an example.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ExplainedTerm {
    /// The term.
    pub term: String,
    /// Number of times the term occurs in the query.
    pub times: f64,
    /// Number of times the term occurs in the document (tf); in an index of impacts, its impact
    /// there.
    pub tf: u32,
    /// Number of documents that have the term (df).
    pub df: u64,
    /// Its idf; in an index of impacts the weight of an impact of 1.
    pub idf: f64,
    /// Its weight in the document.
    pub weight: f32,
}

impl Index {
    /// Explains the score of `document` for a query.
    ///
    /// # Errors
    /// Parameters are out of range; the formula differs from that of an index of impacts; the
    /// document does not exist; the index is damaged.
    pub fn explain(
        &self,
        query: &Query,
        options: &SearchOptions,
        document: u64,
    ) -> Result<Explained> {
        let weighing = Weighing::of(self, &options.bm25)?;
        let weighed = WeighedQuery::new(self, query, weighing, options.statistics.as_deref())?;
        let (number, document) = self.locate(document)?;
        let part = &self.parts()[number];
        let weigher = Weigher::new(part, &weighed.weighing, &weighed.statistics);
        let (mut score, mut explained) = (0.0, Vec::new());
        for term in weighed.terms {
            let Some(found) = &term.found[number] else {
                continue;
            };
            let mut cursor = Cursor::new(found)?;
            if term.not || cursor.seek(document)? != Some(document) {
                continue;
            }
            let tf = cursor.tf()?;
            let weight = weigher.weight(term.idf, document, tf)?;
            score += f64::from(weight) * term.times;
            explained.push(ExplainedTerm {
                term: term.term.to_owned(),
                times: term.times,
                tf,
                df: term.df,
                idf: term.idf,
                weight,
            });
        }
        Ok(Explained {
            length: part.length(document)?,
            score: score as f32,
            terms: explained,
        })
    }
}
