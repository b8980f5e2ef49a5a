//! The jobs that workers know, by name.

use std::any::Any;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::super::codec;
use super::super::cuts::{Boundary, Partitions};
use super::super::input::PortableInput;
use super::super::job::{Emitter, Job};
use super::super::merge::merge_runs;
use super::super::portable::{ListJob, Portable, Text, TextJob};
use super::super::reduce::{Counts, reduce_range};
use super::super::run::{Run, RunWriter};
use super::super::spill::Spill;
use super::super::threads::Threads;
use super::super::threads::map::Worker;
use super::protocol::{Task, Work};
use super::pulse::Pulse;
use super::stored::{self, OutputWriter};
use tokapi_storage::error::{Error, Result};
use tokapi_storage::progress::Progress;
use tokapi_text::corpus::Skipped;

/// The options of a job, on whichever worker its tasks run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Settings {
    /// Memory for a worker's pairs in bytes.
    pub memory_bytes: u64,
    pub partitions: Partitions,
    pub combine: bool,
    pub skip_bad: bool,
}

impl Settings {
    /// The same options on one thread.
    pub(super) fn threads(&self, scratch: &Path) -> Threads {
        Threads {
            threads: 1,
            memory_bytes: self.memory_bytes,
            scratch: scratch.to_path_buf(),
            partitions: self.partitions,
            combine: self.combine,
            skip_bad: self.skip_bad,
            ..Threads::default()
        }
    }
}

/// The content of a job's file: its options, the description of its reader, and the job.
pub(super) type JobFile<J> = (Settings, <<J as Job>::Input as PortableInput>::Reading, J);

/// The content of a shuffle's file: the job with the notes of its map tasks, their runs, and the
/// cuts of the partitions.
pub(super) type Shuffle<J> = (J, Vec<Run>, Vec<Boundary>);

/// The content of the file [`MAPPED`] of a map task: runs, number of pairs emitted, records
/// omitted.
pub(super) type MappedFile = (Vec<Run>, u64, Skipped);

/// A file in the folder of a map task.
pub(super) const MAPPED: &str = "mapped";
/// A file in the folder of a map task: its note.
pub(super) const NOTE: &str = "note";
/// A file in the folder of a merge task.
pub(super) const MERGED: &str = "merged";
/// A file in the folder of a reduce task.
pub(super) const OUTPUTS: &str = "outputs";

/// A worker's state of a job, kept from task to task.
type Kept = Option<(PathBuf, Box<dyn Any>)>;

/// Runs a task; its results go to the given folder.
type DoTask = fn(&Task, &Path, &mut Kept, &Pulse) -> Result<Counts>;

/// The jobs whose tasks a worker can run.
///
/// [`work`](crate::work) has an example.
#[derive(Default)]
pub struct Registry {
    jobs: BTreeMap<&'static str, DoTask>,
}

impl Registry {
    /// Adds a job whose outputs are text.
    pub fn text<J: TextJob + 'static>(mut self) -> Self {
        self.jobs.insert(J::NAME, |task, into, kept, pulse| {
            let store = |output: J::Output<'_>, bytes: &mut Vec<u8>| {
                output.push(bytes);
                Ok(())
            };
            do_task::<J>(task, into, kept, pulse, store)
        });
        self
    }

    /// Adds a job whose outputs are collected in a list.
    #[doc(hidden)]
    pub fn list<J: ListJob + 'static>(mut self) -> Self {
        self.jobs.insert(J::NAME, |task, into, kept, pulse| {
            let store =
                |output: J::Output<'_>, bytes: &mut Vec<u8>| codec::encode(&J::own(output), bytes);
            do_task::<J>(task, into, kept, pulse, store)
        });
        self
    }

    /// Runs a task, and renames its results into place. If another attempt was first, its results
    /// stay; they are the same.
    pub(super) fn run(&self, task: &Task, kept: &mut Kept, pulse: &Pulse) -> Result<Counts> {
        let run = self.jobs.get(&*task.job).ok_or_else(|| {
            Error::Usage(format!("this worker does not know the job `{}`", task.job))
        })?;
        let temporary = task.temporary();
        let failed = |source| Error::Scratch {
            path: temporary.clone(),
            source,
        };
        std::fs::create_dir(&temporary).map_err(failed)?;
        let done = run(task, &temporary, kept, pulse).and_then(|counts| {
            match std::fs::rename(&temporary, &task.output) {
                Err(source) if !task.output.is_dir() => Err(failed(source)),
                _ => Ok(counts),
            }
        });
        if temporary.exists() {
            // A file that cannot be removed now is removed with the folder of the job.
            let _ = std::fs::remove_dir_all(&temporary);
        }
        done
    }
}

/// A worker's state of a job.
struct Held<J: Job> {
    settings: Settings,
    worker: Worker<J>,
    job: J,
    /// Runs and cuts, with the file that they come from, once all map tasks have ended.
    shuffle: Option<(PathBuf, Vec<Run>, Vec<Boundary>)>,
}

