//! Counter-based randomness: every document has its own stream, which depends on the seed and the document's number
//! alone. So any number of threads can make documents in any order.

/// The fractional part of the golden ratio, the usual increment of a Weyl sequence.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A random stream: a Weyl sequence whose terms are scrambled by one 128-bit multiplication (the scheme of wyrand).
///
/// Draws depend on one another only by a counter, so the processor overlaps them.
#[derive(Debug, Clone)]
pub(super) struct Stream {
    counter: u64,
}

impl Stream {
    /// The stream of one document under one seed.
    pub(super) fn new(seed: u64, document: u64) -> Self {
        let key = scramble(seed.wrapping_add(GOLDEN));
        Self {
            counter: scramble(key ^ scramble(document.wrapping_mul(GOLDEN))),
        }
    }

    /// 64 random bits.
    #[inline(always)]
    pub(super) fn next(&mut self) -> u64 {
        self.counter = self.counter.wrapping_add(0xa076_1d64_78bd_642f);
        let product = u128::from(self.counter) * u128::from(self.counter ^ 0xe703_7ed1_a0b4_28db);
        // Both halves hold random bits: fold them.
        ((product >> 64) as u64) ^ (product as u64)
    }

    /// A number in (0, 1], with 53 random bits.
    fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A document length: log-normal with the given parameters, rounded, at least 1.
    ///
    /// Uses the Box-Muller transform; `libm` gives the same bits on every platform.
    pub(super) fn log_normal_length(&mut self, mu: f64, sigma: f64) -> u64 {
        let radius = libm::sqrt(-2.0 * libm::log(self.unit()));
        let angle = 2.0 * std::f64::consts::PI * self.unit();
        let length = libm::exp(mu + sigma * radius * libm::cos(angle)).round();
        // With 53 bits the radius is below 8.6: the length is far inside the range of u64.
        (length as u64).max(1)
    }
}

/// A bijection of 64-bit numbers that changes about half of the bits for every bit of its argument (splitmix64's).
fn scramble(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_follow_the_law() {
        let count = 400_000u64;
        let lengths: Vec<f64> = (0..count)
            .map(|document| Stream::new(1, document).log_normal_length(6.0, 1.1) as f64)
            .collect();
        let mean = lengths.iter().sum::<f64>() / count as f64;
        // exp(6 + 1.1^2 / 2) = 738.8; the standard error of this mean is 1.8.
        assert!((mean - 738.8).abs() < 6.0, "{mean}");
        let logs: Vec<f64> = lengths.iter().map(|x| x.ln()).collect();
        let mu = logs.iter().sum::<f64>() / count as f64;
        let variance = logs.iter().map(|x| (x - mu).powi(2)).sum::<f64>() / count as f64;
        assert!((mu - 6.0).abs() < 0.01, "{mu}");
        assert!((variance.sqrt() - 1.1).abs() < 0.01, "{variance}");
    }

    #[test]
    fn streams_differ() {
        let firsts: std::collections::HashSet<u64> = (0..1000)
            .flat_map(|seed| (0..100).map(move |document| Stream::new(seed, document).next()))
            .collect();
        assert_eq!(firsts.len(), 100_000);
    }
}
