//! A reduce task: it merges the keys between two cuts from all runs, and reduces them.

use serde::{Deserialize, Serialize};

use super::cuts::Boundary;
use super::guard::guarded;
use super::job::Job;
use super::merge::Merge;
use super::run::Run;
use super::watch::Watch;
use tokapi_storage::error::Result;
use tokapi_storage::progress::Progress;

/// The result of a reduce task.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Counts {
    pub keys: u64,
    pub pairs: u64,
    pub outputs: u64,
}

/// The estimated bytes of `pairs`, if `all_pairs` have `all_bytes`.
pub(crate) fn bytes_of(pairs: u64, all_pairs: u64, all_bytes: u64) -> u64 {
    let bytes = u128::from(all_bytes) * u128::from(pairs) / u128::from(all_pairs.max(1));
    // A part of the pairs has at most the bytes of all.
    bytes as u64
}

/// Reduces the keys between two cuts.
///
/// # Errors
/// A run cannot be read; the job fails; an output cannot be pushed; `progress` is cancelled.
pub(crate) fn reduce_range<J: Job>(
    job: &J,
    runs: &[Run],
    (from, until): (Option<&Boundary>, Option<&Boundary>),
    watch: &impl Watch,
    progress: &Progress,
    mut push: impl FnMut(J::Output<'_>) -> Result<()>,
) -> Result<Counts> {
    let mut counts = Counts::default();
    let mut merge = Merge::<J>::new(runs, from, until, job.value_order())?;
    let mut pushed = Ok(());
    while merge.next_group()? {
        counts.keys += 1;
        counts.pairs += merge.pairs();
        let (key, values) = merge.group()?;
        let values = values.inspect(|_| watch.step());
        // A key may have so many values that its reduction takes long, so cancellation is tested
        // here.
        let values = values.take_while(|_| !progress.is_cancelled());
        let mut write = |output: J::Output<'_>| {
            watch.step();
            counts.outputs += 1;
            if pushed.is_ok() {
                pushed = push(output);
            }
        };
        let reduced = guarded(watch, || job.reduce(key, values, &mut write));
        progress.check()?;
        reduced.map_err(|what| merge.failure(what))??;
        std::mem::replace(&mut pushed, Ok(()))?;
    }
    Ok(counts)
}
