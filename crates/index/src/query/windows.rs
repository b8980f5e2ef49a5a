//! The best documents for several terms: MaxScore in windows, with the bounds of blocks.
//!
//! Documents are processed in windows. In each window, the terms whose bounds add up to less than
//! the threshold cannot bring a document into the result on their own (Turtle and Flood, IP&M
//! 1995). Only the lists of the other terms, the essential ones, are read in full. The rest are
//! looked up for the documents that can still reach the threshold. If terms are required, only the
//! list of the rarest is read in full. Bounds are those of the blocks that overlap the window
//! (Ding and Suel, SIGIR 2011). The windows with the highest bounds come first, so that the
//! threshold is high when the others follow in order.

use std::ops::Range;

use super::batch::Batch;
use super::bounds::{WINDOW, Windows};
use super::simd;
use super::terms::{Term, Terms};
use super::top::Top;
use crate::part::block::BLOCK;
use crate::weighing::Weigher;
use tokapi_storage::error::Result;

pub(crate) fn search(terms: &mut Terms<'_>, top: &mut Top) -> Result<()> {
    if terms.scored.is_empty() || terms.misses_one() {
        return Ok(());
    }
    let windows = Windows::new(terms)?;
    let mut search = Search::new(terms);
    // These windows hold some of the best documents.
    let first = windows.most_promising(top.k().div_ceil(WINDOW / 16) + 3);
    for &number in &first {
        search.window(&windows, number, terms, top)?;
    }
    terms.filters.rewind();
    let mut done = first.into_iter().peekable();
    for number in 0..windows.len() {
        if done.next_if_eq(&number).is_none() {
            search.window(&windows, number, terms, top)?;
        }
    }
    Ok(())
}

/// The current window.
struct Search {
    documents: Range<u32>,
    /// The order of the terms. The essential terms, whose lists are read in full, are at the end.
    /// Before them are the terms that are looked up, the last of them first.
    order: Vec<usize>,
    /// The sums of the bounds of the first terms of `order`.
    sums: Vec<f64>,
    /// The weights of every essential term in every document of the window.
    dense: Vec<[f32; WINDOW]>,
    rough: [f32; WINDOW],
    /// The documents with a weight.
    touched: [u64; WINDOW / 64],
    weights: [f32; BLOCK],
    batch: Batch,
    /// The places in the window of documents that may reach the threshold.
    hopeful: Vec<u32>,
}

impl Search {
    fn new(terms: &Terms<'_>) -> Self {
        let count = terms.scored.len();
        Search {
            documents: 0..0,
            order: (0..count).collect(),
            sums: vec![0.0; count + 1],
            dense: Vec::new(),
            rough: [0.0; WINDOW],
            touched: [0; WINDOW / 64],
            weights: [0.0; BLOCK],
            batch: Batch::new(count),
            hopeful: Vec::with_capacity(WINDOW),
        }
    }

    /// Collects the best documents of a window.
    fn window(
        &mut self,
        windows: &Windows,
        number: usize,
        terms: &mut Terms<'_>,
        top: &mut Top,
    ) -> Result<()> {
        let least = top.least();
        let Some(all) = windows.bound(number).filter(|&bound| bound >= least) else {
            return Ok(());
        };
        let bound = |term: usize| windows.term_bound(term, number);
        let lead = match terms.must() {
            0 => None,
            // Every match has one of these terms: the rarest of them leads.
            _ => (0..self.order.len())
                .filter(|&term| terms.scored[term].must || all - f64::from(bound(term)) < least)
                .min_by_key(|&term| terms.scored[term].cursor.df),
        };
        let rank = |term: usize| (Some(term) == lead, terms.scored[term].must);
        self.order.sort_unstable_by(|&a, &b| {
            let by_bound = || bound(a).total_cmp(&bound(b));
            rank(a).cmp(&rank(b)).then_with(by_bound)
        });
        let mut sum = 0.0;
        for (place, &term) in self.order.iter().enumerate() {
            sum += f64::from(bound(term));
            self.sums[place + 1] = sum;
        }
        let start = (number * WINDOW) as u32;
        self.documents = start..start.saturating_add(WINDOW as u32);
        let absent = self.order.partition_point(|&term| bound(term) == 0.0);
        for &term in &self.order[absent..] {
            let cursor = &mut terms.scored[term].cursor;
            cursor.go_to_block(windows.block(term, number, cursor));
        }
        let last = self.order.len() - 1;
        let essential = self.sums[1..].partition_point(|&sum| sum < least);
        let essential = match lead {
            Some(lead) if self.is_rare(lead, essential, terms) => last,
            Some(_) => essential.min(last),
            None => essential,
        };
        match essential.max(absent) {
            place if place > last => Ok(()),
            place if place == last => self.single(absent, terms, top),
            place => self.several(place, absent, terms, top),
        }
    }

    /// Whether looking up the documents of a leading term costs less than reading all lists from a
    /// place in the order on.
    fn is_rare(&self, lead: usize, essential: usize, terms: &Terms<'_>) -> bool {
        let df = |term: usize| terms.scored[term].cursor.df;
        let others = self.order.get(essential..).unwrap_or_default();
        let all: u64 = others.iter().map(|&term| df(term)).sum();
        // Measured: looking up a posting takes as long as reading two or three.
        !terms.scored[lead].must || all > 2 * df(lead) * others.len() as u64
    }

