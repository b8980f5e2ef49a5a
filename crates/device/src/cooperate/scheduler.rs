//! Queries as they come, to the CPU and to batches of a GPU.
//!
//! Under light load every query goes at once to the processor that the [`Router`] says is faster
//! (asynchronous mode). When queries begin to wait, all that the GPU can answer go to its lanes, which take as
//! many at a time as add up to a fixed amount of work, so that batches take the same time (synchronous mode).
//! Where these are behind, threads of the CPU take what does not go into the next batches, if more is answered so.
//! Fewer waiting and fewer arriving than when the mode was left lead back to it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::intake::Refused;
use super::job::{Job, caught};
use super::load::Mode;
use super::metric::Complexity;
use super::queue::Shared;
use super::router::Router;
use tokapi_index::Index;
use tokapi_index::query::{Hit, Query, SearchOptions};
use tokapi_storage::error::Result;

/// What answers batches of queries, by lanes that each take one at a time.
pub trait Accelerator: Send + Sync {
    /// Whether queries can be answered by these options at all.
    fn answers(&self, options: &SearchOptions) -> bool;

    /// How much work a query is; none where it cannot be answered here.
    fn complexity(&self, query: &Query) -> Option<Complexity>;

    /// A lane.
    ///
    /// # Errors
    /// The device failed.
    fn lane(&self) -> Result<Box<dyn BatchLane>>;
}

/// A lane of an [`Accelerator`].
pub trait BatchLane: Send {
    /// The best documents for each query, as the index finds them; none where it must be asked.
    ///
    /// # Errors
    /// The device failed.
    fn answer(
        &mut self,
        queries: &[&Query],
        options: &SearchOptions,
    ) -> Result<Vec<Option<Vec<Hit>>>>;
}

/// Who answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Policy {
    /// Both, asynchronously under light load and synchronously under heavy load.
    #[default]
    Cooperative,
    /// Both, each query where the router says.
    Asynchronous,
    /// The GPU alone, in batches.
    Synchronous,
    /// The CPU alone.
    Cpu,
}

/// How a [`Scheduler`] works.
#[derive(Debug, Clone)]
pub struct SchedulerOptions {
    /// Threads of the CPU that answer queries.
    pub threads: usize,
    /// Lanes of the GPU.
    pub lanes: usize,
    /// Who answers.
    pub policy: Policy,
    /// Queries that may wait; more are refused.
    pub queue: usize,
    /// What a query may take that comes while a batch is under way: batches are closed so that one takes half
    /// of it.
    pub response: Duration,
    /// How queries are answered.
    pub search: SearchOptions,
}

impl Default for SchedulerOptions {
    fn default() -> Self {
        SchedulerOptions {
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            lanes: 2,
            policy: Policy::default(),
            queue: 1 << 16,
            response: Duration::from_millis(20),
            search: SearchOptions::default(),
        }
    }
}

/// Who answered a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Processor {
    /// A thread of the CPU.
    Cpu,
    /// The GPU, in a batch of so many.
    Gpu(usize),
}

/// What became of a query that was not refused.
#[derive(Debug)]
pub enum Outcome {
    /// It was answered.
    Answered(Vec<Hit>, Processor),
    /// Its deadline passed while it waited.
    Late,
    /// The index could not answer it.
    Failed(String),
}

/// A batch that a lane answered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BatchTime {
    /// Its queries.
    pub queries: usize,
    /// Their work.
    pub work: f64,
    /// How long it took.
    pub seconds: f64,
}

/// What a scheduler has done so far.
#[derive(Debug, Clone, Default)]
pub struct SchedulerReport {
    /// Queries that the CPU answered.
    pub by_cpu: u64,
    /// Queries that the GPU answered.
    pub by_gpu: u64,
    /// Changes of the mode.
    pub switches: u64,
    /// The batches of the GPU since the last report, the last 65,536 at most.
    pub batches: Vec<BatchTime>,
    /// Why the GPU does not answer any more.
    pub lost: Option<String>,
}

/// Answers queries by threads of the CPU and lanes of a GPU.
pub struct Scheduler {
    shared: Arc<Shared>,
    accelerator: Option<Arc<dyn Accelerator>>,
    router: Option<Router>,
    policy: Policy,
    workers: Vec<JoinHandle<()>>,
}

