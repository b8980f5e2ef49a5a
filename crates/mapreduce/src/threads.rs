//! The runner `threads`: map and reduce tasks on the threads of this process.
//!
//! Map workers take splits from a queue. Each has its own container; full containers become sorted
//! runs. Reduce workers take partitions, and merge the runs of each. Outputs are returned in the
//! order of partitions; they depend on neither threads, splits nor memory.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::codec;
use super::cuts::{Partitions, cuts};
use super::guard::guarded;
use super::input::{Input, Reader};
use super::job::{Emitter, Job, Record, Room};
use super::merge::merge_runs;
use super::records::{RecordWriter, Records};
use super::reduce::{Counts, bytes_of, reduce_range};
use super::report::Report;
use super::run::{FRAME_BYTES, Run};
use super::spill::Spill;
use super::values::Combine;
use super::watch::Watch;
use tokapi_storage::error::{Error, Result};
use tokapi_storage::pipeline::Stages;
use tokapi_storage::progress::{Progress, Stage};
use tokapi_text::corpus::Skipped;

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

/// A run with its sort key: the number of its split, and its number in the split.
pub(super) type Numbered = ((u32, u32), Run);

/// A map worker: a reader, and a container of pairs.
pub(super) struct Worker<J: Job> {
    pub reader: <J::Input as Input>::Reader,
    pub emitter: Emitter<J>,
}

/// The result of a map task.
pub(super) struct Mapped<J: Job> {
    pub runs: Vec<Numbered>,
    pub note: J::Note,
    pub emitted: u64,
    pub skipped: Skipped,
}

