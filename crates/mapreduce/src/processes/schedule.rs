//! Assigns the tasks of a phase to workers. A task is repeated if its worker dies or hangs, and
//! started twice if it is slow while other workers are idle.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use super::super::reduce::Counts;
use super::pool::{Event, Pool, Worker};
use super::protocol::{Answer, Task};
use tokapi_storage::error::{Error, Result};
use tokapi_storage::progress::Progress;

/// A task that fails this many times stops its job.
const MOST_FAILURES: u32 = 4;
/// A task with this many attempts is not started twice any more.
const MOST_ATTEMPTS: u32 = 4;
/// A task that has run for less than this is not slow.
const SHORT: Duration = Duration::from_millis(200);
/// A task that has run longer than this may be slow, however long others took.
const LONG: Duration = Duration::from_secs(1);
/// Maximum length of one wait. Longer waits are divided: if this process is suspended, only one
/// part counts as silence. Cancellation is tested between parts.
const LISTENING: Duration = Duration::from_millis(100);

/// The tasks of one phase.
pub(super) struct Schedule<'a> {
    pool: &'a mut Pool,
    workers: usize,
    deadline: Duration,
    progress: &'a Progress,
    /// Running tasks by worker.
    running: BTreeMap<u64, Running>,
    /// Tasks to repeat.
    again: VecDeque<Task>,
    /// Unfinished tasks by number.
    given: BTreeMap<u32, Given>,
    /// The total time of the finished tasks, and their number.
    taken: (Duration, u32),
    pub reruns: u64,
    pub stragglers: u64,
}

/// A worker and its task.
struct Running {
    worker: Worker,
    task: Task,
    started: Instant,
    /// The time for which the coordinator listened to it and heard nothing.
    silent: Duration,
}

/// The number of attempts and of failures of a task.
#[derive(Default)]
struct Given {
    attempts: u32,
    failures: u32,
}

impl<'a> Schedule<'a> {
    pub(super) fn new(
        pool: &'a mut Pool,
        workers: usize,
        deadline: Duration,
        progress: &'a Progress,
    ) -> Self {
        Schedule {
            pool,
            workers: workers.max(1),
            deadline,
            progress,
            running: BTreeMap::new(),
            again: VecDeque::new(),
            given: BTreeMap::new(),
            taken: (Duration::ZERO, 0),
            reruns: 0,
            stragglers: 0,
        }
    }

    /// Runs all tasks that `next` returns. `next` is called when a worker is idle; `done` receives
    /// each finished task; `name` describes a task and its input.
    ///
    /// # Errors
    /// An error of `next` or `done`; a worker cannot be started; an error that a retry would
    /// repeat; a task has failed too often; [`Error::Cancelled`]. All busy workers are then ended.
    pub(super) fn run(
        &mut self,
        next: &mut dyn FnMut() -> Result<Option<Task>>,
        done: &mut dyn FnMut(&Task, Counts) -> Result<()>,
        name: &dyn Fn(&Task) -> String,
    ) -> Result<()> {
        let mut more = true;
        loop {
            self.progress.check()?;
            while self.running.len() < self.workers {
                let task = match self.again.pop_front() {
                    Some(task) => Some(task),
                    None if more => next()?,
                    None => self.straggler(),
                };
                match task {
                    Some(task) => self.give(task)?,
                    None if more => more = false,
                    None => break,
                }
            }
            if self.running.is_empty() {
                return Ok(());
            }
            match self.listen() {
                Some((id, Event::Answer(Answer::Alive))) => {
                    if let Some(running) = self.running.get_mut(&id) {
                        running.silent = Duration::ZERO;
                    }
                }
                Some((id, Event::Answer(Answer::Done(counts)))) => {
                    if let Some(running) = self.running.remove(&id) {
                        self.finish(running, counts, done)?;
                    }
                }
                Some((id, Event::Answer(Answer::Failed(failure)))) => {
                    if let Some(running) = self.running.remove(&id) {
                        self.pool.idle.push(running.worker);
                        let may_pass = failure.may_pass();
                        let error = Error::from(failure);
                        if !may_pass {
                            return Err(error);
                        }
                        self.fail(running.task, |_, _| error)?;
                    }
                }
                Some((id, Event::Babble(said))) => {
                    self.lose(id, &format!("the worker said `{said}`"), name)?;
                }
                Some((id, Event::Ended)) => {
                    self.pool.idle.retain(|worker| worker.id != id);
                    self.lose(id, "the worker ended", name)?;
                }
                None => {}
            }
            self.end_silent(name)?;
        }
    }

