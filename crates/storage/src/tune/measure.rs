//! Measurements of chunk sizes on a real job.

use crate::error::Result;
use crate::pipeline::StageTimes;

/// The times of one run of a job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// The chunk size.
    pub chunk_bytes: u64,
    /// The bytes of input.
    pub bytes: u64,
    /// The local pass.
    pub local: StageTimes,
    /// The global pass.
    pub global: StageTimes,
    /// The whole run.
    pub seconds: f64,
    /// The share of the machine's cores that others used meanwhile ([`super::Load`]).
    pub others: f64,
}

impl Measured {
    /// Whether other processes used too much of the machine for a valid measurement.
    pub fn is_disturbed(&self) -> bool {
        self.others > 0.1
    }
}

/// The chunk sizes to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// The smallest.
    pub least: u64,
    /// The largest.
    pub most: u64,
    /// Whether sizes between those of the fit are tried too, to check the prediction.
    pub sweep: bool,
    /// The number of runs of each size.
    pub repeats: u32,
}

/// A chunk size to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// The size.
    pub chunk_bytes: u64,
    /// Whether the constants are fitted to it.
    pub fitted: bool,
}

/// The number of sizes for the fit: a few more than a stage has coefficients.
const FITTED: u32 = 7;

impl Plan {
    /// The sizes, ascending by a constant factor. A sweep has 13 sizes, among them those of the fit.
    pub fn sizes(&self) -> Vec<Size> {
        let steps = 2 * (FITTED - 1);
        let (least, most) = (self.least.max(1), self.most.max(self.least).max(1));
        let ratio = most as f64 / least as f64;
        let sizes = (0..=steps).map(|step| Size {
            // Between `least` and `most`.
            chunk_bytes: (least as f64 * ratio.powf(f64::from(step) / f64::from(steps))) as u64,
            fitted: step % 2 == 0,
        });
        let mut sizes: Vec<Size> = sizes.filter(|size| size.fitted || self.sweep).collect();
        sizes.dedup_by_key(|size| size.chunk_bytes);
        sizes
    }

    /// Measures every size as often as planned ([`fastest`]).
    ///
    /// # Errors
    /// The first error of `run`.
    pub fn measure(&self, run: impl FnMut(u64) -> Result<Measured>) -> Result<Vec<Measured>> {
        let sizes: Vec<u64> = self.sizes().iter().map(|size| size.chunk_bytes).collect();
        fastest(&sizes, self.repeats, run)
    }
}

/// The fastest of `repeats` runs of each size by `run`, after a warm-up. Other load on the machine only makes runs
/// slower.
///
/// A machine with other load is slow for seconds or minutes. So all sizes are tried once before any is tried again, and
/// neighbours in size are tried far apart in time. A slow period then hits single runs of many sizes, not all runs of a
/// few sizes. If every run of a size was disturbed, the size is tried again, at most `repeats` times more.
///
/// # Errors
/// The first error of `run`.
pub fn fastest(
    sizes: &[u64],
    repeats: u32,
    mut run: impl FnMut(u64) -> Result<Measured>,
) -> Result<Vec<Measured>> {
    let mut fastest: Vec<Option<Measured>> = vec![None; sizes.len()];
    let mut disturbed = vec![true; sizes.len()];
    let stride = stride(sizes.len());
    let turns = repeats.max(1) as usize;
    for turn in 0..2 * turns {
        for step in 0..sizes.len() {
            let place = (turn + step) * stride % sizes.len();
            if turn >= turns && !disturbed[place] {
                continue;
            }
            let measured = run(sizes[place])?;
            disturbed[place] &= measured.is_disturbed();
            let best = fastest[place].get_or_insert(measured);
            if measured.seconds < best.seconds {
                *best = measured;
            }
        }
    }
    Ok(fastest.into_iter().flatten().collect())
}

/// A step that visits all of `count` places, near their golden section.
fn stride(count: usize) -> usize {
    let divides_both =
        |stride: usize, by: usize| stride.is_multiple_of(by) && count.is_multiple_of(by);
    let visits_all = |stride: &usize| (2..=*stride).all(|by| !divides_both(*stride, by));
    let from = (count * 5).div_ceil(8).max(1);
    (from..).find(visits_all).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_is_tried_in_every_turn() {
        for count in 1..50 {
            let stride = stride(count);
            let mut places: Vec<usize> = (0..count).map(|step| step * stride % count).collect();
            places.sort();
            assert!(places.iter().copied().eq(0..count), "{count}");
        }
        assert_eq!([7, 13].map(stride), [5, 9]);
    }
}
