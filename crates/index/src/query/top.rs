//! The best documents so far.

use std::cmp::Ordering;

use super::Rank;
use super::histogram::Histogram;
use crate::part::Part;
use tokapi_storage::error::Result;

/// Minimum number of documents that are kept before the worst are dropped, even for a small k.
const FEW: usize = 32;

/// A document of the index and its score. Documents are numbered in the order of their sequence numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ranked {
    pub document: u64,
    pub score: f32,
}

/// The k best documents seen so far.
pub(crate) struct Top {
    k: usize,
    /// Better documents, and this one, are on the pages before.
    after: Option<Rank>,
    /// The documents of the part before this one are on the pages before if they have the score of `after`.
    after_document: u32,
    /// The number of the first document of the part.
    first: u64,
    /// The best documents, and some that have since been overtaken.
    hits: Vec<Ranked>,
    /// The worst of the k best when documents were last dropped.
    worst: Option<Ranked>,
    threshold: f32,
    /// Lower bound of the sums that could round to the threshold.
    least: f64,
    /// Maximum error of a sum from the order of its additions.
    slack: f64,
    /// Keeps the threshold close to the k-th best score between drops.
    histogram: Histogram,
}

/// Orders the better document first.
fn rank(a: &Ranked, b: &Ranked) -> Ordering {
    let by_score = b.score.total_cmp(&a.score);
    by_score.then(a.document.cmp(&b.document))
}

impl Top {
    /// The best `k` behind `after`.
    pub fn new(k: usize, after: Option<Rank>) -> Self {
        Top {
            k,
            after,
            after_document: 0,
            first: 0,
            hits: Vec::new(),
            worst: None,
            threshold: match k {
                0 => f32::INFINITY,
                _ => f32::NEG_INFINITY,
            },
            least: match k {
                0 => f64::INFINITY,
                _ => f64::NEG_INFINITY,
            },
            slack: 0.0,
            histogram: Histogram::new(),
        }
    }

    /// The number of documents to find.
    pub fn k(&self) -> usize {
        self.k
    }

    /// Begins a part: `first` is the number of its first document. The terms add at most
    /// `magnitudes`, as absolute values, to a score.
    pub fn begin_part(&mut self, part: &Part, first: u64, magnitudes: f64) -> Result<()> {
        self.first = first;
        if let Some(after) = self.after {
            self.after_document = part.sequences().count_to(after.sequence)?;
        }
        self.slack = 1e-12 * magnitudes;
        self.histogram.expect(magnitudes);
        self.raise_to(self.threshold);
        Ok(())
    }

    fn raise_to(&mut self, threshold: f32) {
        let threshold = threshold.max(self.threshold);
        self.threshold = threshold;
        // A sum above the midpoint of two numbers is rounded up.
        let below = f64::from(threshold.next_down());
        self.least = f64::from(threshold).midpoint(below) - self.slack;
    }

    /// The minimum that a sum of weights or bounds must reach, whatever the order of its
    /// additions.
    #[inline(always)]
    pub fn least(&self) -> f64 {
        self.least
    }

    /// The minimum score that enters the result.
    #[inline(always)]
    pub fn threshold(&self) -> f32 {
        self.threshold
    }

    /// Whether a document of the part would be among the k best.
    #[inline]
    pub fn takes(&self, document: u32, score: f32) -> bool {
        let hit = self.hit(document, score);
        self.k > 0
            && self.worst.is_none_or(|worst| rank(&hit, &worst).is_lt())
            && !self.is_before(document, score)
    }

    /// Whether a document of the part is on the pages before.
    #[inline]
    pub fn is_before(&self, document: u32, score: f32) -> bool {
        self.after
            .is_some_and(|after| match score.total_cmp(&after.score) {
                Ordering::Equal => document < self.after_document,
                order => order.is_gt(),
            })
    }

    /// Adds a document of the part that is among the k best.
    #[inline]
    pub fn push(&mut self, document: u32, score: f32) {
        self.hits.push(self.hit(document, score));
        if let Some(threshold) = self.histogram.count(score, self.k) {
            self.raise_to(threshold);
        }
        if self.hits.len() >= self.k.saturating_mul(2).max(FEW) {
            self.leave_out();
        }
    }

    fn hit(&self, document: u32, score: f32) -> Ranked {
        Ranked {
            document: self.first + u64::from(document),
            score,
        }
    }

    /// Drops all but the k best.
    fn leave_out(&mut self) {
        let (_, worst, _) = self.hits.select_nth_unstable_by(self.k - 1, rank);
        let worst = *worst;
        self.worst = Some(worst);
        self.raise_to(worst.score);
        self.hits.truncate(self.k);
    }

    /// The best first.
    pub fn into_hits(mut self) -> Vec<Ranked> {
        self.hits.sort_unstable_by(rank);
        self.hits.truncate(self.k);
        self.hits
    }
}