fn hold<'k, J: Portable + 'static>(task: &Task, kept: &'k mut Kept) -> Result<&'k mut Held<J>> {
    if !matches!(kept, Some((file, _)) if *file == task.job_file) {
        let (settings, reading, job): JobFile<J> = stored::read(&task.job_file)?;
        let worker = Worker {
            reader: J::Input::reader_of(reading)?,
            emitter: emitter(&settings, &job),
        };
        let held = Held {
            settings,
            worker,
            job,
            shuffle: None,
        };
        *kept = Some((task.job_file.clone(), Box::new(held)));
    }
    let held = kept.as_mut().and_then(|(_, held)| held.downcast_mut());
    held.ok_or_else(|| Error::Verification("a file of one job was given for another".into()))
}

fn emitter<J: Job>(settings: &Settings, job: &J) -> Emitter<J> {
    let threads = settings.threads(Path::new(""));
    Emitter::new(threads.combiner(job), settings.skip_bad)
}

fn do_task<J: Portable + 'static>(
    task: &Task,
    into: &Path,
    kept: &mut Kept,
    pulse: &Pulse,
    store: impl Fn(J::Output<'_>, &mut Vec<u8>) -> Result<()>,
) -> Result<Counts> {
    let held = hold::<J>(task, kept)?;
    match &task.work {
        Work::Map(split) => map(held, task.number, split, into, pulse),
        Work::Merge(runs) => {
            let runs: Vec<Run> = stored::read(runs)?;
            let spill = Spill::into_folder(into);
            let run = RunWriter::new(Some(spill.create()?), 0);
            let run = merge_runs::<J>(&runs, held.job.value_order(), run, &Progress::new())?;
            stored::write(&into.join(MERGED), &run)?;
            Ok(Counts::default())
        }
        Work::Reduce(shuffle) => {
            if !matches!(&held.shuffle, Some((file, ..)) if file == shuffle) {
                let (job, runs, cuts): Shuffle<J> = stored::read(shuffle)?;
                held.job = job;
                held.shuffle = Some((shuffle.clone(), runs, cuts));
            }
            let (_, runs, cuts) = held.shuffle.as_ref().expect("it was read just now");
            let partition = task.number as usize;
            let from = partition.checked_sub(1).map(|before| &cuts[before]);
            let mut outputs = OutputWriter::create(&into.join(OUTPUTS))?;
            let range = (from, cuts.get(partition));
            let counts = reduce_range(&held.job, runs, range, pulse, &Progress::new(), |output| {
                outputs.push(|bytes| store(output, bytes))
            })?;
            outputs.finish()?;
            Ok(counts)
        }
    }
}

fn map<J: Portable>(
    held: &mut Held<J>,
    number: u32,
    split: &Path,
    into: &Path,
    pulse: &Pulse,
) -> Result<Counts> {
    let Held {
        settings,
        worker,
        job,
        ..
    } = held;
    let split: <J::Input as super::super::Input>::Split = stored::read(split)?;
    let threads = settings.threads(into);
    let spill = Spill::into_folder(into);
    let mapped = threads.map_split(job, worker, number, split, &spill, pulse);
    let mapped = mapped.and_then(|mapped| {
        let mut runs: Vec<Run> = mapped.runs.into_iter().map(|(_, run)| run).collect();
        // All pairs of a task must be in its runs: another worker may run the next task.
        if !worker.emitter.container().is_empty() {
            runs.push(threads.make_run(job, &mut worker.emitter, &spill)?);
        }
        stored::write(&into.join(NOTE), &mapped.note)?;
        Ok((runs, mapped.emitted, mapped.skipped))
    });
    if mapped.is_err() {
        // The pairs of a failed task must not enter another one.
        worker.emitter = emitter(settings, job);
    }
    let mapped: MappedFile = mapped?;
    stored::write(&into.join(MAPPED), &mapped)?;
    Ok(Counts::default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Input, Lines, jobs};

    #[test]
    fn of_two_attempts_at_a_task_the_results_of_the_first_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let settings = Settings {
            memory_bytes: 1 << 20,
            partitions: Partitions::Ranges(1),
            combine: true,
            skip_bad: false,
        };
        stored::write(&path("job"), &(settings, (), jobs::SortLines)).unwrap();
        let split = Lines::of_text("b\na\n", 1).next_split().unwrap().unwrap();
        stored::write(&path("split"), &split).unwrap();
        let task = |attempt| Task {
            job: jobs::SortLines::NAME.into(),
            job_file: path("job"),
            number: 0,
            attempt,
            work: Work::Map(path("split")),
            output: path("map-0"),
        };
        for attempt in 0..2 {
            let done = jobs::registry().run(&task(attempt), &mut None, &Pulse::default());
            assert_eq!(done.unwrap().keys, 0);
            // If the folder belonged to another attempt, this file would be missing the second
            // time.
            assert_eq!(path("map-0/of the first").exists(), attempt == 1);
            std::fs::write(path("map-0/of the first"), "").unwrap();
            assert!(!task(attempt).temporary().exists());
        }
    }
}