    /// Reads the list of the last term of the order.
    fn single(&mut self, absent: usize, terms: &mut Terms<'_>, top: &mut Top) -> Result<()> {
        let place = self.order.len() - 1;
        let number = self.order[place];
        let others = self.sums[place];
        let mut block = terms.scored[number].cursor.block();
        loop {
            let (weigher, scored, _) = terms.parts();
            let term = &mut scored[number];
            if block == term.cursor.block_count()
                || term.cursor.first_possible(block) >= self.documents.end
            {
                return Ok(());
            }
            let bound = term.block_bound(weigher, block) + others;
            if bound >= top.least() {
                term.cursor.go_to_block(block);
                let factors = (term.idf, term.times);
                let (documents, tfs) = term.cursor.postings()?;
                let range = within(documents, &self.documents);
                let postings = (&documents[range.clone()], &tfs[range]);
                self.batch.begin_with(number, factors, postings, weigher)?;
                self.finish(place, absent, terms, top)?;
            }
            block += 1;
        }
    }

    /// Scores the batch; the terms from place `known` of the order on are weighed already.
    fn finish(
        &mut self,
        known: usize,
        absent: usize,
        terms: &mut Terms<'_>,
        top: &mut Top,
    ) -> Result<()> {
        self.batch.keep_above(top.least(), self.sums[known]);
        self.batch.keep_within(&mut terms.filters.within)?;
        if known > absent && !self.batch.is_empty() {
            self.batch.look_up_lengths(&terms.weigher)?;
        }
        for place in (absent..known).rev() {
            if self.batch.is_empty() {
                return Ok(());
            }
            let number = self.order[place];
            let term = &mut terms.scored[number];
            self.batch.find(number, term)?;
            self.batch.weigh(number, term, &terms.weigher)?;
            self.batch.keep_above(top.least(), self.sums[place]);
        }
        self.batch.finish(terms, top)
    }

    /// Reads the lists of several essential terms, and scores the documents of the window whose
    /// partial sums can reach the threshold.
    fn several(
        &mut self,
        essential: usize,
        absent: usize,
        terms: &mut Terms<'_>,
        top: &mut Top,
    ) -> Result<()> {
        let has_must = terms.must() > 0;
        let (weigher, scored, _) = terms.parts();
        self.touched.fill(0);
        self.rough.fill(0.0);
        let mut magnitudes = 0.0;
        let least = top.least();
        let going = self.order.len() - essential;
        if self.dense.len() < going {
            self.dense.resize(going, [0.0; WINDOW]);
        }
        for place in essential..self.order.len() {
            self.dense[place - essential].fill(0.0);
            let term = &mut scored[self.order[place]];
            magnitudes += term.magnitude;
            let others = self.sums[self.order.len()] - (self.sums[place + 1] - self.sums[place]);
            let mut block = term.cursor.block();
            while block < term.cursor.block_count()
                && term.cursor.first_possible(block) < self.documents.end
            {
                // A block whose documents cannot reach the threshold may be treated as absent.
                if term.block_bound(weigher, block) + others >= least {
                    let counts = term.must || !has_must;
                    self.add_block(place - essential, counts, weigher, term, block)?;
                }
                block += 1;
            }
            let dense = &self.dense[place - essential];
            simd::add_times(&mut self.rough, dense, term.times as f32);
        }
        // The maximum rounding error of a sum in single precision.
        let rough = (1e-6 + 1.2e-7 * (self.order.len() - essential) as f64) * magnitudes;
        let enough = top.least() - self.sums[essential] - rough;
        simd::not_below(&self.rough, (enough as f32).next_down(), &mut self.touched);
        self.hopeful.clear();
        for word in 0..self.touched.len() {
            let mut bits = self.touched[word];
            while bits != 0 {
                self.hopeful.push(64 * word as u32 + bits.trailing_zeros());
                bits &= bits - 1;
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
                    *weight = self.dense[place - essential][at as usize];
                }
                let weights = &self.weights[..places.len()];
                self.batch
                    .set_weights(number, &terms.scored[number], weights);
            }
            self.finish(essential, absent, terms, top)?;
        }
        self.hopeful = hopeful;
        Ok(())
    }

    /// Writes the weights of a block to the places of its documents in the window. Marks the
    /// documents if the term `counts`.
    fn add_block(
        &mut self,
        place: usize,
        counts: bool,
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
        let counts = u64::from(counts);
        for (&document, &weight) in documents.iter().zip(&*weights) {
            let at = document.wrapping_sub(self.documents.start) as usize % WINDOW;
            dense[at] = weight;
            self.touched[at / 64] |= counts << (at % 64);
        }
        Ok(())
    }
}

/// The range of a block's documents that are in the window.
#[inline]
fn within(documents: &[u32], window: &Range<u32>) -> Range<usize> {
    let from = match documents.first() {
        Some(&first) if first >= window.start => 0,
        _ => documents.partition_point(|&document| document < window.start),
    };
    let to = match documents.last() {
        Some(&last) if last < window.end => documents.len(),
        _ => documents.partition_point(|&document| document < window.end),
    };
    from..to.max(from)
}
