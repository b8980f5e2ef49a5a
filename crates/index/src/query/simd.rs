//! The loops over all documents of a window; wide registers make them faster.

use super::bounds::WINDOW;
use crate::wide::wide;

wide! {
    /// Adds its weight, multiplied by `times`, to every sum.
    pub(super) fn add_times(sums: &mut [f32; WINDOW], weights: &[f32; WINDOW], times: f32) {
        for (sum, weight) in sums.iter_mut().zip(weights) {
            *sum += weight * times;
        }
    }
}

wide! {
    /// Keeps the bits of sums that are at least `enough`.
    pub(super) fn not_below(sums: &[f32; WINDOW], enough: f32, bits: &mut [u64; WINDOW / 64]) {
        let (chunks, _) = sums.as_chunks::<64>();
        for (word, sums) in bits.iter_mut().zip(chunks) {
            let mut mask = 0;
            for (place, &sum) in sums.iter().enumerate() {
                mask |= u64::from(sum >= enough) << place;
            }
            *word &= mask;
        }
    }
}
