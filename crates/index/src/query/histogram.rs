//! A lower bound of the k-th best score, computed from a histogram of scores.

/// Measured on 120,000 documents, the best hundred for any of all words: 311 us without a
/// histogram, 299 us with 256 buckets, 295 us with 1,024, 297 us with 4,096.
const BUCKETS: usize = 1024;

/// Maximum difference between a score and its bucket caused by rounding.
const ROUGH: f32 = 1.0 - 4e-7;

/// The number of scores in each of many narrow ranges.
pub(super) struct Histogram {
    counts: Vec<u32>,
    /// Buckets per unit of score; 0 until the maximum score is known.
    scale: f32,
    /// The highest bucket such that it and those above hold at least `k` scores; 0 until there are
    /// `k` scores.
    cut: usize,
    /// The number of scores in the buckets above it.
    above: usize,
}

impl Histogram {
    pub fn new() -> Self {
        Histogram {
            counts: vec![0; BUCKETS],
            scale: 0.0,
            cut: 0,
            above: 0,
        }
    }

    /// Sets the expected maximum score, unless it is set already.
    pub fn expect(&mut self, most: f64) {
        if self.scale == 0.0 && most > 0.0 {
            self.scale = BUCKETS as f32 / most as f32;
        }
    }

    /// Counts a score. Returns a new lower bound of the k-th best score if it has risen.
    #[inline]
    pub fn count(&mut self, score: f32, k: usize) -> Option<f32> {
        // The cast saturates; scores above the range count in the last bucket.
        let bucket = ((score * self.scale) as usize).min(BUCKETS - 1);
        self.counts[bucket] += 1;
        if bucket <= self.cut {
            return None;
        }
        self.above += 1;
        if self.above < k {
            return None;
        }
        while self.above >= k {
            self.cut += 1;
            self.above -= self.counts[self.cut] as usize;
        }
        Some(self.cut as f32 / self.scale * ROUGH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_scores_as_said_are_not_below() {
        // Some scores are above the expected maximum, some below 0.
        let scores = (0..5000u32).map(|place| (place.wrapping_mul(2654435761) >> 8) as f32 / 1.2e6);
        let scores: Vec<f32> = scores.map(|score| score - 1.0).collect();
        for k in [1, 10, 100, 1000] {
            let mut histogram = Histogram::new();
            histogram.expect(10.0);
            let mut told = f32::NEG_INFINITY;
            for (count, &score) in scores.iter().enumerate() {
                if let Some(least) = histogram.count(score, k) {
                    assert!(least > told);
                    told = least;
                }
                let seen = &scores[..=count];
                let above = seen.iter().filter(|&&score| score >= told).count();
                assert!(above >= k.min(seen.len()));
            }
            let mut sorted = scores.clone();
            sorted.sort_by(|a, b| b.total_cmp(a));
            assert!(told > sorted[k - 1].min(9.99) - 0.02, "{k}: {told}");
        }
    }
}
