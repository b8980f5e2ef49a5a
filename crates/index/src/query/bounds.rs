//! Upper bounds of the scores in every window of documents.

use super::terms::{Term, Terms};
use crate::part::cursor::Cursor;
use crate::weighing::Weigher;
use tokapi_storage::error::Result;

/// Documents in a window.
pub(super) const WINDOW: usize = 4096;

/// Maximum ratio of a list's length to that of the rarest required list. The blocks of a longer
/// list are not read: looking up the documents of the rarest is then faster.
const FAR: u64 = 256;

/// The bounds of the scores in every window.
pub(super) struct Windows {
    terms: Vec<TermWindows>,
    /// The sum of the bounds of all terms in every window: 0 where no term occurs, negative
    /// infinity where a required term is absent.
    sums: Vec<f32>,
}

/// A term in the windows.
enum TermWindows {
    /// Its bound everywhere.
    Far(f32),
    Near {
        /// Its bound in every window; 0 if the term does not occur there.
        bounds: Vec<f32>,
        /// The first block that reaches into every window.
        blocks: Vec<u32>,
    },
}

impl Windows {
    pub fn new(terms: &mut Terms<'_>) -> Result<Self> {
        let count = (terms.weigher.part().documents() as usize).div_ceil(WINDOW);
        let must = terms.scored.iter().filter(|term| term.must);
        let rarest = must.map(|term| term.cursor.df).min();
        let mut sums = vec![0.0f32; count];
        let mut all = Vec::with_capacity(terms.scored.len());
        for term in &mut terms.scored {
            let is_far = rarest.is_some_and(|rarest| term.cursor.df / FAR > rarest);
            let windows = match is_far {
                true => TermWindows::Far(up(term.bound)),
                false => TermWindows::near(&terms.weigher, term, count)?,
            };
            match &windows {
                TermWindows::Far(bound) => sums.iter_mut().for_each(|sum| *sum += bound),
                TermWindows::Near { bounds, .. } => {
                    for (sum, &bound) in sums.iter_mut().zip(bounds) {
                        *sum += match bound {
                            0.0 if term.must => f32::NEG_INFINITY,
                            bound => bound,
                        };
                    }
                }
            }
            all.push(windows);
        }
        Ok(Windows { terms: all, sums })
    }

    /// The number of windows.
    pub fn len(&self) -> usize {
        self.sums.len()
    }

    /// The upper bound of the scores in a window; none if nothing matches there.
    #[inline]
    pub fn bound(&self, window: usize) -> Option<f64> {
        // Each addition may round by half a unit in the last of 24 binary places.
        let rough = 1.0 + 1.2e-7 * self.terms.len() as f64;
        match self.sums[window] {
            0.0 | f32::NEG_INFINITY => None,
            sum => Some(f64::from(sum) * rough),
        }
    }

    /// The maximum that a term adds in a window; 0 if it does not occur.
    #[inline]
    pub fn term_bound(&self, term: usize, window: usize) -> f32 {
        match &self.terms[term] {
            TermWindows::Far(bound) => *bound,
            TermWindows::Near { bounds, .. } => bounds[window],
        }
    }

    /// The first block of a term's list that reaches into a window.
    pub fn block(&self, term: usize, window: usize, cursor: &Cursor<'_>) -> usize {
        match &self.terms[term] {
            // Fewer than 2^32 documents.
            TermWindows::Far(_) => cursor.block_of((window * WINDOW) as u32, 0),
            TermWindows::Near { blocks, .. } => blocks[window] as usize,
        }
    }

    /// The numbers of the `count` windows with the highest bounds, ascending.
    pub fn most_promising(&self, count: usize) -> Vec<usize> {
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
    fn near(weigher: &Weigher<'_>, term: &mut Term<'_>, count: usize) -> Result<Self> {
        term.bound_blocks(weigher);
        let (mut bounds, mut blocks) = (vec![0.0f32; count], vec![0; count]);
        let block_count = term.cursor.block_count();
        // A block that reaches over several windows may have no documents in some of them.
        let is_sparse = block_count * 2 < count;
        let mut begun = 0;
        for block in 0..block_count {
            let last = term.cursor.last(block) as usize / WINDOW;
            if last >= count || last + 1 < begun {
                return Err(weigher
                    .part()
                    .lists
                    .damaged("a list is not what was written"));
            }
            // Blocks are fewer than documents.
            blocks[begun..=last].fill(block as u32);
            let bound = up(term.block_bound(weigher, block));
            if is_sparse {
                term.cursor.go_to_block(block);
                term.cursor.decode()?;
                for &document in term.cursor.documents() {
                    // No document comes after the last document of its block.
                    let window = &mut bounds[document as usize / WINDOW];
                    *window = window.max(bound);
                }
            } else {
                let first = term.cursor.first_possible(block) as usize / WINDOW;
                for window in &mut bounds[first.min(last)..=last] {
                    *window = window.max(bound);
                }
            }
            begun = last + 1;
        }
        blocks[begun..].fill(block_count as u32);
        Ok(TermWindows::Near { bounds, blocks })
    }
}

/// A number that is at least `bound`, and above 0.
fn up(bound: f64) -> f32 {
    (bound as f32).next_up().max(f32::MIN_POSITIVE)
}
