//! The best documents with any of some terms: MaxScore in windows, with the bounds of blocks.
//!
//! Documents are taken in windows. In each, the terms whose bounds add up to less than the score to
//! beat cannot bring a document into the result by themselves (Turtle and Flood, IP&M 1995): only
//! the lists of the others, the essential ones, are gone through, and the rest are looked up for the
//! documents that can still make it. Bounds are those of the blocks that a window touches (Ding and
//! Suel, SIGIR 2011), or of the postings themselves where a list has few. The windows that promise
//! most come first, so that the score to beat is high when the others are gone through, in order.

use std::ops::Range;

use super::batch::Batch;
use super::terms::{Term, Terms};
use super::top::{Top, at_most};
use super::weigher::Weigher;
use crate::error::Result;
use crate::index::BLOCK;

/// Documents in a window.
const WINDOW: usize = 512;

pub(crate) fn search(terms: &mut Terms<'_>, top: &mut Top) -> Result<()> {
    if terms.scored.is_empty() {
        return Ok(());
    }
    let count = (terms.weigher.part().documents() as usize).div_ceil(WINDOW);
    let windows = Windows::new(terms, count)?;
    let mut search = Search::new(terms.scored.len());
    let first = windows.most_promising(top.k().div_ceil(WINDOW / 16) + 3);
    for &number in &first {
        search.window(&windows, number, terms, top)?;
    }
    for cursor in &mut terms.not {
        cursor.go_to_block(0);
    }
    let mut done = first.into_iter().peekable();
    for number in 0..count {
        if done.next_if_eq(&number).is_none() {
            search.window(&windows, number, terms, top)?;
        }
    }
    Ok(())
}

/// What bounds the scores in every window.
struct Windows {
    /// The bound of every term in every window.
    terms: Vec<TermWindows>,
    /// Their sums.
    sums: Vec<f32>,
}

/// A term in the windows.
struct TermWindows {
    bounds: Vec<f32>,
    /// The first block that reaches into every window.
    blocks: Vec<u32>,
}

impl Windows {
    fn new(terms: &mut Terms<'_>, count: usize) -> Result<Self> {
        let mut sums = vec![0.0f32; count];
        let mut all = Vec::with_capacity(terms.scored.len());
        for term in &mut terms.scored {
            let windows = TermWindows::new(&terms.weigher, term, count)?;
            for (sum, bound) in sums.iter_mut().zip(&windows.bounds) {
                *sum += bound;
            }
            all.push(windows);
        }
        Ok(Windows { terms: all, sums })
    }

    /// What no score in a window is above; less than any where it has no posting.
    fn bound(&self, number: usize) -> f64 {
        // Every addition may have been off by half a unit in the last of 24 places.
        let rough = 1.0 + 1.2e-7 * self.terms.len() as f64;
        match self.sums[number] {
            0.0 => f64::NEG_INFINITY,
            sum => f64::from(sum) * rough,
        }
    }

    /// The numbers of the `count` windows with the highest bounds.
    fn most_promising(&self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.sums.len()).collect();
        if count < order.len() {
            let sums = &self.sums;
            order.select_nth_unstable_by(count, |&a, &b| sums[b].total_cmp(&sums[a]));
            order.truncate(count);
        }
        order.sort_unstable();
        order
    }
}

impl TermWindows {
    fn new(weigher: &Weigher<'_>, term: &mut Term<'_>, count: usize) -> Result<Self> {
        let mut windows = TermWindows {
            bounds: vec![0.0; count],
            blocks: vec![0; count],
        };
        let block_count = term.cursor.block_count();
        let is_sparse = block_count * 4 < count;
        let mut begun = 0;
        for block in 0..block_count {
            let last = term.cursor.last(block) as usize / WINDOW;
            // Blocks are fewer than documents.
            windows.blocks[begun..=last].fill(block as u32);
            if is_sparse {
                windows.mark_postings(weigher, term, block)?;
            } else {
                let first = term.cursor.first_possible(block) as usize / WINDOW;
                let bound = up(term.block_bound(weigher, block));
                for window in &mut windows.bounds[first..=last] {
                    *window = window.max(bound);
                }
            }
            begun = last + 1;
        }
        windows.blocks[begun..].fill(block_count as u32);
        Ok(windows)
    }

