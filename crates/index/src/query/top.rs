//! The best documents so far.

use std::cmp::Ordering;

use super::Hit;
use super::histogram::Histogram;

/// So many are kept, however few are sought, before others are left out.
const FEW: usize = 32;

/// The k best documents of those that were seen.
pub(crate) struct Top {
    k: usize,
    /// The number of the first document of the part.
    first: u64,
    /// The best, and some that were.
    hits: Vec<Hit>,
    /// The worst of the k best, when others were last left out.
    worst: Option<Hit>,
    threshold: f32,
    /// What no sum may be below that could be rounded to the threshold.
    least: f64,
    /// What sums may be off by the order in which they were added up.
    slack: f64,
    /// Brings the threshold near to the worst of the k best in between.
    histogram: Histogram,
}

/// The better first.
fn rank(a: &Hit, b: &Hit) -> Ordering {
    let by_score = b.score.total_cmp(&a.score);
    by_score.then(a.document.cmp(&b.document))
}

impl Top {
    /// The best `k`.
    pub fn new(k: usize) -> Self {
        Top {
            k,
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

    /// How many are sought.
    pub fn k(&self) -> usize {
        self.k
    }

    /// Documents are those of the part whose first is `first` from now on; the terms add at most
    /// `magnitudes` to a score, their signs apart.
    pub fn begin_part(&mut self, first: u64, magnitudes: f64) {
        self.first = first;
        self.slack = 1e-12 * magnitudes;
        self.histogram.expect(magnitudes);
        self.raise_to(self.threshold);
    }

    fn raise_to(&mut self, threshold: f32) {
        let threshold = threshold.max(self.threshold);
        self.threshold = threshold;
        // A sum above the middle between two numbers is rounded up.
        let below = f64::from(threshold.next_down());
        self.least = f64::from(threshold).midpoint(below) - self.slack;
    }

    /// What a sum of weights or bounds must reach for a document to count, whatever the order in
    /// which it was added up.
    #[inline(always)]
    pub fn least(&self) -> f64 {
        self.least
    }

    /// The score that a document must reach to count.
    #[inline(always)]
    pub fn threshold(&self) -> f32 {
        self.threshold
    }

    /// Whether a document of the part would be among the best.
    #[inline]
    pub fn takes(&self, document: u32, score: f32) -> bool {
        let hit = self.hit(document, score);
        self.k > 0 && self.worst.is_none_or(|worst| rank(&hit, &worst).is_lt())
    }

    /// Takes a document of the part that is among the best.
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

    fn hit(&self, document: u32, score: f32) -> Hit {
        Hit {
            document: self.first + u64::from(document),
            score,
        }
    }

    /// Leaves all but the best out.
    fn leave_out(&mut self) {
        let (_, worst, _) = self.hits.select_nth_unstable_by(self.k - 1, rank);
        let worst = *worst;
        self.worst = Some(worst);
        self.raise_to(worst.score);
        self.hits.truncate(self.k);
    }

    /// The best first.
    pub fn into_hits(mut self) -> Vec<Hit> {
        self.hits.sort_unstable_by(rank);
        self.hits.truncate(self.k);
        self.hits
    }
}