impl Threads {
    /// Runs `job` on `input`. `part` creates a collector for every partition, `push` adds an
    /// output to it, and `take` receives the collectors in order.
    ///
    /// # Errors
    /// The input cannot be read; `map` panicked and such records are not skipped, or `reduce`
    /// panicked; scratch files cannot be written; an error of `push` or `take`;
    /// [`Error::Cancelled`].
    pub fn run<J: Job, P: Send>(
        &self,
        job: &mut J,
        input: J::Input,
        part: impl Fn() -> P + Sync,
        push: impl Fn(&mut P, J::Output<'_>) -> Result<()> + Sync,
        take: impl FnMut(P) -> Result<()>,
    ) -> Result<Report> {
        let map =
            |job: &mut J, spill: &Spill, report: &mut Report| self.map(job, input, spill, report);
        self.run_with(job, map, part, push, take)
    }

    /// Runs a job with `map` as its source of pairs.
    pub(super) fn run_with<J: Job, P: Send>(
        &self,
        job: &mut J,
        map: impl FnOnce(&mut J, &Spill, &mut Report) -> Result<Vec<Run>>,
        part: impl Fn() -> P + Sync,
        push: impl Fn(&mut P, J::Output<'_>) -> Result<()> + Sync,
        take: impl FnMut(P) -> Result<()>,
    ) -> Result<Report> {
        let mut report = Report::default();
        // Half for the runs, the rest for containers and buffers.
        let spill = Spill::new(self.memory_bytes / 2, &self.scratch);
        let started = Instant::now();
        let runs = map(job, &spill, &mut report)?;
        report.map = started.elapsed();
        log::info!(
            "map: {} runs in {:.3} s",
            runs.len(),
            report.map.as_secs_f64()
        );
        let started = Instant::now();
        let runs = self.merge_many::<J>(job, runs, &spill)?;
        self.reduce(job, &runs, &mut report, part, push, take)?;
        report.spilled_bytes = spill.spilled_bytes.into_inner();
        report.reduce = started.elapsed();
        log::info!(
            "reduce: {} keys in {:.3} s",
            report.keys,
            report.reduce.as_secs_f64()
        );
        Ok(report)
    }

    /// The same options with partitions as ranges of keys.
    pub(super) fn in_key_order(&self) -> Threads {
        Threads {
            partitions: self.partitions.in_ranges(),
            ..self.clone()
        }
    }

    pub(super) fn combiner<J: Job>(&self, job: &J) -> Option<Combine<J::Value>> {
        job.combiner().filter(|_| self.combine)
    }

    fn map<J: Job>(
        &self,
        job: &mut J,
        mut input: J::Input,
        spill: &Spill,
        report: &mut Report,
    ) -> Result<Vec<Run>> {
        let threads = self.threads.max(1);
        if self.combiner(job).is_some() {
            input.split_finely();
        }
        let workers: Vec<Mutex<Worker<J>>> = (0..threads)
            .map(|_| {
                Mutex::new(Worker {
                    reader: input.reader(),
                    emitter: Emitter::new(self.combiner(job), self.skip_bad),
                })
            })
            .collect();
        let this = &*job;
        let map = |worker: &mut Worker<J>, number, split| {
            self.map_split(this, worker, number, split, spill, &())
        };
        let notes = self.notes();
        let (mut runs, notes) = map_splits(input, &workers, map, notes, report, &self.progress)?;
        // Combining containers have held the pairs of all splits until now.
        let rest = Mutex::new(Vec::new());
        let flush = |worker: &Mutex<Worker<J>>| -> Result<()> {
            let emitter = &mut lock(worker).emitter;
            if !emitter.container().is_empty() {
                let run = self.make_run(this, emitter, spill)?;
                lock(&rest).push(((u32::MAX, 0), run));
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let flush = &flush;
            let flushing: Vec<_> = workers
                .iter()
                .map(|worker| scope.spawn(move || flush(worker)))
                .collect();
            flushing.into_iter().try_for_each(|thread| {
                let outcome = thread.join();
                outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
        })?;
        drop(workers);
        runs.append(&mut rest.into_inner().unwrap_or_else(PoisonError::into_inner));
        let runs = report.take_runs(runs);
        job.all_mapped(&notes, &self.room())?;
        Ok(runs)
    }

    /// The storage of map tasks' notes.
    pub(super) fn notes<N>(&self) -> RecordWriter<N> {
        let spill = Spill::new(self.memory_bytes / 16, &self.scratch).following(&self.progress);
        RecordWriter::new(&Arc::new(spill))
    }

    /// The resources for a job's tables.
    pub(super) fn room(&self) -> Room {
        Room {
            memory_bytes: self.memory_bytes / 4,
            scratch: self.scratch.clone(),
            progress: self.progress.clone(),
        }
    }

    /// Maps the records of a split.
    pub(super) fn map_split<J: Job>(
        &self,
        job: &J,
        worker: &mut Worker<J>,
        number: u32,
        split: <J::Input as Input>::Split,
        spill: &Spill,
        watch: &impl Watch,
    ) -> Result<Mapped<J>> {
        let most_bytes = self.memory_bytes / 4 / self.threads.max(1) as u64;
        // Places in a container have 32 bits.
        let most_bytes = most_bytes.min(1 << 31);
        let Worker { reader, emitter } = worker;
        let (mut runs, mut bad) = (Vec::new(), Skipped::default());
        let mut skipped = reader.read(number, split, &mut |record| {
            self.progress.check()?;
            self.map_record(job, record, emitter, &mut bad, watch)?;
            if emitter.container().memory_bytes() as u64 > most_bytes {
                runs.push((
                    (number, runs.len() as u32),
                    self.make_run(job, emitter, spill)?,
                ));
            }
            Ok(())
        })?;
        skipped.append(bad);
        if !emitter.container().combines() && !emitter.container().is_empty() {
            runs.push((
                (number, runs.len() as u32),
                self.make_run(job, emitter, spill)?,
            ));
        }
        let (note, emitted) = emitter.end_task();
        Ok(Mapped {
            runs,
            note,
            emitted,
            skipped,
        })
    }

    /// Maps a record. A record that fails is omitted if errors are skipped.
    pub(super) fn map_record<J: Job>(
        &self,
        job: &J,
        record: Record<'_, J>,
        emitter: &mut Emitter<J>,
        bad: &mut Skipped,
        watch: &impl Watch,
    ) -> Result<()> {
        let mapped = guarded(watch, || job.map(record, emitter));
        let Some(what) = mapped.err().or_else(|| emitter.take_rejected()) else {
            return emitter.end_record();
        };
        let input = record.to_string();
        let error = Error::Map { input, what };
        if !self.skip_bad {
            return Err(error);
        }
        bad.add(|| error);
        emitter.take_back();
        Ok(())
    }

    /// Makes a run of a container's content.
    pub(super) fn make_run<J: Job>(
        &self,
        job: &J,
        emitter: &mut Emitter<J>,
        spill: &Spill,
    ) -> Result<Run> {
        let partition = |key: &J::Key<'_>, bytes: &[u8]| match self.partitions {
            Partitions::Hashed(count) => job.partition(key, codec::hash(bytes), count.max(1)),
            Partitions::Ranges(_) => 0,
        };
        let order = job.value_order();
        spill.write(emitter.container().run_bytes(), |run| {
            emitter.write(run, order, partition, &self.progress)
        })
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

impl Report {
    /// Records the end of a map task, and passes on its runs.
    pub(super) fn take_mapped<J: Job>(&mut self, mut mapped: Mapped<J>, runs: &mut Vec<Numbered>) {
        runs.append(&mut mapped.runs);
        self.emitted_pairs += mapped.emitted;
        self.skipped.append(mapped.skipped);
        self.splits += 1;
    }

    /// Records all runs, and returns them in order.
    pub(super) fn take_runs(&mut self, mut runs: Vec<Numbered>) -> Vec<Run> {
        runs.sort_by_key(|&(number, _)| number);
        let runs: Vec<Run> = runs.into_iter().map(|(_, run)| run).collect();
        self.runs = runs.len() as u64;
        self.shuffled_pairs = runs.iter().map(|run| run.pairs).sum();
        self.pair_bytes = runs.iter().map(|run| run.pair_bytes).sum();
        self.shuffled_bytes = runs.iter().map(|run| run.bytes).sum();
        runs
    }
}

/// Maps all splits of `input` with `workers`, each on its own thread.
pub(super) fn map_splits<J: Job, W: Send>(
    mut input: J::Input,
    workers: &[Mutex<W>],
    map: impl Fn(&mut W, u32, <J::Input as Input>::Split) -> Result<Mapped<J>> + Sync,
    mut notes: RecordWriter<J::Note>,
    report: &mut Report,
    progress: &Progress,
) -> Result<(Vec<Numbered>, Records<J::Note>)> {
    let mut numbers = 0..;
    input.begin(progress);
    let read = || {
        progress.check()?;
        Ok(input
            .next_split()?
            .and_then(|split| numbers.next().zip(Some(split))))
    };
    let next_worker = AtomicUsize::new(0);
    let worker = || {
        let worker = &workers[next_worker.fetch_add(1, Ordering::Relaxed) % workers.len()];
        let map = &map;
        move |(number, split)| map(&mut lock(worker), number, split)
    };
    let mut runs = Vec::new();
    let keep = |mapped: Mapped<J>| {
        notes.push(&mapped.note)?;
        report.take_mapped(mapped, &mut runs);
        Ok(())
    };
    Stages::new(workers.len(), true).run(read, worker, keep)?;
    Ok((runs, notes.finish()?))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
