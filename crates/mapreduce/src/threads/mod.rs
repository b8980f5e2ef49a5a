//! The runner `threads`: map and reduce tasks on the threads of this process.
//!
//! Map workers take splits from a queue. Each has its own container; full containers become sorted
//! runs. Reduce workers take partitions, and merge the runs of each. Outputs are returned in the
//! order of partitions; they depend on neither threads, splits nor memory.

pub(super) mod map;

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::cuts::{Partitions, cuts};
use super::job::{Job, Room};
use super::merge::merge_runs;
use super::reduce::{Counts, bytes_of, reduce_range};
use super::report::Report;
use super::run::{FRAME_BYTES, Run};
use super::spill::Spill;
use map::MapSink;
use tokapi_storage::error::Result;
use tokapi_storage::pipeline::Stages;
use tokapi_storage::progress::{Progress, Stage};

/// Options of the runner on threads.
///
/// ```
/// # use tokapi_mapreduce::{Partitions, Threads};
/// let mut runner = Threads::default();
/// runner.partitions = Partitions::Hashed(4);
/// ```
///
/// [`Job`] has an example that runs.
#[derive(Debug, Clone)]
pub struct Threads {
    /// The number of threads.
    pub threads: usize,
    /// Memory for pairs in bytes; further pairs go to scratch files.
    pub memory_bytes: u64,
    /// The folder for scratch files.
    pub scratch: PathBuf,
    /// The distribution of keys over reduce tasks.
    pub partitions: Partitions,
    /// Whether to use the job's combiner, if it has one.
    pub combine: bool,
    /// Whether to omit and report records at which `map` panics; otherwise the job stops.
    pub skip_bad: bool,
    /// Reports on the job, and can cancel it.
    pub progress: Progress,
}

impl Default for Threads {
    /// All cores, one gigabyte, combiners on, eight ranges of keys a thread.
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Threads {
            threads,
            memory_bytes: 1 << 30,
            scratch: std::env::temp_dir(),
            partitions: Partitions::Ranges(u32::try_from(8 * threads).unwrap_or(u32::MAX)),
            combine: true,
            skip_bad: false,
            progress: Progress::default(),
        }
    }
}

