//! Scores a batch of documents term by term, and drops documents that cannot reach the threshold.

use super::terms::{Term, Terms};
use super::top::Top;
use crate::part::block::BLOCK;
use crate::part::cursor::Cursor;
use crate::part::{LookUp, Posting};
use crate::weighing::Weigher;
use tokapi_storage::error::Result;

/// Up to a block of documents, ascending, to be scored.
pub(crate) struct Batch {
    count: usize,
    documents: [u32; BLOCK],
    lengths: [u32; BLOCK],
    has_lengths: bool,
    /// The partial sums of weights, added in any order.
    sums: [f64; BLOCK],
    /// The places of the remaining documents.
    alive: Vec<u8>,
    /// The posting of every term in every document that has it.
    postings: Vec<[Posting; BLOCK]>,
    weights: Vec<[f32; BLOCK]>,
    /// Which terms are weighed; documents have none of the others.
    weighed: Vec<bool>,
    /// The places of the documents that have the last term found.
    found: [u8; BLOCK],
    found_count: usize,
    /// A bit for every document in which a term was found.
    matched: u128,
}

impl Batch {
    /// An empty batch for a query of `terms` terms.
    pub fn new(terms: usize) -> Self {
        Batch {
            count: 0,
            documents: [0; BLOCK],
            lengths: [0; BLOCK],
            has_lengths: false,
            sums: [0.0; BLOCK],
            alive: Vec::with_capacity(BLOCK),
            postings: vec![[Posting::default(); BLOCK]; terms],
            weights: vec![[0.0; BLOCK]; terms],
            weighed: vec![false; terms],
            found: [0; BLOCK],
            found_count: 0,
            matched: 0,
        }
    }

    /// Begins with `documents`, at most a block of them.
    pub fn begin(&mut self, documents: &[u32]) {
        self.count = documents.len();
        self.documents[..self.count].copy_from_slice(documents);
        self.sums[..self.count].fill(0.0);
        self.alive.clear();
        // At most 128.
        self.alive.extend((0..self.count).map(|place| place as u8));
        self.weighed.fill(false);
        self.has_lengths = false;
        self.matched = 0;
    }

    /// Begins with all `documents` of block `block` of a term's list.
    pub fn begin_at(&mut self, number: usize, block: usize, documents: &[u32]) {
        self.begin(documents);
        for (at, posting) in self.postings[number][..self.count].iter_mut().enumerate() {
            // Blocks are fewer than documents, and have at most 128.
            let (block, at) = (block as u32, at as u8);
            *posting = Posting { block, at };
        }
    }

    /// Begins with postings of a term, at most a block of them, and weighs them.
    pub fn begin_with(
        &mut self,
        number: usize,
        term: (f64, f64),
        (documents, tfs): (&[u32], &[u32]),
        weigher: &Weigher<'_>,
    ) -> Result<()> {
        self.begin(documents);
        let (idf, times) = term;
        let count = self.count;
        weigher.lengths(documents, &mut self.lengths)?;
        let weights = &mut self.weights[number][..count];
        weigher.weigh(idf, &self.lengths[..count], tfs, weights);
        for (sum, &weight) in self.sums.iter_mut().zip(&*weights) {
            *sum = f64::from(weight) * times;
        }
        self.weighed[number] = true;
        self.has_lengths = true;
        Ok(())
    }

    /// Whether no documents remain.
    pub fn is_empty(&self) -> bool {
        self.alive.is_empty()
    }

    /// Looks up the lengths of the remaining documents, unless they are known.
    pub fn look_up_lengths(&mut self, weigher: &Weigher<'_>) -> Result<()> {
        if std::mem::replace(&mut self.has_lengths, true) {
            return Ok(());
        }
        for &place in &self.alive {
            let place = usize::from(place);
            self.lengths[place] = weigher.length(self.documents[place])?;
        }
        Ok(())
    }

    /// Sets the weights of a term in all documents.
    pub fn set_weights(&mut self, number: usize, term: &Term<'_>, weights: &[f32]) {
        self.weights[number][..self.count].copy_from_slice(weights);
        for (sum, &weight) in self.sums.iter_mut().zip(weights) {
            *sum += f64::from(weight) * term.times;
        }
        self.weighed[number] = true;
    }

