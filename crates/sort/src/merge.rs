//! The merge of runs: the keys are cut into ranges that fit into memory, and each range is merged alone, on any thread.
//!
//! The first keys of the frames tell the place of a range in every run. Its records, run after run, are sorted like a
//! chunk. That sort is stable. It takes less time than choosing among many runs record by record, because the keys of a
//! range share most of their high bits. If a key has more records than fit, they are copied run by run without sorting.

use std::ops::Range;

use super::Sort;
use super::columns::{Columns, Word};
use super::run::{FRAME_RECORDS, SortedRun};
use tokapi_storage::error::Result;

/// A cut between keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bound<W> {
    /// Smaller keys are on the left.
    Before(W),
    /// Smaller keys and this key are on the left.
    After(W),
}

impl<W: Word> Bound<W> {
    fn has_left(self, key: W) -> bool {
        match self {
            Bound::Before(cut) => key < cut,
            Bound::After(cut) => key <= cut,
        }
    }
}

/// The records between two cuts.
pub(super) struct Task<W> {
    from: Option<Bound<W>>,
    to: Option<Bound<W>>,
    /// The frames that may have records of the task: runs in their order.
    frames: Vec<(usize, Range<usize>)>,
    /// Whether all keys are equal, and so in order already.
    equal: bool,
}

/// The fewest records of a task with `runs` runs. It limits the records that are read twice.
pub(super) fn least_task_records(runs: usize) -> usize {
    8 * runs * FRAME_RECORDS
}

/// Cuts the records of `runs` into tasks of at most `records` records.
pub(super) fn tasks<W: Word>(runs: &[SortedRun<W>], records: usize) -> Vec<Task<W>> {
    let mut firsts: Vec<W> = Vec::new();
    for run in runs {
        firsts.extend_from_slice(&run.firsts);
    }
    firsts.sort_unstable();
    // One more frame of every run may be needed on either side.
    let step = (records / FRAME_RECORDS)
        .saturating_sub(2 * runs.len())
        .max(1);
    let mut tasks = Vec::new();
    let (mut from, mut place) = (None, 0);
    while place + step < firsts.len() {
        let key = firsts[place + step];
        let below = firsts.partition_point(|&first| first < key);
        let upto = firsts.partition_point(|&first| first <= key);
        let before = Some(Bound::Before(key));
        if from != before {
            tasks.extend(Task::merged(runs, from, before));
            from = before;
        }
        place = below.max(place);
        // One key has more records than a task takes: the range cannot be cut, and needs no sorting.
        if upto > place + step {
            tasks.extend(Task::copied(runs, key, step));
            from = Some(Bound::After(key));
            place = upto;
        }
    }
    tasks.extend(Task::merged(runs, from, None));
    tasks
}

impl<W: Word> Task<W> {
    fn merged(runs: &[SortedRun<W>], from: Option<Bound<W>>, to: Option<Bound<W>>) -> Option<Self> {
        let frames = runs.iter().map(|run| frames_of(run, from, to)).enumerate();
        let frames: Vec<_> = frames.filter(|(_, range)| !range.is_empty()).collect();
        (!frames.is_empty()).then_some(Task {
            from,
            to,
            frames,
            equal: false,
        })
    }

    /// The records of one key, at most `step` frames of a run at a time.
    fn copied(runs: &[SortedRun<W>], key: W, step: usize) -> Vec<Self> {
        let (from, to) = (Some(Bound::Before(key)), Some(Bound::After(key)));
        let mut tasks = Vec::new();
        for (number, run) in runs.iter().enumerate() {
            let all = frames_of(run, from, to);
            for start in all.clone().step_by(step) {
                tasks.push(Task {
                    from,
                    to,
                    frames: vec![(number, start..all.end.min(start + step))],
                    equal: true,
                });
            }
        }
        tasks
    }

