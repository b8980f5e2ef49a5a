//! The runner `processes`: map and reduce tasks run in separate processes and exchange files.
//!
//! The coordinator cuts the input into splits and stores each in a file. Workers ([`work`]) map
//! splits to runs, merge runs if there are too many, and reduce partitions to files of outputs,
//! which the coordinator concatenates. A task is the name of a job and paths. Its results are a
//! folder, renamed into place when it is complete. If a worker dies, only its task is repeated.

mod pool;
mod protocol;
mod pulse;
mod registry;
mod schedule;
mod stored;
mod worker;

pub use pool::{WorkerCommand, end_workers};
pub use registry::Registry;
pub use worker::work;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::codec;
use super::cuts::{Boundary, Partitions, cuts};
use super::input::{Input, PortableInput};
use super::job::Room;
use super::output::TextWriter;
use super::portable::{ListJob, Portable, Runner, TextJob};
use super::records::{RecordWriter, Records};
use super::reduce::{Counts, bytes_of};
use super::report::Report;
use super::run::Run;
use super::spill::{Spill, scratch_folder};
use super::threads::Threads;
use pool::Pool;
use protocol::{Task, Work};
use registry::{MAPPED, MERGED, MappedFile, NOTE, OUTPUTS, Settings};
use schedule::Schedule;
use tokapi_storage::error::{Error, Result};
use tokapi_storage::progress::{Progress, Stage};
use tokapi_storage::scratch::frames::scratch;
use tokapi_storage::whole::{Staged, StagedFolder};

/// Runs jobs in worker processes; [`WorkerCommand`] has an example.
pub struct Processes {
    workers: usize,
    deadline: Duration,
    settings: Settings,
    command: WorkerCommand,
    scratch: PathBuf,
    progress: Progress,
    /// The state kept from job to job.
    state: Mutex<Option<State>>,
}

/// Options of the runner in processes; [`WorkerCommand`] has an example.
#[derive(Debug, Clone)]
pub struct ProcessOptions {
    /// The number of worker processes.
    pub workers: usize,
    /// A worker is killed, and its task repeated, if its job takes this long for a record or
    /// between two values or outputs of a key, or if the worker is suspended.
    pub deadline: Duration,
    /// Maximum memory for the pairs of all workers.
    pub memory_bytes: u64,
    /// The folder for files between tasks.
    pub scratch: PathBuf,
    /// The distribution of keys over reduce tasks.
    pub partitions: Partitions,
    /// Whether to use the job's combiner, if it has one.
    pub combine: bool,
    /// Whether to omit and report records at which `map` panics; otherwise the job stops.
    pub skip_bad: bool,
    /// Reports on the jobs, and can cancel them; workers are then killed.
    pub progress: Progress,
}

/// The workers end before the folder is removed.
struct State {
    pool: Pool,
    folder: StagedFolder,
    jobs: u64,
}

impl Processes {
    /// A runner that starts its workers by `command`.
    pub fn new(command: WorkerCommand, options: ProcessOptions) -> Self {
        let workers = options.workers.max(1);
        Processes {
            workers,
            deadline: options.deadline,
            settings: Settings {
                memory_bytes: options.memory_bytes / workers as u64,
                partitions: options.partitions,
                combine: options.combine,
                skip_bad: options.skip_bad,
            },
            command,
            scratch: options.scratch,
            progress: options.progress,
            state: Mutex::new(None),
        }
    }

    /// Runs `job` on `input`. `take` receives the stored outputs in pieces, in order.
    fn run<J: Portable>(
        &self,
        settings: Settings,
        job: &mut J,
        input: J::Input,
        take: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<Report> {
        let mut kept = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = match &mut *kept {
            Some(state) => state,
            none => {
                let folder = scratch_folder(&self.scratch)?;
                let pool = Pool::new(self.command.clone(), folder.temporary());
                none.insert(State {
                    pool,
                    folder,
                    jobs: 0,
                })
            }
        };
        state.jobs += 1;
        // Absolute paths: workers may have another working directory.
        let folder = state.folder.temporary();
        let folder = folder.canonicalize().map_err(scratch(folder))?;
        let folder = folder.join(format!("job-{}", state.jobs));
        fs::create_dir(&folder).map_err(scratch(&folder))?;
        let mut phases = Phases {
            job_file: folder.join("job"),
            folder,
            runner: self,
            settings,
            pool: &mut state.pool,
            report: Report::default(),
        };
        let done = phases.run(job, input, take);
        let Phases { folder, report, .. } = phases;
        // A file that cannot be removed now is removed with the folder of the runner.
        let _ = fs::remove_dir_all(&folder);
        if self.progress.is_cancelled() {
            // No worker and no folder remains.
            *kept = None;
        }
        done.map(|()| report)
    }
}

/// One job, phase by phase.
struct Phases<'a> {
    runner: &'a Processes,
    settings: Settings,
    pool: &'a mut Pool,
    /// The folder of its files.
    folder: PathBuf,
    job_file: PathBuf,
    report: Report,
}

