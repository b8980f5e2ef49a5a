//! Worker processes: started, listened to, ended and reaped.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crossbeam_channel::{Receiver, Sender, unbounded};

use super::protocol::{Answer, Task};
use tokapi_storage::error::{Error, Result};

/// The worker program: it calls [`work`](super::work), which has an example of it.
///
/// ```
/// # use std::path::Path;
/// # use tokapi_mapreduce::jobs::WordCount;
/// # use tokapi_mapreduce::{Documents, ProcessOptions, Processes, Runner, WorkerCommand};
/// # use tokapi_storage::error::Result;
/// fn count(documents: Documents, options: ProcessOptions, output: &Path) -> Result<()> {
///     // A program that calls `work`.
///     let command = WorkerCommand { program: "worker".into(), arguments: Vec::new() };
///     let (staged, _) = Processes::new(command, options).text(&mut WordCount, documents, output)?;
///     staged.commit()
/// }
/// ```
#[derive(Debug, Clone)]
pub struct WorkerCommand {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

/// All workers, of all runners, that have been started and not reaped.
static STARTED: Mutex<BTreeMap<u64, Child>> = Mutex::new(BTreeMap::new());
static NEXT: AtomicU64 = AtomicU64::new(0);

fn started() -> MutexGuard<'static, BTreeMap<u64, Child>> {
    STARTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends all worker processes, and prevents new ones. It is for a program that a signal ends at
/// once, without dropping values.
pub fn end_workers() {
    let mut started = started();
    for child in started.values_mut() {
        reap(child);
    }
    // A thread that wants to start another worker waits forever.
    std::mem::forget(started);
}

/// Kills a process, even a suspended one, and reaps it, so that no zombie remains.
fn reap(child: &mut Child) -> Option<ExitStatus> {
    // Killing fails if the process has ended already.
    let _ = child.kill();
    child.wait().ok()
}

/// An event of a worker.
pub(super) enum Event {
    Answer(Answer),
    /// It wrote an invalid answer.
    Babble(String),
    /// Its standard output is closed: the worker is ending or has ended.
    Ended,
}

/// A worker process; ended and reaped when this is dropped.
pub(super) struct Worker {
    pub id: u64,
    stdin: ChildStdin,
    stderr: PathBuf,
}

impl Worker {
    /// Whether it is still running.
    fn lives(&self) -> bool {
        let mut started = started();
        let child = started.get_mut(&self.id);
        child.is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }

    /// Sends it a task. If the write fails, the worker has ended, which its reader will report.
    pub(super) fn give(&mut self, task: &Task) {
        // Serialization cannot fail: paths are bytes.
        let mut line = serde_json::to_string(task).unwrap_or_default();
        line.push('\n');
        let _ = self.stdin.write_all(line.as_bytes());
    }

    /// Ends it, and returns its exit status.
    pub(super) fn end(self) -> String {
        let status = started()
            .remove(&self.id)
            .and_then(|mut child| reap(&mut child));
        let said = std::fs::read(&self.stderr).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        let status = status.map_or_else(|| "an unknown status".into(), |s| s.to_string());
        match said.lines().rfind(|line| !line.trim().is_empty()) {
            Some(line) => format!("{status}: {line}"),
            None => status,
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(mut child) = started().remove(&self.id) {
            reap(&mut child);
        }
        let _ = std::fs::remove_file(&self.stderr);
    }
}

/// Starts workers, and receives all their events.
pub(super) struct Pool {
    command: WorkerCommand,
    /// The standard error of the workers.
    scratch: PathBuf,
    sender: Sender<(u64, Event)>,
    pub events: Receiver<(u64, Event)>,
    /// Idle workers.
    pub idle: Vec<Worker>,
}

impl Pool {
    pub(super) fn new(command: WorkerCommand, scratch: &Path) -> Self {
        let (sender, events) = unbounded();
        Pool {
            command,
            scratch: scratch.to_path_buf(),
            sender,
            events,
            idle: Vec::new(),
        }
    }

    /// An idle worker, or a new one. The death of an idle worker is not the failure of a task.
    pub(super) fn worker(&mut self) -> Result<Worker> {
        self.idle.retain(Worker::lives);
        match self.idle.pop() {
            Some(worker) => Ok(worker),
            None => self.start(),
        }
    }

    fn start(&self) -> Result<Worker> {
        let WorkerCommand { program, arguments } = &self.command;
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let stderr = self.scratch.join(format!("worker-{id}.stderr"));
        let file = File::create(&stderr).map_err(|source| Error::Scratch {
            path: stderr.clone(),
            source,
        })?;
        let mut command = Command::new(program);
        command.args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(file);
        let failed = |what: String| Error::Worker {
            task: program.display().to_string(),
            what,
        };
        let mut started = started();
        let spawned = command.spawn();
        let mut child = spawned.map_err(|error| failed(format!("no worker starts: {error}")))?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        started.insert(id, child);
        drop(started);
        let (stdin, stdout) = pipes.ok_or_else(|| failed("a worker has no pipes".into()))?;
        let worker = Worker { id, stdin, stderr };
        let sender = self.sender.clone();
        std::thread::spawn(move || {
            let lines = BufReader::new(stdout).split(b'\n');
            for line in lines.map_while(std::io::Result::ok) {
                let event = match serde_json::from_slice(&line) {
                    Ok(answer) => Event::Answer(answer),
                    Err(_) => Event::Babble(String::from_utf8_lossy(&line).into_owned()),
                };
                if sender.send((id, event)).is_err() {
                    return;
                }
            }
            // The receiver may have gone.
            let _ = sender.send((id, Event::Ended));
        });
        log::debug!("worker {id} started");
        Ok(worker)
    }
}
