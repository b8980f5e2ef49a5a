//! The best documents so far.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::Hit;

/// What a sum of bounds is at most, whatever the order in which it was added up.
#[inline(always)]
pub(crate) fn at_most(sum: f64) -> f64 {
    sum + sum.abs() * 1e-12
}

/// The k best documents of those that were seen.
pub(crate) struct Top {
    k: usize,
    /// The number of the first document of the part.
    first: u64,
    /// The worst on top.
    heap: BinaryHeap<Reverse<Ranked>>,
    threshold: f32,
}

/// A document by rank: greater is better.
struct Ranked(Hit);

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_score = self.0.score.total_cmp(&other.0.score);
        by_score.then(other.0.document.cmp(&self.0.document))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ranked {}

impl Top {
    /// The best `k`.
    pub fn new(k: usize) -> Self {
        Top {
            k,
            first: 0,
            heap: BinaryHeap::new(),
            threshold: match k {
                0 => f32::INFINITY,
                _ => f32::NEG_INFINITY,
            },
        }
    }

    /// How many are sought.
    pub fn k(&self) -> usize {
        self.k
    }

    /// Documents are those of the part whose first is `first` from now on.
    pub fn begin_part(&mut self, first: u64) {
        self.first = first;
    }

    /// What a score must reach to count.
    #[inline(always)]
    pub fn threshold(&self) -> f32 {
        self.threshold
    }

    /// Whether a document of the part would be among the best.
    #[inline]
    pub fn takes(&self, document: u32, score: f32) -> bool {
        match score.total_cmp(&self.threshold) {
            Ordering::Less => false,
            Ordering::Greater => true,
            // As good as the worst: earlier ones come first.
            Ordering::Equal => match self.heap.peek() {
                Some(worst) => self.first + u64::from(document) < worst.0.0.document,
                None => self.k > 0,
            },
        }
    }

    /// Takes a document of the part if it is among the best.
    #[inline]
    pub fn push(&mut self, document: u32, score: f32) {
        if self.takes(document, score) {
            self.insert(Hit {
                document: self.first + u64::from(document),
                score,
            });
        }
    }

    fn insert(&mut self, hit: Hit) {
        if self.heap.len() < self.k {
            self.heap.push(Reverse(Ranked(hit)));
        } else if let Some(mut worst) = self.heap.peek_mut() {
            *worst = Reverse(Ranked(hit));
        }
        if self.heap.len() == self.k
            && let Some(worst) = self.heap.peek()
        {
            self.threshold = worst.0.0.score;
        }
    }

    /// The best first.
    pub fn into_hits(self) -> Vec<Hit> {
        // Reversed, the greatest come first.
        let sorted = self.heap.into_sorted_vec();
        sorted.into_iter().map(|ranked| ranked.0.0).collect()
    }
}