    /// Reads the records and sorts them into `merged`.
    ///
    /// # Errors
    /// A run cannot be read, or is damaged; the engine fails.
    pub(super) fn merge(
        &self,
        runs: &[SortedRun<W>],
        engine: &mut dyn Sort,
        merged: &mut Columns<W>,
        part: &mut Columns<W>,
    ) -> Result<()> {
        merged.clear();
        for (run, frames) in &self.frames {
            part.clear();
            runs[*run].read(frames.clone(), part)?;
            let left_of = |cut: Option<Bound<W>>, all: usize| {
                cut.map_or(all, |cut| {
                    part.keys.partition_point(|&key| cut.has_left(key))
                })
            };
            let (from, to) = (left_of(self.from, 0), left_of(self.to, part.len()));
            merged.append(part, from..to.max(from));
        }
        match self.equal {
            true => Ok(()),
            false => merged.sort(engine),
        }
    }
}

/// The frames of a run that may have keys between two cuts.
fn frames_of<W: Word>(
    run: &SortedRun<W>,
    from: Option<Bound<W>>,
    to: Option<Bound<W>>,
) -> Range<usize> {
    let left_of = |cut: Bound<W>| run.firsts.partition_point(|&first| cut.has_left(first));
    // The last frame that begins on the left may extend to the right.
    let start = from.map_or(0, |cut| left_of(cut).saturating_sub(1));
    let end = to.map_or(run.firsts.len(), left_of);
    start..end.max(start)
}

#[cfg(test)]
mod tests {
    use super::super::columns;
    use super::super::run::EncodedRun;
    use super::super::{Cpu, KeyType};
    use super::*;
    use proptest::prelude::*;
    use tokapi_storage::progress::Progress;
    use tokapi_storage::scratch::{JobIdentity, Scratch, ScratchOptions};

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn tasks_of_any_size_give_every_record_in_order(
            lengths in prop::collection::vec(0..60_000usize, 1..6),
            distinct in prop::sample::select(vec![1u32, 2, 5, 1000, u32::MAX]),
            records in prop::sample::select(vec![0usize, 30_000, 100_000, 1 << 20]),
            seed in any::<u32>(),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let job = JobIdentity {
                name: "a".into(),
                terms: serde_json::Value::Null,
                input: None,
                output: folder.path().to_path_buf(),
            };
            let (scratch, _) = Scratch::open(&job, &ScratchOptions::default()).unwrap();
            let (mut state, mut number) = (seed, 0);
            let mut all = Columns::<u32>::new(true);
            let mut runs = Vec::new();
            for length in lengths {
                let mut chunk = Columns::<u32>::new(true);
                for _ in 0..length {
                    state = state.wrapping_mul(1664525).wrapping_add(1013904223);
                    // Half of the keys are equal.
                    chunk.keys.push(if state >> 31 == 0 { 7 } else { (state >> 3) % distinct });
                    chunk.payloads.push(number);
                    number += 1;
                }
                all.append(&chunk, 0..length);
                let progress = &Progress::new();
                columns::order(&mut chunk.keys, KeyType::U32, progress).unwrap();
                chunk.sort(&mut Cpu::new()).unwrap();
                let run = EncodedRun::new(scratch.stamp(), &chunk, Vec::new(), progress).unwrap();
                runs.push(run.write(&scratch, true, progress).unwrap());
            }
            let mut found = Columns::<u32>::new(true);
            let (mut merged, mut part) = (Columns::new(true), Columns::new(true));
            for task in tasks(&runs, records) {
                task.merge(&runs, &mut Cpu::new(), &mut merged, &mut part).unwrap();
                let most = (records / FRAME_RECORDS).max(2 * runs.len() + 1) * FRAME_RECORDS;
                prop_assert!(merged.len() <= most, "{} of {most}", merged.len());
                found.append(&merged, 0..merged.len());
            }
            all.sort(&mut super::super::Reference).unwrap();
            prop_assert!(found == all);
        }
    }
}
