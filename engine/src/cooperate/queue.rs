//! The queries that wait, and who takes which.

use std::collections::VecDeque;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::scheduler::{BatchTime, Outcome, Policy, SchedulerOptions};
use crate::query::Query;

/// Why a query was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// As many as may wait do.
    #[error("{0} queries are waiting, as many as may; ask again later")]
    Full(usize),
    /// The scheduler is being dropped.
    #[error("no queries are taken any more")]
    Closed,
}

type Reply = Box<dyn FnOnce(Outcome) + Send>;

/// A query that waits or is being answered.
pub(super) struct Job {
    query: Arc<Query>,
    deadline: Option<Instant>,
    /// How much work it is for a GPU; none where no GPU can answer it.
    work: Option<f64>,
    /// Taken when it has been told.
    reply: Option<Reply>,
}

impl Job {
    pub fn new(
        query: Arc<Query>,
        deadline: Option<Instant>,
        work: Option<f64>,
        reply: impl FnOnce(Outcome) + Send + 'static,
    ) -> Self {
        Job {
            query,
            deadline,
            work,
            reply: Some(Box::new(reply)),
        }
    }

    pub fn query(&self) -> &Query {
        &self.query
    }

    pub fn work(&self) -> f64 {
        self.work.unwrap_or(0.0)
    }

    fn for_cpu(mut self) -> Self {
        self.work = None;
        self
    }

    pub fn is_late(&self) -> bool {
        self.deadline
            .is_some_and(|deadline| deadline < Instant::now())
    }

    pub fn tell(&mut self, outcome: Outcome) {
        if let Some(reply) = self.reply.take() {
            // Who asked may panic; that is no reason not to tell others.
            let _ = caught(|| reply(outcome));
        }
    }
}

/// Nobody waits for an answer in vain, whatever happens to the thread that had the query.
impl Drop for Job {
    fn drop(&mut self) {
        self.tell(Outcome::Failed(
            "the thread that had the query ended".into(),
        ));
    }
}

/// What `work` gives; none where it panics, which has been told on standard error.
pub(super) fn caught<T>(work: impl FnOnce() -> T) -> Option<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).ok()
}

/// Where queries go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Each where it is answered sooner.
    Asynchronous,
    /// To batches of the GPU, and to the CPU what they leave.
    Synchronous,
}

/// What waits, and what is known of the load.
pub(super) struct Queue {
    /// For threads of the CPU.
    cpu: VecDeque<Job>,
    /// For lanes of the GPU, and how much work they are.
    gpu: VecDeque<Job>,
    gpu_work: f64,
    pub mode: Mode,
    pub switches: u64,
    /// The last that there were.
    batches: VecDeque<BatchTime>,
    pub lost: Option<String>,
    /// Lanes that there are, and that have a batch.
    lanes: usize,
    working: usize,
    closed: bool,
    /// The work that a lane does in a second, as far as is known.
    speed: f64,
    /// The queries that came since `counted`, and those that came in a second before.
    arrived: u64,
    counted: Instant,
    rate: f64,
    /// When the mode changed last, and the rate when batches began.
    switched: Instant,
    rate_of_switch: f64,
    /// When as many waited as there are threads, and for how long after that batches go on.
    busy: Instant,
    stay: Duration,
}

/// A queue, and those who wait for it.
pub(super) struct Shared {
    queue: Mutex<Queue>,
    for_cpu: Condvar,
    for_gpu: Condvar,
    policy: Policy,
    most: usize,
    threads: usize,
    /// Seconds that a batch is to take.
    batch_seconds: f64,
    pub by_cpu: AtomicU64,
    pub by_gpu: AtomicU64,
}

/// What a lane does in a second before it has been measured, in elements sought: far below what any does.
const FIRST_SPEED: f64 = 1e8;

/// How much of a new measurement goes into an average.
const NEW: f64 = 0.2;

/// Over how long queries are counted.
const COUNTED: Duration = Duration::from_millis(20);

/// Batches go on for so long after queries waited: at least, and at most.
const STAY: Duration = Duration::from_millis(50);
const LONGEST_STAY: Duration = Duration::from_secs(10);

/// Batches that begin again after so short a time ended too early.
const AT_ONCE: Duration = Duration::from_secs(1);

/// Below so much of the rate at which batches began they end.
const BACK: f64 = 0.8;

/// Batches that are kept for a report.
const MOST_BATCHES: usize = 1 << 16;

