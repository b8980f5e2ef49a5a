//! Chunk sizes tried on a real job.

use crate::error::Result;
use crate::pipeline::StageTimes;

/// Where the time of one run of a job went.
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
    /// Whether others used so much of the machine that the run says little.
    pub fn is_disturbed(&self) -> bool {
        self.others > 0.1
    }
}

/// Which chunk sizes are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// The smallest.
    pub least: u64,
    /// The largest.
    pub most: u64,
    /// Whether those between the sizes of the fit are tried too, to see how well it predicts them.
    pub sweep: bool,
    /// How often each is tried.
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

/// Sizes that the constants are fitted to: a few more than a stage has coefficients.
const FITTED: u32 = 7;

impl Plan {
    /// The sizes, ascending by a constant factor; those of the fit are the same in a sweep, which
    /// has 13.
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

    /// Tries every size as often as planned ([`fastest`]).
    ///
    /// # Errors
    /// The first of `run`.
    pub fn measure(&self, run: impl FnMut(u64) -> Result<Measured>) -> Result<Vec<Measured>> {
        let sizes: Vec<u64> = self.sizes().iter().map(|size| size.chunk_bytes).collect();
        fastest(&sizes, self.repeats, run)
    }
}

/// The fastest of `repeats` runs of each size by `run`, which has been warmed up: whatever else the
/// machine does makes runs slower only.
///
/// A machine that does other work is slow for seconds or minutes. So all sizes are tried once before
/// any is tried again, and neighbours in size far from each other: what is slow for a while makes
/// single runs slow, of sizes all over, rather than all runs of a few sizes. Sizes of which every run
/// was disturbed are tried again, up to as many times in all as were asked for.
///
/// # Errors
/// The first of `run`.
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

/// A step with which all of `count` places are visited, about the golden section of them.
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