impl Scheduler {
    /// A scheduler over `index`, and the same index on a GPU where there is one. Without a router, queries go to
    /// the CPU under light load.
    ///
    /// # Errors
    /// A lane cannot be made.
    pub fn new(
        index: Arc<Index>,
        accelerator: Option<Arc<dyn Accelerator>>,
        router: Option<Router>,
        options: &SchedulerOptions,
    ) -> Result<Self> {
        let takes_part = |accelerator: &Arc<dyn Accelerator>| {
            options.policy != Policy::Cpu && accelerator.answers(&options.search)
        };
        let accelerator = accelerator.filter(takes_part);
        let lanes = match &accelerator {
            None => Vec::new(),
            Some(accelerator) => (0..options.lanes.max(1))
                .map(|_| accelerator.lane())
                .collect::<Result<_>>()?,
        };
        let shared = Arc::new(Shared::new(options, lanes.len()));
        let mut workers = Vec::new();
        for _ in 0..options.threads.max(1) {
            let (shared, index, search) = (Arc::clone(&shared), Arc::clone(&index), options.search);
            workers.push(std::thread::spawn(move || {
                on_cpu(&shared, &index, &search);
            }));
        }
        for lane in lanes {
            let (shared, search) = (Arc::clone(&shared), options.search);
            workers.push(std::thread::spawn(move || on_gpu(&shared, lane, &search)));
        }
        Ok(Scheduler {
            shared,
            accelerator,
            router,
            policy: options.policy,
            workers,
        })
    }

    /// Takes a query. What becomes of it, `reply` is told exactly once, on another thread.
    ///
    /// # Errors
    /// Too many are waiting; `reply` is not told then.
    pub fn submit(
        &self,
        query: Arc<Query>,
        deadline: Option<Instant>,
        reply: impl FnOnce(Outcome) + Send + 'static,
    ) -> std::result::Result<(), Refused> {
        let complexity = self
            .accelerator
            .as_ref()
            .and_then(|accelerator| accelerator.complexity(&query));
        let faster_on_gpu = match (self.policy, complexity, &self.router) {
            (Policy::Synchronous, Some(_), _) => true,
            (_, Some(complexity), Some(router)) => router.to_gpu(&complexity),
            _ => false,
        };
        let work = complexity.map(|of| of.work());
        self.shared
            .push(Job::new(query, deadline, work, faster_on_gpu, reply))
    }

    /// Whether queries are batched at the moment.
    pub fn is_synchronous(&self) -> bool {
        self.shared.lock().load.mode == Mode::Synchronous
    }

    /// What has been done so far.
    pub fn report(&self) -> SchedulerReport {
        let mut queue = self.shared.lock();
        SchedulerReport {
            by_cpu: self.shared.by_cpu.load(Ordering::Relaxed),
            by_gpu: self.shared.by_gpu.load(Ordering::Relaxed),
            switches: queue.load.switches,
            batches: queue.take_batches(),
            lost: queue.lost.clone(),
        }
    }
}

/// Answers what is waiting, and ends.
impl Drop for Scheduler {
    fn drop(&mut self) {
        self.shared.close();
        for worker in self.workers.drain(..) {
            // One that panicked has said so, and its queries have been told.
            let _ = worker.join();
        }
    }
}

const PANICKED: &str = "the thread that had the query panicked";

fn on_cpu(shared: &Shared, index: &Index, search: &SearchOptions) {
    while let Some(jobs) = shared.take_few() {
        for mut job in jobs {
            if job.is_late() {
                job.tell(Outcome::Late);
                continue;
            }
            let outcome = match caught(|| index.search(job.query(), search)) {
                Some(Ok(hits)) => Outcome::Answered(hits, Processor::Cpu),
                Some(Err(error)) => Outcome::Failed(error.to_string()),
                None => Outcome::Failed(PANICKED.into()),
            };
            shared.by_cpu.fetch_add(1, Ordering::Relaxed);
            job.tell(outcome);
        }
    }
}

fn on_gpu(shared: &Shared, mut lane: Box<dyn BatchLane>, search: &SearchOptions) {
    while let Some(mut jobs) = shared.take_batch() {
        for mut job in jobs.extract_if(.., |job| job.is_late()) {
            job.tell(Outcome::Late);
        }
        let started = Instant::now();
        let queries: Vec<&Query> = jobs.iter().map(Job::query).collect();
        let answers = match caught(|| lane.answer(&queries, search)) {
            Some(Ok(answers)) => answers,
            Some(Err(error)) => return shared.lose_lane(&error.to_string(), jobs),
            None => return shared.lose_lane(PANICKED, jobs),
        };
        let time = BatchTime {
            queries: jobs.len(),
            work: jobs.iter().map(Job::work).sum(),
            seconds: started.elapsed().as_secs_f64(),
        };
        let (mut answered, mut unanswered) = (Vec::with_capacity(jobs.len()), Vec::new());
        for (job, answer) in jobs.into_iter().zip(answers) {
            match answer {
                Some(hits) => answered.push((job, hits)),
                None => unanswered.push(job),
            }
        }
        let count = answered.len() as u64;
        shared.by_gpu.fetch_add(count, Ordering::Relaxed);
        shared.end_batch(time, unanswered);
        for (mut job, hits) in answered {
            job.tell(Outcome::Answered(hits, Processor::Gpu(time.queries)));
        }
    }
}