impl Threads {
    /// Runs `job` on `input`. `part` creates a collector for every partition, `push` adds an
    /// output to it, and `take` receives the collectors in order.
    ///
    /// # Errors
    /// The input cannot be read; `map` panicked and such records are not skipped, or `reduce`
    /// panicked; scratch files cannot be written; an error of `push` or `take`; the job is
    /// cancelled.
    pub fn run<J: Job, P: Send>(
        &self,
        job: &mut J,
        input: J::Input,
        part: impl Fn() -> P + Sync,
        push: impl Fn(&mut P, J::Output<'_>) -> Result<()> + Sync,
        take: impl FnMut(P) -> Result<()>,
    ) -> Result<Report> {
        self.run_job(job, input, part, push, take)
    }

    /// The same options with partitions as ranges of keys.
    pub(super) fn in_key_order(&self) -> Threads {
        Threads {
            partitions: self.partitions.in_ranges(),
            ..self.clone()
        }
    }

    /// The resources for a job's tables.
    pub(super) fn room(&self) -> Room {
        Room {
            memory_bytes: self.memory_bytes / 4,
            scratch: self.scratch.clone(),
            progress: self.progress.clone(),
        }
    }

    /// Maximum number of runs that can be read at the same time.
    pub(super) fn most_runs(&self) -> usize {
        let readers = self.memory_bytes / 8 / (2 * FRAME_BYTES) as u64;
        let most = usize::try_from(readers).unwrap_or(usize::MAX) / self.threads.max(1);
        most.max(8)
    }

    /// Merges neighbouring runs until all can be read at the same time.
    fn merge_many<J: Job>(&self, job: &J, mut runs: Vec<Run>, spill: &Spill) -> Result<Vec<Run>> {
        let most = self.most_runs();
        while runs.iter().filter(|run| run.is_on_disk()).count() > most {
            log::info!("merging {} runs, {most} at a time", runs.len());
            let mut merged = Vec::new();
            for some in runs.chunks(most) {
                let into = super::run::RunWriter::new(Some(spill.create()?), 0);
                let run = merge_runs::<J>(some, job.value_order(), into, &self.progress)?;
                spill.spilled_bytes.fetch_add(run.bytes, Ordering::Relaxed);
                some.iter().for_each(|run| run.clone().remove());
                merged.push(run);
            }
            runs = merged;
        }
        Ok(runs)
    }

    fn reduce<J: Job, P: Send>(
        &self,
        job: &J,
        runs: &[Run],
        report: &mut Report,
        part: impl Fn() -> P + Sync,
        push: impl Fn(&mut P, J::Output<'_>) -> Result<()> + Sync,
        mut take: impl FnMut(P) -> Result<()>,
    ) -> Result<()> {
        let cuts = cuts::<J>(self.partitions, runs);
        let mut partitions = 0..=cuts.len();
        self.progress.begin(Stage::Merging, report.pair_bytes);
        let (all_bytes, all_pairs) = (report.pair_bytes, report.shuffled_pairs);
        let read = || {
            self.progress.check()?;
            Ok(partitions.next())
        };
        let reduced = |partition: usize| {
            let from = partition.checked_sub(1).map(|before| &cuts[before]);
            let mut part = part();
            let range = (from, cuts.get(partition));
            let counts = reduce_range(job, runs, range, &(), &self.progress, |output| {
                push(&mut part, output)
            })?;
            self.progress
                .add(bytes_of(counts.pairs, all_pairs, all_bytes));
            Ok((part, counts))
        };
        let keep = |(part, counts): (P, Counts)| {
            self.progress.check()?;
            report.keys += counts.keys;
            report.outputs += counts.outputs;
            report.partition_pairs.push(counts.pairs);
            take(part)
        };
        Stages::new(self.threads.max(1), true).run(read, || &reduced, keep)?;
        Ok(())
    }
}

/// A runner whose reduce tasks are threads, for one kind of jobs.
pub(super) trait RunJob<J: Job> {
    /// The resources of reducing: threads, memory, scratch files.
    fn threads(&self) -> &Threads;

    /// Maps `input` to runs, and tells the job the notes.
    fn map(&self, job: &mut J, input: J::Input, sink: &mut MapSink) -> Result<Vec<Run>>;

    /// Runs `job` on `input`; see [`Threads::run`].
    fn run_job<P: Send>(
        &self,
        job: &mut J,
        input: J::Input,
        part: impl Fn() -> P + Sync,
        push: impl Fn(&mut P, J::Output<'_>) -> Result<()> + Sync,
        take: impl FnMut(P) -> Result<()>,
    ) -> Result<Report> {
        let threads = self.threads();
        let mut sink = MapSink {
            // Half for the runs, the rest for containers and buffers.
            spill: Spill::new(threads.memory_bytes / 2, &threads.scratch),
            report: Report::default(),
        };
        let started = Instant::now();
        let runs = self.map(job, input, &mut sink)?;
        let MapSink { spill, mut report } = sink;
        report.map = started.elapsed();
        log::info!(
            "map: {} runs in {:.3} s",
            runs.len(),
            report.map.as_secs_f64()
        );
        let started = Instant::now();
        let runs = threads.merge_many::<J>(job, runs, &spill)?;
        threads.reduce(job, &runs, &mut report, part, push, take)?;
        report.spilled_bytes = spill.spilled_bytes.into_inner();
        report.reduce = started.elapsed();
        log::info!(
            "reduce: {} keys in {:.3} s",
            report.keys,
            report.reduce.as_secs_f64()
        );
        Ok(report)
    }
}
