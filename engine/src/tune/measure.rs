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
/// All sizes are tried once before any is tried again, so that a machine that gets slower does so for
/// all of them, and in turns from either end, so that none always follows the same one.
///
/// # Errors
/// The first of `run`.
pub fn fastest(
    sizes: &[u64],
    repeats: u32,
    mut run: impl FnMut(u64) -> Result<Measured>,
) -> Result<Vec<Measured>> {
    let mut fastest: Vec<Option<Measured>> = vec![None; sizes.len()];
    for turn in 0..repeats.max(1) {
        for step in 0..sizes.len() {
            let place = match turn % 2 {
                0 => step,
                _ => sizes.len() - 1 - step,
            };
            let measured = run(sizes[place])?;
            let best = fastest[place].get_or_insert(measured);
            if measured.seconds < best.seconds {
                *best = measured;
            }
        }
    }
    Ok(fastest.into_iter().flatten().collect())
}
