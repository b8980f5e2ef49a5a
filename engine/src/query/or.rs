//! The best documents with any of some terms: MaxScore, window by window, with the bounds of blocks.
//!
//! Documents are taken in windows. In each, the terms whose bounds add up to less than the score to
//! beat cannot bring a document into the result by themselves (Turtle and Flood, IP&M 1995): only
//! the lists of the others, the essential ones, are gone through, and the rest are looked up for the
//! documents that can still make it. Bounds are those of the blocks that the window touches (Ding and
//! Suel, SIGIR 2011).

use super::terms::{Term, Terms};
use super::top::{Top, at_most};
use super::weigher::Weigher;
use crate::error::Result;
use crate::index::BLOCK;

/// Documents in a window.
const WINDOW: u32 = 4096;

/// What sums in single precision may be off, for every unit that was added.
const ROUGHNESS: f64 = 1e-5;

/// The window under way.
struct Window {
    start: u32,
    end: u32,
    /// The terms, by their bounds here, ascending.
    order: Vec<usize>,
    /// The blocks of every term that reach into the window.
    blocks: Vec<std::ops::Range<usize>>,
    bounds: Vec<f64>,
    /// The bounds of the first so many terms of `order`, added up.
    sums: Vec<f64>,
    sums_of_scores: Vec<f32>,
    touched: Vec<u64>,
    weights: [f32; BLOCK],
    /// What every term adds to the document at hand, in the order of the query.
    parts: Vec<f64>,
}

pub(crate) fn search(terms: &mut Terms<'_>, top: &mut Top) -> Result<()> {
    let count = terms.scored.len();
    if count == 0 {
        return Ok(());
    }
    let mut window = Window {
        start: 0,
        end: 0,
        order: (0..count).collect(),
        blocks: vec![0..0; count],
        bounds: vec![0.0; count],
        sums: vec![0.0; count + 1],
        sums_of_scores: vec![0.0; WINDOW as usize],
        touched: vec![0; WINDOW as usize / 64],
        weights: [0.0; BLOCK],
        parts: vec![0.0; count],
    };
    let documents = terms.weigher.part().documents();
    while window.end < documents {
        window.start = window.end;
        window.end = documents.min(window.start.saturating_add(WINDOW));
        if !window.enter(terms) {
            // None of the lists goes on.
            break;
        }
        let essential = window.first_essential(top.threshold());
        match count - essential {
            0 => {}
            1 => window.single(terms, top)?,
            _ => window.several(essential, terms, top)?,
        }
    }
    Ok(())
}

impl Window {
    /// Finds the blocks and bounds of the window. False where no list goes on.
    fn enter(&mut self, terms: &mut Terms<'_>) -> bool {
        let Terms {
            weigher, scored, ..
        } = terms;
        let mut any = false;
        for (number, term) in scored.iter_mut().enumerate() {
            let first = term.cursor.block_of(self.start, self.blocks[number].start);
            let (mut end, mut bound) = (first, 0.0f64);
            while end < term.cursor.block_count() && term.cursor.first_possible(end) < self.end {
                bound = bound.max(term.block_bound(weigher, end));
                end += 1;
            }
            any |= first < term.cursor.block_count();
            self.blocks[number] = first..end;
            self.bounds[number] = bound;
        }
        let bounds = &self.bounds;
        self.order
            .sort_unstable_by(|&a, &b| bounds[a].total_cmp(&bounds[b]));
        let mut sum = 0.0;
        for (place, &number) in self.order.iter().enumerate() {
            sum += bounds[number];
            self.sums[place + 1] = at_most(sum);
        }
        any
    }

    /// The first place in the order from which on terms are essential.
    fn first_essential(&self, threshold: f32) -> usize {
        let threshold = f64::from(threshold);
        self.sums[1..].partition_point(|&sum| sum <= threshold)
    }