    /// Assigns a task to a worker.
    fn give(&mut self, mut task: Task) -> Result<()> {
        let mut worker = self.pool.worker()?;
        let given = self.given.entry(task.number).or_default();
        task.attempt = given.attempts;
        given.attempts += 1;
        worker.give(&task);
        let running = Running {
            task,
            started: Instant::now(),
            silent: Duration::ZERO,
            worker,
        };
        self.running.insert(running.worker.id, running);
        Ok(())
    }

    /// A task with one attempt that has run longer than most, if there is one.
    fn straggler(&mut self) -> Option<Task> {
        let (sum, count) = self.taken;
        let usual = sum.checked_div(count).map_or(LONG, |mean| 2 * mean);
        let usual = usual.clamp(SHORT, LONG);
        let alone = |task: &Task| {
            let same = self
                .running
                .values()
                .filter(|r| r.task.number == task.number);
            let tried = self.given.get(&task.number).map_or(0, |g| g.attempts);
            same.count() == 1 && tried < MOST_ATTEMPTS
        };
        let slow = self
            .running
            .values()
            .filter(|running| running.started.elapsed() > usual && alone(&running.task));
        let task = slow.min_by_key(|running| running.started)?.task.clone();
        log::info!(
            "task {} is slow: a second attempt is started",
            task.output.display()
        );
        self.stragglers += 1;
        Some(task)
    }

    /// Waits a short time for a message of a worker. Time in which nobody listens, such as that of
    /// reading the input, does not count as silence.
    fn listen(&mut self) -> Option<(u64, Event)> {
        let silent = self.running.values().map(|running| running.silent).max();
        let left = self.deadline.saturating_sub(silent.unwrap_or_default());
        let patience = left.min(LISTENING);
        let began = Instant::now();
        // The pool holds a sender, so an error means a timeout.
        let heard = self.pool.events.recv_timeout(patience).ok();
        let listened = began.elapsed().min(patience);
        for running in self.running.values_mut() {
            running.silent += listened;
        }
        heard
    }

    /// The first attempt to finish counts; others are ended.
    fn finish(
        &mut self,
        running: Running,
        counts: Counts,
        done: &mut dyn FnMut(&Task, Counts) -> Result<()>,
    ) -> Result<()> {
        let Running {
            worker,
            task,
            started,
            ..
        } = running;
        self.pool.idle.push(worker);
        self.taken.0 += started.elapsed();
        self.taken.1 += 1;
        self.given.remove(&task.number);
        self.again.retain(|again| again.number != task.number);
        let others = self
            .running
            .values()
            .filter(|r| r.task.number == task.number);
        let others: Vec<u64> = others.map(|running| running.worker.id).collect();
        for id in others {
            if let Some(other) = self.running.remove(&id) {
                other.worker.end();
                remove(&other.task);
            }
        }
        done(&task, counts)
    }

    /// Ends the workers that have been silent for too long.
    fn end_silent(&mut self, name: &dyn Fn(&Task) -> String) -> Result<()> {
        let deadline = self.deadline;
        let silent = self.running.values().filter(|r| r.silent >= deadline);
        let silent: Vec<u64> = silent.map(|running| running.worker.id).collect();
        for id in silent {
            let what = format!("the worker was silent for {deadline:?}");
            self.lose(id, &what, name)?;
        }
        Ok(())
    }

    /// Ends a useless worker, and repeats its task on another one.
    fn lose(&mut self, id: u64, what: &str, name: &dyn Fn(&Task) -> String) -> Result<()> {
        let Some(Running { worker, task, .. }) = self.running.remove(&id) else {
            return Ok(());
        };
        let status = worker.end();
        log::info!("{}: {what} ({status})", task.output.display());
        remove(&task);
        self.fail(task, |task, attempts| Error::Worker {
            task: name(task),
            what: format!("{what} ({status}), {attempts} times in all"),
        })
    }

    /// Counts a failure, and repeats the task unless a retry is useless. While another attempt
    /// runs, this is no failure yet: that attempt may succeed, for example on a disk with room for
    /// only one.
    fn fail(&mut self, task: Task, error: impl FnOnce(&Task, u32) -> Error) -> Result<()> {
        if self.running.values().any(|r| r.task.number == task.number) {
            return Ok(());
        }
        let given = self.given.entry(task.number).or_default();
        given.failures += 1;
        if given.failures >= MOST_FAILURES {
            return Err(error(&task, given.attempts));
        }
        self.reruns += 1;
        self.again.push_back(task);
        Ok(())
    }
}

/// Removes the files of a dead attempt.
fn remove(task: &Task) {
    // A file that cannot be removed now is removed with the folder of the job.
    let _ = std::fs::remove_dir_all(task.temporary());
}
