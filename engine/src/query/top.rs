//! The best documents so far.

use std::cmp::Ordering;

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
    /// The best, and some that were.
    hits: Vec<Hit>,
    /// The worst of the k best, when others were last left out.
    worst: Option<Hit>,
    threshold: f32,
    /// When others are left out next.
    full: usize,
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
            full: k,
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
        let hit = self.hit(document, score);
        self.k > 0 && self.worst.is_none_or(|worst| rank(&hit, &worst).is_lt())
    }

    /// Takes a document of the part that is among the best.
    #[inline]
    pub fn push(&mut self, document: u32, score: f32) {
        self.hits.push(self.hit(document, score));
        if self.hits.len() == self.full {
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
        self.worst = Some(*worst);
        self.threshold = worst.score;
        self.hits.truncate(self.k);
        self.full = self.k + (self.k / 2).max(1);
    }

    /// The best first.
    pub fn into_hits(mut self) -> Vec<Hit> {
        self.hits.sort_unstable_by(rank);
        self.hits.truncate(self.k);
        self.hits
    }
}
