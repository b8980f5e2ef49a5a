//! The global pass by term: the parts' postings merged and weighed.

use std::ops::Deref;
use std::time::Instant;

use rayon::prelude::*;

use super::documents::Documents;
use super::{Collection, Part, Weigher};
use crate::formula::{Bm25, Statistics};
use crate::lexicon::Lexicon;
use crate::postings::Frequencies;
use tokapi_storage::error::{Error, Result};
use tokapi_storage::progress::Progress;

/// The postings that one thread merges at a time. With cursors and weights they fit into a second-level cache.
const RANGE_POSTINGS: u64 = 1 << 16;

/// The postings of a whole collection, by term, then by document.
///
/// Takes 5 bytes per posting, plus the lexicon and the documents.
#[derive(Debug, Clone, PartialEq)]
pub struct CollectionPostings {
    /// The terms, ascending by bytes, with their df in the whole collection.
    pub lexicon: Lexicon,
    /// Ids and lengths of the documents.
    pub documents: Documents,
    /// N and the total length.
    pub statistics: Statistics,
    /// Postings `offsets[t]..offsets[t + 1]` belong to term `t`.
    pub offsets: Vec<u64>,
    /// The document of every posting.
    pub posting_documents: Vec<u32>,
    /// Its term frequency.
    pub frequencies: Frequencies,
}

impl CollectionPostings {
    /// The number of postings.
    pub fn len(&self) -> usize {
        self.posting_documents.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.posting_documents.is_empty()
    }

    /// The postings of term `term`, as a range.
    pub fn range(&self, term: usize) -> std::ops::Range<usize> {
        self.offsets[term] as usize..self.offsets[term + 1] as usize
    }
}

/// The postings of a collection with their weights.
///
/// Takes 9 bytes per posting, plus the lexicon and the documents.
///
/// [`Collection`](super::Collection) has an example.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Weights {
    /// The postings. Their fields and methods are accessible on the weights too.
    pub postings: CollectionPostings,
    /// The weight of every posting.
    pub weights: Vec<f32>,
}

impl Deref for Weights {
    type Target = CollectionPostings;

    fn deref(&self) -> &CollectionPostings {
        &self.postings
    }
}

/// A posting with its weight.
///
/// [`Collection`](super::Collection) has an example.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Posting<'a> {
    /// The term.
    pub term: &'a [u8],
    /// The id of the document.
    pub document: &'a [u8],
    /// The term frequency.
    pub tf: u32,
    /// The weight.
    pub weight: f32,
}

impl Weights {
    /// Weighs every posting again, by another formula or other parameters, on all cores.
    ///
    /// # Errors
    /// A parameter is out of range; the weights then stay unchanged.
    pub fn reweigh(&mut self, bm25: &Bm25) -> Result<()> {
        self.reweigh_while(bm25, &Progress::new())
    }

    /// Weighs every posting again, unless `progress` is cancelled.
    fn reweigh_while(&mut self, bm25: &Bm25, progress: &Progress) -> Result<()> {
        bm25.check()?;
        let started = Instant::now();
        let Weights { postings, weights } = self;
        let norms = postings.documents.norms(bm25, &postings.statistics);
        let weigher = Weigher {
            bm25,
            norms: &norms,
            df: &postings.lexicon.df,
            statistics: &postings.statistics,
        };
        let mut ranges = Vec::new();
        let mut left = &mut weights[..];
        for (first_term, offsets) in ranges_of(&postings.offsets) {
            let length = (offsets[offsets.len() - 1] - offsets[0]) as usize;
            let (weights, rest) = std::mem::take(&mut left).split_at_mut(length);
            left = rest;
            ranges.push((first_term, offsets, weights));
        }
        let (documents, frequencies) = (&postings.posting_documents, &postings.frequencies);
        ranges
            .into_par_iter()
            .try_for_each(|(first_term, offsets, weights)| {
                progress.check()?;
                let whole = offsets[0] as usize..offsets[offsets.len() - 1] as usize;
                let tfs = frequencies.expand(whole.clone());
                let documents = &documents[whole];
                for (term, bounds) in (first_term..).zip(offsets.windows(2)) {
                    let range =
                        (bounds[0] - offsets[0]) as usize..(bounds[1] - offsets[0]) as usize;
                    let (documents, tfs) = (&documents[range.clone()], &tfs[range.clone()]);
                    let weights = &mut weights[range];
                    bm25.weigh(weigher.idf(term), documents, tfs, weigher.norms, weights);
                }
                Ok::<(), Error>(())
            })?;
        log::info!(
            "weights by {bm25}: {:.3} s",
            started.elapsed().as_secs_f64()
        );
        Ok(())
    }

    /// Every posting, by term, then by document.
    pub fn iter(&self) -> impl Iterator<Item = Posting<'_>> + '_ {
        (0..self.lexicon.terms.len()).flat_map(move |term| {
            self.range(term).map(move |posting| Posting {
                term: self.lexicon.terms.get(term),
                document: self
                    .documents
                    .ids
                    .get(self.posting_documents[posting] as usize),
                tf: self.frequencies.get(posting),
                weight: self.weights[posting],
            })
        })
    }
}

/// The merged postings of the terms from `first_term` on, as slices of all postings.
struct Range<'a> {
    first_term: usize,
    /// One more entry than there are terms.
    offsets: &'a [u64],
    documents: &'a mut [u32],
    tfs: &'a mut [u8],
}

