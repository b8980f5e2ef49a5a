//! Map tasks on threads. Each worker has its own container; full containers become sorted runs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::super::codec;
use super::super::cuts::Partitions;
use super::super::guard::guarded;
use super::super::input::{Input, Reader};
use super::super::job::{Emitter, Job, Record};
use super::super::records::{RecordWriter, Records};
use super::super::report::Report;
use super::super::run::Run;
use super::super::spill::Spill;
use super::super::values::Combine;
use super::super::watch::Watch;
use super::{RunJob, Threads};
use tokapi_storage::error::{Error, Result};
use tokapi_storage::pipeline::Stages;
use tokapi_storage::progress::Progress;
use tokapi_text::corpus::Skipped;

/// A run with its sort key: the number of its split, and its number in the split.
pub(crate) type Numbered = ((u32, u32), Run);

/// A map worker: a reader, and a container of pairs.
pub(crate) struct Worker<J: Job> {
    pub reader: <J::Input as Input>::Reader,
    pub emitter: Emitter<J>,
}

/// The result of a map task.
pub(crate) struct Mapped<J: Job> {
    pub runs: Vec<Numbered>,
    pub note: J::Note,
    pub emitted: u64,
    pub skipped: Skipped,
}

/// Receives the pairs of the map phase.
pub(crate) struct MapSink {
    /// The storage of runs.
    pub spill: Spill,
    pub report: Report,
}

impl<J: Job> RunJob<J> for Threads {
    fn threads(&self) -> &Threads {
        self
    }

    fn map(&self, job: &mut J, mut input: J::Input, sink: &mut MapSink) -> Result<Vec<Run>> {
        let MapSink { spill, report } = sink;
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
}

impl Threads {
    pub(crate) fn combiner<J: Job>(&self, job: &J) -> Option<Combine<J::Value>> {
        job.combiner().filter(|_| self.combine)
    }

    /// The storage of map tasks' notes.
    pub(crate) fn notes<N>(&self) -> RecordWriter<N> {
        let spill = Spill::new(self.memory_bytes / 16, &self.scratch).following(&self.progress);
        RecordWriter::new(&Arc::new(spill))
    }

    /// Maps the records of a split.
    pub(crate) fn map_split<J: Job>(
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
    pub(crate) fn map_record<J: Job>(
        &self,
        job: &J,
        record: Record<'_, J>,
        emitter: &mut Emitter<J>,
        bad: &mut Skipped,
        watch: &impl Watch,
    ) -> Result<()> {
        let mapped = guarded(watch, || job.map(record, emitter));
        let panicked = mapped
            .err()
            .map(|panic| format!("the map function failed: {panic}"));
        let Some(what) = panicked.or_else(|| emitter.take_rejected()) else {
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
    pub(crate) fn make_run<J: Job>(
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
}

impl Report {
    /// Records the end of a map task, and passes on its runs.
    pub(crate) fn take_mapped<J: Job>(&mut self, mut mapped: Mapped<J>, runs: &mut Vec<Numbered>) {
        runs.append(&mut mapped.runs);
        self.emitted_pairs += mapped.emitted;
        self.skipped.append(mapped.skipped);
        self.splits += 1;
    }

    /// Records all runs, and returns them in order.
    pub(crate) fn take_runs(&mut self, mut runs: Vec<Numbered>) -> Vec<Run> {
        runs.sort_by_key(|&(number, _)| number);
        let runs: Vec<Run> = runs.into_iter().map(|(_, run)| run).collect();
        self.count_runs(&runs);
        runs
    }

    /// Records the sizes of all runs.
    pub(crate) fn count_runs(&mut self, runs: &[Run]) {
        self.runs = runs.len() as u64;
        self.shuffled_pairs = runs.iter().map(|run| run.pairs).sum();
        self.pair_bytes = runs.iter().map(|run| run.pair_bytes).sum();
        self.shuffled_bytes = runs.iter().map(|run| run.bytes).sum();
    }
}

/// Maps all splits of `input` with `workers`, each on its own thread.
pub(crate) fn map_splits<J: Job, W: Send>(
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
