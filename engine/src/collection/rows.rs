//! The global pass by document: the terms of every document with their weights.

use super::{Collection, Weigher};
use crate::error::Result;
use crate::weigh::Bm25;
use crate::weigh::by_document;

/// The weighed terms of consecutive documents, as rows of a sparse matrix.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rows {
    /// The number of the first document.
    pub first: usize,
    /// Entries `starts[d]..starts[d + 1]` are those of document `first + d`.
    pub starts: Vec<usize>,
    /// The term of every entry, ascending within a document.
    pub terms: Vec<u32>,
    /// Its term frequency.
    pub frequencies: Vec<u32>,
    /// Its weight.
    pub weights: Vec<f32>,
}

impl Rows {
    /// The number of documents.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Collection {
    /// The number of parts, each of which [`Collection::rows`] gives.
    pub fn part_count(&self) -> usize {
        self.parts.len()
    }

    /// A function from a part's number to its documents' rows under `bm25`, in input order.
    ///
    /// # Errors
    /// Parameters out of range.
    pub fn rows(&self, bm25: &Bm25) -> Result<impl Fn(usize) -> Rows + Sync> {
        bm25.check()?;
        let norms = self.norms(bm25);
        let bm25 = *bm25;
        Ok(move |number: usize| {
            let part = &self.parts[number];
            let (df, statistics) = (&self.lexicon.df[..], &self.statistics);
            let weights = Weigher {
                bm25: &bm25,
                norms: &norms,
                df,
                statistics,
            }
            .part(part);
            let (starts, order) = by_document(&part.postings, part.documents);
            let tfs = part.postings.frequencies.expand(0..part.postings.len());
            let mut term_of = Vec::with_capacity(part.postings.len());
            for (term, &id) in part.term_ids.iter().enumerate() {
                term_of.resize(term_of.len() + part.postings.range(term).len(), id);
            }
            Rows {
                first: part.first as usize,
                starts,
                terms: order.iter().map(|&posting| term_of[posting]).collect(),
                frequencies: order.iter().map(|&posting| tfs[posting]).collect(),
                weights: order.iter().map(|&posting| weights[posting]).collect(),
            }
        })
    }
}
