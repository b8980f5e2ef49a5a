//! The tasks of a phase, given to workers: again where one dies or hangs, twice where one takes
//! long while others have nothing to do.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use super::super::reduce::Counts;
use super::pool::{Event, Pool, Worker};
use super::protocol::{Answer, Task};
use tokapi_storage::error::{Error, Result};
use tokapi_storage::progress::Progress;

/// A task that fails so often stops its job.
const MOST_FAILURES: u32 = 4;
/// A task that has been given out so often is not run twice any more.
const MOST_ATTEMPTS: u32 = 4;
/// A task that has taken less is no straggler.
const SHORT: Duration = Duration::from_millis(200);
/// One that has taken longer may be one, whatever others took.
const LONG: Duration = Duration::from_secs(1);
/// A longer wait is cut into pieces: when this process was stopped, only one is counted. In between
/// the wish to cancel is heard.
const LISTENING: Duration = Duration::from_millis(100);

/// The tasks of one phase.
pub(super) struct Schedule<'a> {
    pool: &'a mut Pool,
    workers: usize,
    deadline: Duration,
    progress: &'a Progress,
    /// By worker.
    running: BTreeMap<u64, Running>,
    /// Tasks that are to be run again.
    again: VecDeque<Task>,
    /// By the number of a task that is not done.
    given: BTreeMap<u32, Given>,
    /// What tasks that are done took, and how many there are.
    taken: (Duration, u32),
    pub reruns: u64,
    pub stragglers: u64,
}

/// A worker at its task.
struct Running {
    worker: Worker,
    task: Task,
    started: Instant,
    /// How long nothing has been heard of it while it was listened to.
    silent: Duration,
}

/// How often a task has been given out and has failed.
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

    /// Runs the tasks that `next` gives, asked when a worker has nothing to do, until there are no
    /// more and all are done, which `done` hears of; `name` says what a task is, with its input.
    ///
    /// # Errors
    /// What `next` and `done` say; a worker cannot be started; an error that would come again; a
    /// task that has failed again and again; [`Error::Cancelled`]. All workers
    /// that were at a task are ended.
    pub(super) fn run(
        &mut self,
        mut next: impl FnMut() -> Result<Option<Task>>,
        mut done: impl FnMut(&Task, Counts) -> Result<()>,
        name: impl Fn(&Task) -> String,
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
                        self.finish(running, counts, &mut done)?;
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
                    self.lose(id, &format!("the worker said `{said}`"), &name)?;
                }
                Some((id, Event::Ended)) => {
                    self.pool.idle.retain(|worker| worker.id != id);
                    self.lose(id, "the worker ended", &name)?;
                }
                None => {}
            }
            self.end_silent(&name)?;
        }
    }

    /// Gives a task to a worker.
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

    /// A task that runs once only and has taken longer than most, if there is one.
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

    /// Waits for a word of a worker, for a short while. Time in which nobody listens, such as that
    /// of reading the input, is no silence of the workers.
    fn listen(&mut self) -> Option<(u64, Event)> {
        let silent = self.running.values().map(|running| running.silent).max();
        let left = self.deadline.saturating_sub(silent.unwrap_or_default());
        let patience = left.min(LISTENING);
        let began = Instant::now();
        // The pool has a sender: an error is that nothing was heard in time.
        let heard = self.pool.events.recv_timeout(patience).ok();
        let listened = began.elapsed().min(patience);
        for running in self.running.values_mut() {
            running.silent += listened;
        }
        heard
    }

    /// The first attempt to be done counts; others are ended.
    fn finish(
        &mut self,
        running: Running,
        counts: Counts,
        done: &mut impl FnMut(&Task, Counts) -> Result<()>,
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
    fn end_silent(&mut self, name: &impl Fn(&Task) -> String) -> Result<()> {
        let deadline = self.deadline;
        let silent = self.running.values().filter(|r| r.silent >= deadline);
        let silent: Vec<u64> = silent.map(|running| running.worker.id).collect();
        for id in silent {
            let what = format!("the worker was silent for {deadline:?}");
            self.lose(id, &what, name)?;
        }
        Ok(())
    }

    /// Ends a worker that is of no use any more, and has its task run elsewhere.
    fn lose(&mut self, id: u64, what: &str, name: &impl Fn(&Task) -> String) -> Result<()> {
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

    /// Counts a failure; the task is run again, unless that is of no use. While another attempt
    /// goes on, nothing has failed: that one may do better, on a disk that had room for one.
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

/// Removes what a dead attempt has left.
fn remove(task: &Task) {
    // What cannot be removed now goes with the folder of the job.
    let _ = std::fs::remove_dir_all(task.temporary());
}