    /// Finds a term in the remaining documents. If the term is required, drops the documents
    /// without it.
    pub fn find(&mut self, number: usize, term: &mut Term<'_>) -> Result<()> {
        let mut into = LookUp {
            documents: &self.documents,
            postings: &mut self.postings[number],
            found: &mut self.found,
            count: 0,
        };
        term.cursor.look_up(&self.alive, &mut into)?;
        self.found_count = into.count;
        let found = &self.found[..self.found_count];
        if term.must {
            self.alive.clear();
            self.alive.extend_from_slice(found);
        } else {
            found.iter().for_each(|&place| self.matched |= 1 << place);
        }
        Ok(())
    }

    /// Weighs a term in the remaining documents. The term is required, or was found last.
    pub fn weigh(
        &mut self,
        number: usize,
        term: &mut Term<'_>,
        weigher: &Weigher<'_>,
    ) -> Result<()> {
        let weights = &mut self.weights[number];
        let found = match term.must {
            true => &self.alive[..],
            false => {
                for &place in &self.alive {
                    weights[usize::from(place) % BLOCK] = 0.0;
                }
                &self.found[..self.found_count]
            }
        };
        let (mut lengths, mut tfs, mut of_found) = ([0; BLOCK], [0; BLOCK], [0.0; BLOCK]);
        term.cursor.tfs(found, &self.postings[number], &mut tfs)?;
        for (length, &place) in lengths.iter_mut().zip(found) {
            *length = self.lengths[usize::from(place) % BLOCK];
        }
        let count = found.len();
        let of_found = &mut of_found[..count];
        weigher.weigh(term.idf, &lengths[..count], &tfs[..count], of_found);
        for (&place, &weight) in found.iter().zip(&*of_found) {
            let at = usize::from(place) % BLOCK;
            weights[at] = weight;
            self.sums[at] += f64::from(weight) * term.times;
        }
        self.weighed[number] = true;
        Ok(())
    }

    /// Drops the documents whose sums cannot reach the threshold with `more`.
    pub fn keep_above(&mut self, least: f64, more: f64) {
        let mut kept = 0;
        for at in 0..self.alive.len() {
            let place = self.alive[at];
            self.alive[kept] = place;
            let sum = self.sums[usize::from(place) % BLOCK];
            kept += usize::from(sum + more >= least);
        }
        self.alive.truncate(kept);
    }

    /// Drops the documents that are not in all of `lists`. The cursors of `lists` are not beyond
    /// the first document.
    pub fn keep_within(&mut self, lists: &mut [Cursor<'_>]) -> Result<()> {
        if lists.is_empty() || self.alive.is_empty() {
            return Ok(());
        }
        let documents = &self.documents;
        let of = |place: u8| documents[usize::from(place) % BLOCK];
        let mut within: Vec<u32> = self.alive.iter().map(|&place| of(place)).collect();
        for cursor in lists {
            cursor.intersect(&mut within)?;
        }
        let mut within = within.into_iter().peekable();
        self.alive
            .retain(|&place| within.next_if_eq(&of(place)).is_some());
        Ok(())
    }

    /// Drops the documents in which no term was found.
    pub fn keep_found(&mut self) {
        let matched = self.matched;
        self.alive.retain(|&place| matched >> place & 1 == 1);
    }

    /// Scores the remaining documents that pass the filters, adding weights in the order of the
    /// query's terms.
    pub fn finish(&mut self, terms: &mut Terms<'_>, top: &mut Top) -> Result<()> {
        for &place in &self.alive {
            let at = usize::from(place);
            let mut score = 0.0;
            let parts = terms.scored.iter().zip(&self.weights).zip(&self.weighed);
            for ((term, weights), _) in parts.filter(|(_, weighed)| **weighed) {
                score += f64::from(weights[at]) * term.times;
            }
            let (document, score) = (self.documents[at], score as f32);
            if score >= top.threshold()
                && top.takes(document, score)
                && !terms.filters.excludes(document)?
            {
                top.push(document, score);
            }
        }
        Ok(())
    }
}
