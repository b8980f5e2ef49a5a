//! A job in worker processes, phase by phase: map, merge, reduce. Tasks exchange files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::super::cuts::{Boundary, cuts};
use super::super::input::{Input, PortableInput};
use super::super::job::Room;
use super::super::portable::Portable;
use super::super::records::Records;
use super::super::reduce::{Counts, bytes_of};
use super::super::report::Report;
use super::super::run::Run;
use super::super::threads::Threads;
use super::pool::Pool;
use super::protocol::{Task, Work};
use super::registry::{MAPPED, MERGED, MappedFile, NOTE, OUTPUTS, Settings};
use super::schedule::Schedule;
use super::stored;
use tokapi_storage::error::{Error, Result};
use tokapi_storage::progress::Stage;
use tokapi_storage::scratch::frames::scratch;

/// One job, phase by phase.
pub(super) struct Phases<'a> {
    /// The name of the job.
    pub job: &'static str,
    pub workers: usize,
    pub deadline: Duration,
    /// The resources for the job's own tables.
    pub room: &'a Room,
    pub settings: Settings,
    pub pool: &'a mut Pool,
    /// The folder of its files.
    pub folder: &'a Path,
    pub job_file: PathBuf,
    pub report: Report,
}

impl Phases<'_> {
    /// Runs `job` on `input`. `take` receives the stored outputs in pieces, in order.
    pub(super) fn run<J: Portable>(
        mut self,
        job: &mut J,
        input: J::Input,
        mut take: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<Report> {
        let started = Instant::now();
        input.begin(&self.room.progress);
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
        job.all_mapped(&notes, self.room)?;
        drop(notes);
        let runs = self.merge_many(runs)?;
        let cuts = cuts::<J>(self.settings.partitions, &runs);
        let file = self.folder.join("shuffle");
        stored::write(&file, &(&*job, runs, &cuts))?;
        self.reduce(file, &cuts, &mut take)?;
        self.report.reduce = started.elapsed();
        log::info!("reduce: {} keys", self.report.keys);
        Ok(self.report)
    }

    fn task(&self, phase: &str, number: u32, work: Work) -> Task {
        Task {
            job: self.job.into(),
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
        next: &mut dyn FnMut() -> Result<Option<Task>>,
        done: &mut dyn FnMut(&Task, Counts) -> Result<()>,
        name: &dyn Fn(&Task) -> String,
    ) -> Result<()> {
        let progress = &self.room.progress;
        let mut schedule = Schedule::new(self.pool, self.workers, self.deadline, progress);
        let outcome = schedule.run(next, done, name);
        self.report.reruns += schedule.reruns;
        self.report.stragglers += schedule.stragglers;
        outcome
    }

    /// The notes of all map tasks, in order.
    fn notes<J: Portable>(&self) -> Result<Records<J::Note>> {
        let threads = Threads {
            progress: self.room.progress.clone(),
            ..self.settings.threads(self.folder)
        };
        let mut notes = threads.notes();
        for number in 0..self.report.splits {
            self.room.progress.check()?;
            let file = self.folder.join(format!("map-{number}")).join(NOTE);
            notes.push(&stored::read(&file)?)?;
            // A file that cannot be removed now is removed with the folder of the job.
            let _ = fs::remove_file(file);
        }
        notes.finish()
    }

    fn map<J: Portable>(&mut self, mut input: J::Input) -> Result<Vec<Run>> {
        let mut numbers = 0..;
        let first = self.task("map", 0, Work::Map(PathBuf::new()));
        let folder = self.folder;
        let mut next = || {
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
        let mut done = |task: &Task, _| {
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
        self.schedule(&mut next, &mut done, &name)?;
        let report = &mut self.report;
        let mut runs = Vec::new();
        for (mut mapped, emitted, skipped) in all.into_values() {
            runs.append(&mut mapped);
            report.emitted_pairs += emitted;
            report.skipped.append(skipped);
            report.splits += 1;
        }
        report.count_runs(&runs);
        report.spilled_bytes = report.shuffled_bytes;
        Ok(runs)
    }

    /// Merges neighbouring runs until all can be read at the same time.
    fn merge_many(&mut self, mut runs: Vec<Run>) -> Result<Vec<Run>> {
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
                tasks.push(self.task(&phase, number, Work::Merge(file)));
            }
            let mut merged = BTreeMap::new();
            let mut done = |task: &Task, _| {
                let mut run: Run = stored::read(&task.output.join(MERGED))?;
                run.move_to(&task.output);
                merged.insert(task.number, run);
                Ok(())
            };
            let mut tasks = tasks.into_iter();
            let name = |task: &Task| format!("merge task {}", task.number + 1);
            self.schedule(&mut || Ok(tasks.next()), &mut done, &name)?;
            runs.drain(..).for_each(Run::remove);
            runs = merged.into_values().collect();
            self.report.spilled_bytes += runs.iter().map(|run| run.bytes).sum::<u64>();
        }
        Ok(runs)
    }

    fn reduce(
        &mut self,
        shuffle: PathBuf,
        cuts: &[Boundary],
        take: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let partitions = u32::try_from(cuts.len() + 1)
            .map_err(|_| Error::Limit("there are 2^32 or more partitions; make fewer".into()))?;
        let task = self.task("reduce", 0, Work::Reduce(shuffle));
        let folder = self.folder;
        let output = |number: u32| folder.join(format!("reduce-{number}"));
        let mut numbers = 0..partitions;
        let mut next = || {
            Ok(numbers.next().map(|number| Task {
                number,
                output: output(number),
                ..task.clone()
            }))
        };
        let mut all: BTreeMap<u32, Counts> = BTreeMap::new();
        let room = self.room;
        let progress = &room.progress;
        progress.begin(Stage::Merging, self.report.pair_bytes);
        let (bytes, pairs) = (self.report.pair_bytes, self.report.shuffled_pairs);
        let mut done = |task: &Task, counts: Counts| {
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
        self.schedule(&mut next, &mut done, &name)?;
        for (number, counts) in all {
            self.report.keys += counts.keys;
            self.report.outputs += counts.outputs;
            self.report.partition_pairs.push(counts.pairs);
            let file = output(number).join(OUTPUTS);
            let mut frames = stored::frames(&file)?;
            while let Some(frame) = frames.next()? {
                self.room.progress.check()?;
                take(frame)?;
            }
            fs::remove_file(&file).map_err(scratch(&file))?;
        }
        Ok(())
    }
}