impl Phases<'_> {
    fn run<J: Portable>(
        &mut self,
        job: &mut J,
        input: J::Input,
        take: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let started = Instant::now();
        input.begin(&self.runner.progress);
        let described = (&self.settings, input.reading(), &*job);
        stored::write(&self.job_file, &described)?;
        let runs = self.map::<J>(input)?;
        self.report.map = started.elapsed();
        log::info!(
            "map: {} runs in {:.3} s",
            runs.len(),
            self.report.map.as_secs_f64()
        );
        let started = Instant::now();
        let notes = self.notes::<J>()?;
        job.all_mapped(&notes, &self.runner.room())?;
        drop(notes);
        let runs = self.merge_many::<J>(runs)?;
        let cuts = cuts::<J>(self.settings.partitions, &runs);
        let file = self.folder.join("shuffle");
        stored::write(&file, &(&*job, runs, &cuts))?;
        self.reduce::<J>(file, &cuts, take)?;
        self.report.reduce = started.elapsed();
        log::info!("reduce: {} keys", self.report.keys);
        Ok(())
    }

    fn task<J: Portable>(&self, phase: &str, number: u32, work: Work) -> Task {
        Task {
            job: J::NAME.into(),
            job_file: self.job_file.clone(),
            number,
            attempt: 0,
            work,
            output: self.folder.join(format!("{phase}-{number}")),
        }
    }

    /// Runs the tasks of a phase.
    fn schedule(
        &mut self,
        next: impl FnMut() -> Result<Option<Task>>,
        done: impl FnMut(&Task, Counts) -> Result<()>,
        name: impl Fn(&Task) -> String,
    ) -> Result<()> {
        let Processes {
            workers,
            deadline,
            progress,
            ..
        } = self.runner;
        let mut schedule = Schedule::new(self.pool, *workers, *deadline, progress);
        let outcome = schedule.run(next, done, name);
        self.report.reruns += schedule.reruns;
        self.report.stragglers += schedule.stragglers;
        outcome
    }

    /// The notes of all map tasks, in order.
    fn notes<J: Portable>(&self) -> Result<Records<J::Note>> {
        let threads = Threads {
            progress: self.runner.progress.clone(),
            ..self.settings.threads(&self.folder)
        };
        let mut notes = threads.notes();
        for number in 0..self.report.splits {
            self.runner.progress.check()?;
            let file = self.folder.join(format!("map-{number}")).join(NOTE);
            notes.push(&stored::read(&file)?)?;
            // A file that cannot be removed now is removed with the folder of the job.
            let _ = fs::remove_file(file);
        }
        notes.finish()
    }

    fn map<J: Portable>(&mut self, mut input: J::Input) -> Result<Vec<Run>> {
        let mut numbers = 0..;
        let first = self.task::<J>("map", 0, Work::Map(PathBuf::new()));
        let folder = self.folder.clone();
        let next = || {
            let Some((split, number)) = input.next_split()?.zip(numbers.next()) else {
                return Ok(None);
            };
            let file = folder.join(format!("split-{number}"));
            input.passed(&split);
            stored::write(&file, &split)?;
            Ok(Some(Task {
                number,
                work: Work::Map(file),
                output: folder.join(format!("map-{number}")),
                ..first.clone()
            }))
        };
        let mut all: BTreeMap<u32, MappedFile> = BTreeMap::new();
        let done = |task: &Task, _| {
            let mut mapped: MappedFile = stored::read(&task.output.join(MAPPED))?;
            mapped
                .0
                .iter_mut()
                .for_each(|run| run.move_to(&task.output));
            all.insert(task.number, mapped);
            if let Work::Map(split) = &task.work {
                let _ = fs::remove_file(split);
            }
            Ok(())
        };
        let name = |task: &Task| match &task.work {
            Work::Map(split) => match stored::read(split) {
                Ok(split) => format!("map task on {}", J::Input::place(&split)),
                Err(error) => format!("map task on a split that is gone ({error})"),
            },
            _ => String::new(),
        };
        self.schedule(next, done, name)?;
        let report = &mut self.report;
        let mut runs = Vec::new();
        for (mut mapped, emitted, skipped) in all.into_values() {
            runs.append(&mut mapped);
            report.emitted_pairs += emitted;
            report.skipped.append(skipped);
            report.splits += 1;
        }
        report.runs = runs.len() as u64;
        report.shuffled_pairs = runs.iter().map(|run| run.pairs).sum();
        report.pair_bytes = runs.iter().map(|run| run.pair_bytes).sum();
        report.shuffled_bytes = runs.iter().map(|run| run.bytes).sum();
        report.spilled_bytes = report.shuffled_bytes;
        Ok(runs)
    }

    /// Merges neighbouring runs until all can be read at the same time.
    fn merge_many<J: Portable>(&mut self, mut runs: Vec<Run>) -> Result<Vec<Run>> {
        let most = self.settings.threads(Path::new("")).most_runs();
        for pass in 0.. {
            if runs.len() <= most {
                break;
            }
            log::info!("merging {} runs, {most} at a time", runs.len());
            let phase = format!("merge-{pass}");
            let mut tasks = Vec::new();
            for (some, number) in runs.chunks(most).zip(0..) {
                let file = self.folder.join(format!("runs-{pass}-{number}"));
                stored::write(&file, &some)?;
                tasks.push(self.task::<J>(&phase, number, Work::Merge(file)));
            }
            let mut merged = BTreeMap::new();
            let done = |task: &Task, _| {
                let mut run: Run = stored::read(&task.output.join(MERGED))?;
                run.move_to(&task.output);
                merged.insert(task.number, run);
                Ok(())
            };
            let mut tasks = tasks.into_iter();
            let name = |task: &Task| format!("merge task {}", task.number + 1);
            self.schedule(|| Ok(tasks.next()), done, name)?;
            runs.drain(..).for_each(Run::remove);
            runs = merged.into_values().collect();
            self.report.spilled_bytes += runs.iter().map(|run| run.bytes).sum::<u64>();
        }
        Ok(runs)
    }

    fn reduce<J: Portable>(
        &mut self,
        shuffle: PathBuf,
        cuts: &[Boundary],
        mut take: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let partitions = u32::try_from(cuts.len() + 1)
            .map_err(|_| Error::Limit("there are 2^32 or more partitions; make fewer".into()))?;
        let task = self.task::<J>("reduce", 0, Work::Reduce(shuffle));
        let folder = self.folder.clone();
        let output = |number: u32| folder.join(format!("reduce-{number}"));
        let mut numbers = 0..partitions;
        let next = || {
            Ok(numbers.next().map(|number| Task {
                number,
                output: output(number),
                ..task.clone()
            }))
        };
        let mut all: BTreeMap<u32, Counts> = BTreeMap::new();
        let progress = &self.runner.progress;
        progress.begin(Stage::Merging, self.report.pair_bytes);
        let (bytes, pairs) = (self.report.pair_bytes, self.report.shuffled_pairs);
        let done = |task: &Task, counts: Counts| {
            progress.add(bytes_of(counts.pairs, pairs, bytes));
            all.insert(task.number, counts);
            Ok(())
        };
        let name = |task: &Task| {
            let partition = format!(
                "reduce task on partition {} of {partitions}",
                task.number + 1
            );
            let cut = task
                .number
                .checked_sub(1)
                .map(|before| &cuts[before as usize]);
            match cut.and_then(Boundary::first_key) {
                Some(key) => format!("{partition}, keys from {key} on"),
                None => partition,
            }
        };
        self.schedule(next, done, name)?;
        for (number, counts) in all {
            self.report.keys += counts.keys;
            self.report.outputs += counts.outputs;
            self.report.partition_pairs.push(counts.pairs);
            let file = output(number).join(OUTPUTS);
            let mut frames = stored::frames(&file)?;
            while let Some(frame) = frames.next()? {
                self.runner.progress.check()?;
                take(frame)?;
            }
            fs::remove_file(&file).map_err(scratch(&file))?;
        }
        Ok(())
    }
}