    /// Marks the windows that the postings of a block are in with their weights.
    fn mark_postings(
        &mut self,
        weigher: &Weigher<'_>,
        term: &mut Term<'_>,
        block: usize,
    ) -> Result<()> {
        let (idf, times) = (term.idf, term.times);
        term.cursor.go_to_block(block);
        let (documents, tfs) = term.cursor.postings()?;
        let mut weights = [0.0; BLOCK];
        weigher.weigh_postings(idf, documents, tfs, &mut weights[..documents.len()])?;
        for (&document, &weight) in documents.iter().zip(&weights) {
            let window = &mut self.bounds[document as usize / WINDOW];
            *window = window.max(up(f64::from(weight) * times));
        }
        Ok(())
    }
}

/// A number that is not below `bound`, and above 0.
fn up(bound: f64) -> f32 {
    (bound as f32).next_up().max(f32::MIN_POSITIVE)
}

/// The window under way.
struct Search {
    documents: Range<u32>,
    /// The terms, by their bounds here, ascending.
    order: Vec<usize>,
    /// The bounds of the first so many terms of `order`, added up.
    sums: Vec<f64>,
    /// The weights of every term, by its place in `order`, in every document of the window.
    dense: Vec<[f32; WINDOW]>,
    /// The documents that have one.
    touched: [u64; WINDOW / 64],
    weights: [f32; BLOCK],
    batch: Batch,
    /// Documents that may make it.
    hopeful: Vec<u32>,
}

impl Search {
    fn new(terms: usize) -> Self {
        Search {
            documents: 0..0,
            order: (0..terms).collect(),
            sums: vec![0.0; terms + 1],
            dense: vec![[0.0; WINDOW]; terms],
            touched: [0; WINDOW / 64],
            weights: [0.0; BLOCK],
            batch: Batch::new(terms),
            hopeful: Vec::with_capacity(WINDOW),
        }
    }

    /// Takes the best documents of a window.
    fn window(
        &mut self,
        windows: &Windows,
        number: usize,
        terms: &mut Terms<'_>,
        top: &mut Top,
    ) -> Result<()> {
        let threshold = f64::from(top.threshold());
        if windows.bound(number) < threshold {
            return Ok(());
        }
        let bound = |term: usize| windows.terms[term].bounds[number];
        self.order
            .sort_unstable_by(|&a, &b| bound(a).total_cmp(&bound(b)));
        let mut sum = 0.0;
        for (place, &term) in self.order.iter().enumerate() {
            sum += f64::from(bound(term));
            self.sums[place + 1] = at_most(sum);
        }
        let essential = self.sums[1..].partition_point(|&sum| sum < threshold);
        let absent = self.order.partition_point(|&term| bound(term) == 0.0);
        let start = (number * WINDOW) as u32;
        self.documents = start..start.saturating_add(WINDOW as u32);
        for &term in &self.order[absent..] {
            let block = windows.terms[term].blocks[number] as usize;
            terms.scored[term].cursor.go_to_block(block);
        }
        let essential = essential.max(absent);
        match self.order.len() - essential {
            0 => Ok(()),
            1 => self.single(absent, terms, top),
            _ => self.several(essential, absent, terms, top),
        }
    }

    /// Goes through the list of the one essential term.
    fn single(&mut self, absent: usize, terms: &mut Terms<'_>, top: &mut Top) -> Result<()> {
        let place = self.order.len() - 1;
        let number = self.order[place];
        let others = self.sums[place];
        let mut block = terms.scored[number].cursor.block();
        loop {
            let Terms {
                weigher, scored, ..
            } = &mut *terms;
            let term = &mut scored[number];
            if block == term.cursor.block_count()
                || term.cursor.first_possible(block) >= self.documents.end
            {
                return Ok(());
            }
            let bound = term.block_bound(weigher, block) + others;
            if at_most(bound) >= f64::from(top.threshold()) {
                term.cursor.go_to_block(block);
                let idf = term.idf;
                let (documents, tfs) = term.cursor.postings()?;
                let range = within(documents, &self.documents);
                let documents = &documents[range.clone()];
                let weights = &mut self.weights[..documents.len()];
                weigher.weigh_postings(idf, documents, &tfs[range], weights)?;
                self.batch.begin(documents);
                self.batch.set_weights(number, term, weights);
                self.finish(place, absent, terms, top)?;
            }
            block += 1;
        }
    }