    /// Goes through the list of the one essential term.
    fn single(&mut self, terms: &mut Terms<'_>, top: &mut Top) -> Result<()> {
        let last = self.order.len() - 1;
        let number = self.order[last];
        let others = self.sums[last];
        for block in self.blocks[number].clone() {
            let Terms {
                weigher, scored, ..
            } = terms;
            let term = &mut scored[number];
            let bound = term.block_bound(weigher, block) + others;
            if at_most(bound) <= f64::from(top.threshold()) {
                continue;
            }
            term.cursor.go_to_block(block);
            let (idf, times) = (term.idf, term.times);
            let (documents, tfs) = term.cursor.postings()?;
            let range = within(documents, self.start, self.end);
            // Copied, for the cursors move on while they are gone through.
            let mut here = [0; BLOCK];
            let count = range.len();
            here[..count].copy_from_slice(&documents[range.clone()]);
            weigher.weigh(idf, &here[..count], &tfs[range], &mut self.weights[..count])?;
            for place in 0..count {
                let weight = f64::from(self.weights[place]) * times;
                if at_most(weight + others) > f64::from(top.threshold()) {
                    self.look_up(here[place], Some((number, weight)), last, terms, top)?;
                }
            }
        }
        Ok(())
    }

    /// Scores `document`: what the essential term adds is known, or is looked up for all of them.
    fn look_up(
        &mut self,
        document: u32,
        known: Option<(usize, f64)>,
        essential: usize,
        terms: &mut Terms<'_>,
        top: &mut Top,
    ) -> Result<()> {
        self.parts.fill(0.0);
        let mut sum = 0.0;
        if let Some((number, weight)) = known {
            self.parts[number] = weight;
            sum = weight;
        } else {
            for &number in &self.order[essential..] {
                let weight = terms.scored[number].add(&terms.weigher, document)?;
                self.parts[number] = weight;
                sum += weight;
            }
        }
        for place in (0..essential).rev() {
            let threshold = f64::from(top.threshold());
            if at_most(sum + self.sums[place + 1]) <= threshold {
                return Ok(());
            }
            let number = self.order[place];
            if self.blocks[number].is_empty() {
                continue;
            }
            let weight = terms.scored[number].add(&terms.weigher, document)?;
            self.parts[number] = weight;
            sum += weight;
        }
        let score: f64 = self.parts.iter().sum();
        if score as f32 > top.threshold() && !terms.is_excluded(document)? {
            top.push(document, score as f32);
        }
        Ok(())
    }

    /// Goes through the lists of several essential terms and adds up, roughly, what they give to
    /// every document; scores those that can make it.
    fn several(&mut self, essential: usize, terms: &mut Terms<'_>, top: &mut Top) -> Result<()> {
        let Terms {
            weigher, scored, ..
        } = &mut *terms;
        let all = self.sums[self.order.len()];
        for place in essential..self.order.len() {
            let number = self.order[place];
            let others = all - self.bounds[number];
            let term = &mut scored[number];
            for block in self.blocks[number].clone() {
                // A document with this term that cannot make it may be left too low.
                let bound = term.block_bound(weigher, block) + others;
                if at_most(bound) <= f64::from(top.threshold()) {
                    continue;
                }
                self.add_block(weigher, term, block)?;
            }
            // Back to where the window begins, for those that are scored.
            term.cursor.go_to_block(self.blocks[number].start);
        }
        let magnitudes: f64 = scored.iter().map(|term| term.magnitude).sum();
        let others = self.sums[essential] + ROUGHNESS * magnitudes;
        for word in 0..self.touched.len() {
            let mut bits = std::mem::take(&mut self.touched[word]);
            while bits != 0 {
                let place = 64 * word + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let rough = f64::from(std::mem::take(&mut self.sums_of_scores[place]));
                if rough + others > f64::from(top.threshold()) {
                    let document = self.start + place as u32;
                    self.look_up(document, None, essential, terms, top)?;
                }
            }
        }
        Ok(())
    }

    fn add_block(
        &mut self,
        weigher: &Weigher<'_>,
        term: &mut Term<'_>,
        block: usize,
    ) -> Result<()> {
        term.cursor.go_to_block(block);
        let (idf, times) = (term.idf, term.times as f32);
        let (documents, tfs) = term.cursor.postings()?;
        let range = within(documents, self.start, self.end);
        let documents = &documents[range.clone()];
        weigher.weigh(
            idf,
            documents,
            &tfs[range],
            &mut self.weights[..documents.len()],
        )?;
        for (&document, &weight) in documents.iter().zip(&self.weights) {
            let place = (document - self.start) as usize;
            self.sums_of_scores[place] += weight * times;
            self.touched[place / 64] |= 1 << (place % 64);
        }
        Ok(())
    }
}

/// Which of `documents` are in the window.
fn within(documents: &[u32], start: u32, end: u32) -> std::ops::Range<usize> {
    let from = documents.partition_point(|&document| document < start);
    from..from + documents[from..].partition_point(|&document| document < end)
}
