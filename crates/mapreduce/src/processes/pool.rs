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

/// The program that is a worker: it calls [`work`](super::work).
#[derive(Debug, Clone)]
pub struct WorkerCommand {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

/// All workers that have been started and not reaped, of all runners.
static STARTED: Mutex<BTreeMap<u64, Child>> = Mutex::new(BTreeMap::new());
static NEXT: AtomicU64 = AtomicU64::new(0);

fn started() -> MutexGuard<'static, BTreeMap<u64, Child>> {
    STARTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends all worker processes, and lets none start from now on: for a program that ends here and
/// now because of a signal, and so drops nothing.
pub fn end_workers() {
    let mut started = started();
    for child in started.values_mut() {
        reap(child);
    }
    // Whoever would start another waits for ever.
    std::mem::forget(started);
}

/// Kills a process, also one that is stopped, and takes note of its end, so that it is no zombie.
fn reap(child: &mut Child) -> Option<ExitStatus> {
    // What has ended already cannot be killed.
    let _ = child.kill();
    child.wait().ok()
}

/// What happened to a worker.
pub(super) enum Event {
    Answer(Answer),
    /// It said something that is no answer.
    Babble(String),
    /// Its standard output is closed: it ends or has ended.
    Ended,
}

/// A worker process; ended and reaped when this is dropped.
pub(super) struct Worker {
    pub id: u64,
    stdin: ChildStdin,
    stderr: PathBuf,
}

impl Worker {
    /// Whether it has not ended.
    fn lives(&self) -> bool {
        let mut started = started();
        let child = started.get_mut(&self.id);
        child.is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }

    /// Gives it a task. Where it does not take it, it has ended, and that will be heard.
    pub(super) fn give(&mut self, task: &Task) {
        // Fails for no task: paths are bytes.
        let mut line = serde_json::to_string(task).unwrap_or_default();
        line.push('\n');
        let _ = self.stdin.write_all(line.as_bytes());
    }

    /// Ends it, and says how it ended.
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

/// Starts workers, and hears them all.
pub(super) struct Pool {
    command: WorkerCommand,
    /// Where workers put what they have to say to no coordinator.
    scratch: PathBuf,
    sender: Sender<(u64, Event)>,
    pub events: Receiver<(u64, Event)>,
    /// Workers without a task.
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

    /// A worker without a task: an idle one, or a new one. Those that died while they had none
    /// are no failure of a task.
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
            // Nobody need hear it any more.
            let _ = sender.send((id, Event::Ended));
        });
        log::debug!("worker {id} started");
        Ok(worker)
    }
}
