//! Some documents, scored together: term after term, those that cannot make it any more left out.

use super::terms::{Term, Terms};
use super::top::Top;
use super::weigher::Weigher;
use crate::error::Result;
use crate::index::{BLOCK, Cursor, LookUp};

/// Up to a block of documents, ascending, on their way to a score.
pub(crate) struct Batch {
    count: usize,
    documents: [u32; BLOCK],
    lengths: [u32; BLOCK],
    has_lengths: bool,
    /// What has been added up so far, in whatever order.
    sums: [f64; BLOCK],
    /// The places of those that are left.
    alive: Vec<u8>,
    /// The tf of every term in every document, 0 where it has none.
    tfs: Vec<[u32; BLOCK]>,
    weights: Vec<[f32; BLOCK]>,
    /// Which terms are weighed; documents have none of the others.
    weighed: Vec<bool>,
    places: Vec<u8>,
}

impl Batch {
    /// An empty batch for a query of so many terms.
    pub fn new(terms: usize) -> Self {
        Batch {
            count: 0,
            documents: [0; BLOCK],
            lengths: [0; BLOCK],
            has_lengths: false,
            sums: [0.0; BLOCK],
            alive: Vec::with_capacity(BLOCK),
            tfs: vec![[0; BLOCK]; terms],
            weights: vec![[0.0; BLOCK]; terms],
            weighed: vec![false; terms],
            places: Vec::with_capacity(BLOCK),
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

    /// Whether none is left.
    pub fn is_empty(&self) -> bool {
        self.alive.is_empty()
    }

    /// Looks up the lengths of those that are left, unless they are known.
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

    /// Tells the weights of a term in all documents.
    pub fn set_weights(&mut self, number: usize, term: &Term<'_>, weights: &[f32]) {
        self.weights[number][..self.count].copy_from_slice(weights);
        for (sum, &weight) in self.sums.iter_mut().zip(weights) {
            *sum += f64::from(weight) * term.times;
        }
        self.weighed[number] = true;
    }

    /// Finds a term in those that are left; drops those that do not have it where they must.
    pub fn find(&mut self, number: usize, term: &mut Term<'_>) -> Result<()> {
        let mut found = [0; BLOCK];
        let mut into = LookUp {
            documents: &self.documents,
            tfs: &mut self.tfs[number],
            found: &mut found,
            count: 0,
        };
        term.cursor.look_up(&self.alive, &mut into)?;
        if term.must {
            let count = into.count;
            self.alive.clear();
            self.alive.extend_from_slice(&found[..count]);
        }
        Ok(())
    }

    /// Weighs a term in those that are left, where it was found.
    pub fn weigh(&mut self, number: usize, term: &Term<'_>, weigher: &Weigher<'_>) {
        let (tfs, weights) = (&self.tfs[number], &mut self.weights[number]);
        let (mut lengths, mut found, mut of_found) = ([0; BLOCK], [0; BLOCK], [0.0; BLOCK]);
        self.places.clear();
        for &place in &self.alive {
            let at = usize::from(place) % BLOCK;
            let count = self.places.len();
            weights[at] = 0.0;
            (lengths[count], found[count]) = (self.lengths[at], tfs[at]);
            if tfs[at] > 0 {
                self.places.push(place);
            }
        }
        let count = self.places.len();
        let of_found = &mut of_found[..count];
        weigher.weigh(term.idf, &lengths[..count], &found[..count], of_found);
        for (&place, &weight) in self.places.iter().zip(&*of_found) {
            let at = usize::from(place) % BLOCK;
            weights[at] = weight;
            self.sums[at] += f64::from(weight) * term.times;
        }
        self.weighed[number] = true;
    }

    /// Drops those that with `more` cannot make it.
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

    /// Drops those that are not in all of `lists`, whose walks have not come beyond the first.
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

    /// Drops those that have none of the terms, all of which have been sought.
    pub fn keep_found(&mut self) {
        let tfs = &self.tfs;
        self.alive
            .retain(|&place| tfs.iter().any(|tfs| tfs[usize::from(place) % BLOCK] > 0));
    }

    /// Scores those that are left and are in the lists of the filters, in the order of the query's terms.
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