impl Collection {
    /// Merges the parts and weighs every posting.
    ///
    /// Peak memory: 10 bytes per posting plus the parts' terms during the merge, 9 bytes after.
    ///
    /// # Errors
    /// Parameters out of range; [`Error::Cancelled`].
    pub fn weigh(self, bm25: &Bm25) -> Result<Weights> {
        bm25.check()?;
        let (pool, progress) = (self.pool(), self.progress.clone());
        let postings = self.merge()?;
        let mut weights = Weights {
            weights: vec![0.0; postings.len()],
            postings,
        };
        pool.install(|| weights.reweigh_while(bm25, &progress))?;
        Ok(weights)
    }

    /// Merges the parts.
    ///
    /// # Errors
    /// [`Error::Cancelled`].
    pub fn merge(self) -> Result<CollectionPostings> {
        let started = Instant::now();
        let offsets = self.offsets()?;
        let count = offsets[offsets.len() - 1] as usize;
        let (mut documents, mut small) = (vec![0; count], vec![0; count]);
        let mut ranges = Vec::new();
        let (mut documents_left, mut small_left) = (&mut documents[..], &mut small[..]);
        for (first_term, offsets) in ranges_of(&offsets) {
            let length = (offsets[offsets.len() - 1] - offsets[0]) as usize;
            let (documents, rest) = std::mem::take(&mut documents_left).split_at_mut(length);
            documents_left = rest;
            let (tfs, rest) = std::mem::take(&mut small_left).split_at_mut(length);
            small_left = rest;
            ranges.push(Range {
                first_term,
                offsets,
                documents,
                tfs,
            });
        }
        let large: Result<Vec<Vec<(u64, u32)>>> = self.pool.install(|| {
            let merged = ranges.into_par_iter().map(|range| {
                self.progress.check()?;
                Ok(range.merge(&self.parts))
            });
            merged.collect()
        });
        let frequencies = Frequencies::from_raw(small, large?.concat());
        log::info!(
            "merge: {count} postings in {:.3} s",
            started.elapsed().as_secs_f64()
        );
        Ok(CollectionPostings {
            lexicon: self.lexicon,
            documents: self.documents,
            statistics: self.statistics,
            offsets,
            posting_documents: documents,
            frequencies,
        })
    }

    /// The first merged posting of every term; one entry more than there are terms.
    fn offsets(&self) -> Result<Vec<u64>> {
        let mut offsets = vec![0; self.lexicon.terms.len() + 1];
        for part in &self.parts {
            self.progress.check()?;
            for (term, &id) in part.term_ids.iter().enumerate() {
                offsets[id as usize + 1] += part.postings.range(term).len() as u64;
            }
        }
        for term in 1..offsets.len() {
            offsets[term] += offsets[term - 1];
        }
        Ok(offsets)
    }
}

/// Cuts the terms into ranges of about [`RANGE_POSTINGS`] postings. Returns the first term of each range and its
/// offsets, one more than it has terms.
fn ranges_of(offsets: &[u64]) -> impl Iterator<Item = (usize, &[u64])> {
    let terms = offsets.len() - 1;
    let mut first = 0;
    std::iter::from_fn(move || {
        if first == terms {
            return None;
        }
        let full = offsets[first] + RANGE_POSTINGS;
        let end = (first + offsets[first..].partition_point(|&offset| offset < full))
            .clamp(first + 1, terms);
        let range = (first, &offsets[first..=end]);
        first = end;
        Some(range)
    })
}

impl Range<'_> {
    /// Copies the range's postings from all parts. The parts are in the order of their documents. Returns the large
    /// frequencies with their positions among all postings.
    fn merge(self, parts: &[Part]) -> Vec<(u64, u32)> {
        let start = self.offsets[0];
        let terms = self.offsets.len() - 1;
        let mut cursors: Vec<usize> = self.offsets[..terms]
            .iter()
            .map(|offset| (offset - start) as usize)
            .collect();
        let mut large = Vec::new();
        let end_term = self.first_term + terms;
        for part in parts {
            let postings = &part.postings;
            let first = part
                .term_ids
                .partition_point(|&id| (id as usize) < self.first_term);
            let count = part.term_ids[first..].partition_point(|&id| (id as usize) < end_term);
            let ids = &part.term_ids[first..first + count];
            let from = postings.offsets[first] as usize;
            let all = from..postings.offsets[first + count] as usize;
            let (tfs, large_tfs) = postings.frequencies.raw(all.clone());
            let documents = &postings.documents[all];
            let bounds = &postings.offsets[first..=first + count];
            for &(at, tf) in large_tfs {
                // The term of the posting at `at`, and the destination of its postings.
                let term = bounds.partition_point(|&bound| bound <= at) - 1;
                let to = cursors[ids[term] as usize - self.first_term] as u64;
                large.push((start + to + (at - bounds[term]), tf));
            }
            for (&id, bounds) in ids.iter().zip(bounds.windows(2)) {
                let of_term = bounds[0] as usize - from..bounds[1] as usize - from;
                let cursor = &mut cursors[id as usize - self.first_term];
                let to = *cursor..*cursor + of_term.len();
                *cursor = to.end;
                let into = self.documents[to.clone()].iter_mut();
                for (into, document) in into.zip(&documents[of_term.clone()]) {
                    *into = part.first + document;
                }
                self.tfs[to].copy_from_slice(&tfs[of_term]);
            }
        }
        large.sort_unstable();
        large
    }
}
