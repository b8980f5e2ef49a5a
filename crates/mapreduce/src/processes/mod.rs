//! The runner `processes`: map and reduce tasks run in separate processes and exchange files.
//!
//! The coordinator cuts the input into splits and stores each in a file. Workers ([`work`]) map
//! splits to runs, merge runs if there are too many, and reduce partitions to files of outputs,
//! which the coordinator concatenates. A task is the name of a job and paths. Its results are a
//! folder, renamed into place when it is complete. If a worker dies, only its task is repeated.

mod phases;
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

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::codec;
use super::cuts::Partitions;
use super::job::Room;
use super::output::{Recorded, TextWriter, Written};
use super::portable::{ListJob, Portable, Runner, TextJob};
use super::records::RecordWriter;
use super::report::Report;
use super::spill::{Spill, scratch_folder};
use phases::Phases;
use pool::Pool;
use registry::Settings;
use tokapi_storage::error::Result;
use tokapi_storage::progress::Progress;
use tokapi_storage::scratch::frames::scratch;
use tokapi_storage::whole::StagedFolder;

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
        let phases = Phases {
            job: J::NAME,
            workers: self.workers,
            deadline: self.deadline,
            room: &self.room(),
            settings,
            pool: &mut state.pool,
            job_file: folder.join("job"),
            folder: &folder,
            report: Report::default(),
        };
        let done = phases.run(job, input, take);
        // A file that cannot be removed now is removed with the folder of the runner.
        let _ = fs::remove_dir_all(&folder);
        if self.progress.is_cancelled() {
            // No worker and no folder remains.
            *kept = None;
        }
        done
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

    fn text<J: TextJob>(&self, job: &mut J, input: J::Input, path: &Path) -> Result<Written> {
        let mut writer = TextWriter::create(path)?;
        let report = self.run(self.settings.clone(), job, input, |text| writer.push(text))?;
        Ok((writer.finish()?, report))
    }

    fn records<J: ListJob>(&self, job: &mut J, input: J::Input) -> Result<Recorded<J::Owned>> {
        let settings = Settings {
            partitions: self.settings.partitions.in_ranges(),
            ..self.settings.clone()
        };
        let room = self.room();
        let spill = Spill::new(room.memory_bytes / 4, &room.scratch);
        let spill = Arc::new(spill.following(&self.progress));
        let (mut records, mut stored) = (RecordWriter::new(&spill), 0);
        let report = self.run(settings, job, input, |mut bytes| {
            while !bytes.is_empty() {
                let before = bytes;
                // Read only to find its end.
                let _: J::Owned = codec::take(&mut bytes)?;
                records.push_encoded(&before[..before.len() - bytes.len()])?;
                stored += 1;
            }
            Ok(())
        })?;
        // Outputs of zero bytes are all equal.
        for _ in stored..report.outputs {
            records.push_encoded(&[])?;
        }
        Ok((records.finish()?, report))
    }
}