    /// Scores the batch, in which the terms from place `known` of the order on are weighed.
    fn finish(
        &mut self,
        known: usize,
        absent: usize,
        terms: &mut Terms<'_>,
        top: &mut Top,
    ) -> Result<()> {
        self.batch.keep_above(top.threshold(), self.sums[known]);
        if known > absent && !self.batch.is_empty() {
            self.batch.look_up_lengths(&terms.weigher)?;
        }
        for place in (absent..known).rev() {
            if self.batch.is_empty() {
                return Ok(());
            }
            let number = self.order[place];
            let term = &mut terms.scored[number];
            self.batch.find(number, term, false)?;
            self.batch.weigh(number, term, &terms.weigher);
            self.batch.keep_above(top.threshold(), self.sums[place]);
        }
        self.batch.finish(terms, top)
    }

    /// Goes through the lists of several essential terms, and scores those documents of the window
    /// that can make it by what these add up to.
    fn several(
        &mut self,
        essential: usize,
        absent: usize,
        terms: &mut Terms<'_>,
        top: &mut Top,
    ) -> Result<()> {
        let Terms {
            weigher, scored, ..
        } = &mut *terms;
        self.touched.fill(0);
        for place in essential..self.order.len() {
            self.dense[place].fill(0.0);
            let term = &mut scored[self.order[place]];
            let mut block = term.cursor.block();
            while block < term.cursor.block_count()
                && term.cursor.first_possible(block) < self.documents.end
            {
                self.add_block(place, weigher, term, block)?;
                block += 1;
            }
        }
        let others = self.sums[essential];
        let threshold = f64::from(top.threshold());
        self.hopeful.clear();
        for word in 0..self.touched.len() {
            let mut bits = self.touched[word];
            while bits != 0 {
                let at = 64 * word + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let mut sum = others;
                for place in essential..self.order.len() {
                    sum += f64::from(self.dense[place][at]) * scored[self.order[place]].times;
                }
                if at_most(sum) >= threshold {
                    // Below 512.
                    self.hopeful.push(at as u32);
                }
            }
        }
        let hopeful = std::mem::take(&mut self.hopeful);
        for places in hopeful.chunks(BLOCK) {
            let mut documents = [0; BLOCK];
            for (document, place) in documents.iter_mut().zip(places) {
                *document = self.documents.start + place;
            }
            self.batch.begin(&documents[..places.len()]);
            for place in essential..self.order.len() {
                let number = self.order[place];
                for (weight, &at) in self.weights.iter_mut().zip(places) {
                    *weight = self.dense[place][at as usize];
                }
                let weights = &self.weights[..places.len()];
                self.batch.set_weights(number, &terms.scored[number], weights);
            }
            self.finish(essential, absent, terms, top)?;
        }
        self.hopeful = hopeful;
        Ok(())
    }

    /// Puts the weights of a block where the documents of the window have theirs.
    fn add_block(
        &mut self,
        place: usize,
        weigher: &Weigher<'_>,
        term: &mut Term<'_>,
        block: usize,
    ) -> Result<()> {
        term.cursor.go_to_block(block);
        let idf = term.idf;
        let (documents, tfs) = term.cursor.postings()?;
        let range = within(documents, &self.documents);
        let documents = &documents[range.clone()];
        let weights = &mut self.weights[..documents.len()];
        weigher.weigh_postings(idf, documents, &tfs[range], weights)?;
        let dense = &mut self.dense[place];
        for (&document, &weight) in documents.iter().zip(&*weights) {
            let at = (document - self.documents.start) as usize % WINDOW;
            dense[at] = weight;
            self.touched[at / 64] |= 1 << (at % 64);
        }
        Ok(())
    }
}

/// Which of the documents of a block are in the window.
fn within(documents: &[u32], window: &Range<u32>) -> Range<usize> {
    let from = documents.partition_point(|&document| document < window.start);
    from..from + documents[from..].partition_point(|&document| document < window.end)
}