impl Runner for Processes {
    fn tasks(&self) -> usize {
        self.workers
    }

    fn room(&self) -> Room {
        let room = self.settings.threads(&self.scratch).room();
        Room {
            progress: self.progress.clone(),
            ..room
        }
    }

    fn progress(&self) -> &Progress {
        &self.progress
    }

    fn text<J: TextJob>(
        &self,
        job: &mut J,
        input: J::Input,
        path: &Path,
    ) -> Result<(Staged, Report)> {
        let mut writer = TextWriter::create(path)?;
        let report = self.run(self.settings.clone(), job, input, |text| writer.push(text))?;
        Ok((writer.finish()?, report))
    }

    fn list<J: ListJob>(&self, job: &mut J, input: J::Input) -> Result<(Vec<J::Owned>, Report)> {
        let mut all = Vec::new();
        let report = self.run(self.settings.clone(), job, input, |mut bytes| {
            while !bytes.is_empty() {
                all.push(codec::take(&mut bytes)?);
            }
            Ok(())
        })?;
        // Outputs of zero bytes are all equal.
        while (all.len() as u64) < report.outputs {
            all.push(codec::decode(&[])?);
        }
        Ok((all, report))
    }

    fn records<J: ListJob>(
        &self,
        job: &mut J,
        input: J::Input,
    ) -> Result<(Records<J::Owned>, Report)> {
        let settings = Settings {
            partitions: self.settings.partitions.in_ranges(),
            ..self.settings.clone()
        };
        let room = self.room();
        let spill = Spill::new(room.memory_bytes / 4, &room.scratch);
        let spill = Arc::new(spill.following(&self.progress));
        let mut records = RecordWriter::new(&spill);
        let report = self.run(settings, job, input, |mut bytes| {
            while !bytes.is_empty() {
                let before = bytes;
                // Read only to find its end.
                let _: J::Owned = codec::take(&mut bytes)?;
                records.push_encoded(&before[..before.len() - bytes.len()])?;
            }
            Ok(())
        })?;
        Ok((records.finish()?, report))
    }
}