/// Queries among which a thread of the CPU takes the one that is the least work.
const LOOKED_AT: usize = 16;

impl Shared {
    pub fn new(options: &SchedulerOptions, lanes: usize) -> Self {
        Shared {
            queue: Mutex::new(Queue {
                cpu: VecDeque::new(),
                gpu: VecDeque::new(),
                gpu_work: 0.0,
                mode: match options.policy {
                    Policy::Synchronous => Mode::Synchronous,
                    _ => Mode::Asynchronous,
                },
                switches: 0,
                batches: VecDeque::new(),
                lost: None,
                lanes,
                working: 0,
                closed: false,
                speed: FIRST_SPEED,
                arrived: 0,
                counted: Instant::now(),
                rate: 0.0,
                switched: Instant::now(),
                rate_of_switch: f64::INFINITY,
                busy: Instant::now(),
                stay: STAY,
            }),
            for_cpu: Condvar::new(),
            for_gpu: Condvar::new(),
            policy: options.policy,
            most: options.queue,
            threads: options.threads.max(1),
            batch_seconds: options.response.as_secs_f64() / 2.0,
            by_cpu: AtomicU64::new(0),
            by_gpu: AtomicU64::new(0),
        }
    }

    pub fn lock(&self) -> MutexGuard<'_, Queue> {
        // Nobody panics while holding it.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn push(&self, mut job: Job, faster_on_gpu: bool) -> Result<(), Refused> {
        let mut queue = self.lock();
        let waiting = queue.cpu.len() + queue.gpu.len();
        let refused = match queue.closed {
            true => Some(Refused::Closed),
            false if waiting >= self.most => Some(Refused::Full(waiting)),
            false => None,
        };
        if let Some(refused) = refused {
            // What it holds may ask for the queue when it is dropped.
            drop(queue);
            job.reply = None;
            return Err(refused);
        }
        queue.count_arrival();
        if self.policy == Policy::Cooperative {
            self.choose_mode(&mut queue);
        }
        let to_gpu = job.work.is_some()
            && queue.lanes > 0
            && (faster_on_gpu || queue.mode == Mode::Synchronous);
        if to_gpu {
            queue.push_gpu(job);
            self.for_gpu.notify_one();
            if self.may_steal(&queue) {
                self.for_cpu.notify_one();
            }
        } else {
            queue.cpu.push_back(job);
            self.for_cpu.notify_one();
        }
        Ok(())
    }

    /// To batches when as many wait as there are threads. Back when none has for a while, and fewer come than when
    /// batches began; or when none has for longer, which grows where it led to batches again at once.
    fn choose_mode(&self, queue: &mut Queue) {
        let waiting = queue.cpu.len() + queue.gpu.len();
        if waiting >= self.threads {
            queue.busy = Instant::now();
        }
        let quiet = queue.busy.elapsed();
        let fewer = queue.rate < BACK * queue.rate_of_switch;
        let mode = match queue.mode {
            Mode::Asynchronous if queue.lanes > 0 && waiting >= self.threads => Mode::Synchronous,
            Mode::Synchronous if waiting == 0 && (quiet > queue.stay || fewer && quiet > STAY) => {
                Mode::Asynchronous
            }
            mode => mode,
        };
        if mode != queue.mode {
            let lasted = queue.switched.elapsed();
            queue.mode = mode;
            queue.switched = Instant::now();
            queue.switches += 1;
            if mode == Mode::Synchronous {
                queue.stay = match lasted < AT_ONCE {
                    true => (queue.stay * 2).min(LONGEST_STAY),
                    false => STAY,
                };
                queue.rate_of_switch = queue.rate.max(queue.rate_since_counted());
                // What waits for threads can go in batches now.
                for job in std::mem::take(&mut queue.cpu) {
                    match job.work {
                        Some(_) => queue.push_gpu(job),
                        None => queue.cpu.push_back(job),
                    }
                }
                self.for_gpu.notify_all();
            }
        }
    }

    /// Whether threads of the CPU may take what waits for the GPU: more than goes into its next batches.
    fn may_steal(&self, queue: &Queue) -> bool {
        self.policy == Policy::Cooperative
            && queue.mode == Mode::Synchronous
            && queue.gpu_work > self.batch_work(queue)
    }

    /// The work of a batch.
    fn batch_work(&self, queue: &Queue) -> f64 {
        queue.speed * self.batch_seconds
    }

    /// A query for a thread of the CPU, when there is one; none at the end.
    pub fn take_one(&self) -> Option<Job> {
        let mut queue = self.lock();
        loop {
            if let Some(job) = queue.cpu.pop_front() {
                return Some(job);
            }
            if self.may_steal(&queue)
                && let Some(job) = queue.steal()
            {
                return Some(job);
            }
            // Lanes that work may bring some back.
            if queue.closed && queue.gpu.is_empty() && queue.working == 0 {
                return None;
            }
            let woken = self.for_cpu.wait(queue);
            queue = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Queries for a lane, when there are some: as many as make a batch, or fewer. None at the end.
    pub fn take_batch(&self) -> Option<Vec<Job>> {
        let mut queue = self.lock();
        loop {
            let full = self.batch_work(&queue);
            let (mut jobs, mut work) = (Vec::new(), 0.0);
            while (jobs.is_empty() || work < full)
                && let Some(job) = queue.pop_gpu()
            {
                work += job.work();
                jobs.push(job);
            }
            if !jobs.is_empty() {
                queue.working += 1;
                return Some(jobs);
            }
            if queue.closed {
                return None;
            }
            let woken = self.for_gpu.wait(queue);
            queue = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Takes note of a batch, and those of its queries back that the CPU must answer.
    pub fn end_batch(&self, time: BatchTime, unanswered: Vec<Job>) {
        let mut queue = self.lock();
        queue.working -= 1;
        // A small one says how long a launch takes, not how fast it goes.
        if time.work > 0.25 * self.batch_work(&queue) {
            queue.speed += NEW * (time.work / time.seconds.max(1e-9) - queue.speed);
        }
        if queue.batches.len() == MOST_BATCHES {
            queue.batches.pop_front();
        }
        queue.batches.push_back(time);
        queue.give_to_cpu(unanswered);
        self.for_cpu.notify_all();
    }

    /// A lane is lost: others, or the CPU, answer what it had.
    pub fn lose_lane(&self, why: &str, jobs: Vec<Job>) {
        let mut queue = self.lock();
        queue.working -= 1;
        queue.lanes -= 1;
        log::error!("a lane of the GPU is lost, others go on, or the CPU alone: {why}");
        queue.lost = Some(why.to_owned());
        queue.give_to_cpu(jobs);
        if queue.lanes == 0 {
            queue.mode = Mode::Asynchronous;
            queue.gpu_work = 0.0;
            let rest = std::mem::take(&mut queue.gpu);
            queue.give_to_cpu(rest);
        }
        self.for_cpu.notify_all();
    }

    /// Takes no more queries; those that wait are answered.
    pub fn close(&self) {
        self.lock().closed = true;
        self.for_cpu.notify_all();
        self.for_gpu.notify_all();
    }
}

impl Queue {
    /// The batches since this was asked last, as far as they are kept.
    pub fn take_batches(&mut self) -> Vec<BatchTime> {
        std::mem::take(&mut self.batches).into()
    }

    fn push_gpu(&mut self, job: Job) {
        self.gpu_work += job.work();
        self.gpu.push_back(job);
    }

    fn pop_gpu(&mut self) -> Option<Job> {
        let job = self.gpu.pop_front()?;
        self.gpu_work -= job.work();
        Some(job)
    }

    /// The least work of those that would go next.
    fn steal(&mut self) -> Option<Job> {
        let looked_at = self.gpu.iter().take(LOOKED_AT).enumerate();
        let (place, _) = looked_at.min_by(|a, b| a.1.work().total_cmp(&b.1.work()))?;
        let job = self.gpu.remove(place)?;
        self.gpu_work -= job.work();
        Some(job)
    }

    /// Only the CPU can answer these.
    fn give_to_cpu(&mut self, jobs: impl IntoIterator<Item = Job>) {
        self.cpu.extend(jobs.into_iter().map(|job| job.for_cpu()));
    }

    fn rate_since_counted(&self) -> f64 {
        self.arrived as f64 / self.counted.elapsed().as_secs_f64().max(1e-6)
    }

    fn count_arrival(&mut self) {
        self.arrived += 1;
        if self.counted.elapsed() >= COUNTED {
            self.rate += NEW * (self.rate_since_counted() - self.rate);
            self.arrived = 0;
            self.counted = Instant::now();
        }
    }
}
