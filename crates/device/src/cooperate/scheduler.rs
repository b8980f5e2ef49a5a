//! Answers queries as they arrive, on the CPU and in GPU batches.
//!
//! Asynchronous mode, under light load: every query goes at once to the processor that the
//! [`Router`] predicts to be faster. Synchronous mode, when queries begin to wait: all queries
//! that the GPU can answer go to its lanes. A batch has a fixed amount of work, so all batches
//! take the same time. If the lanes are behind, CPU threads take queries that do not fit in the
//! next batches, as long as this increases the throughput. The scheduler returns to asynchronous
//! mode when fewer queries wait and fewer arrive than when it left that mode.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::accelerator::{Accelerator, BatchLane};
use super::intake::Refused;
use super::load::Mode;
use super::options::{Policy, SchedulerOptions};
use super::queue::Shared;
use super::report::{BatchTime, SchedulerReport};
use super::request::{Outcome, Processor, Request, Search, caught};
use super::router::Router;
use tokapi_storage::error::Result;
use tokapi_storage::progress::Progress;
use tokapi_weigh::formula::Bm25;

/// Answers searches by CPU threads and GPU lanes. Each has its own options, and its own state of the index.
pub struct Scheduler {
    shared: Arc<Shared>,
    accelerator: Option<Arc<dyn Accelerator>>,
    router: Option<Router>,
    policy: Policy,
    bm25: Bm25,
    workers: Vec<JoinHandle<()>>,
}

impl Scheduler {
    /// A scheduler for an index on a GPU, if there is one, and for any searches on the CPU. Without a
    /// router, queries go to the CPU under light load.
    ///
    /// # Errors
    /// A lane cannot be created.
    pub fn new(
        accelerator: Option<Arc<dyn Accelerator>>,
        router: Option<Router>,
        options: &SchedulerOptions,
    ) -> Result<Self> {
        let accelerator = accelerator.filter(|_| options.policy != Policy::Cpu);
        let lanes = match &accelerator {
            None => Vec::new(),
            Some(accelerator) => (0..options.lanes.max(1))
                .map(|_| accelerator.lane())
                .collect::<Result<_>>()?,
        };
        let shared = Arc::new(Shared::new(options, lanes.len()));
        let mut workers = Vec::new();
        for _ in 0..options.threads.max(1) {
            let (shared, progress) = (Arc::clone(&shared), options.progress.clone());
            workers.push(std::thread::spawn(move || on_cpu(&shared, &progress)));
        }
        for lane in lanes {
            let (shared, progress) = (Arc::clone(&shared), options.progress.clone());
            workers.push(std::thread::spawn(move || on_gpu(&shared, lane, &progress)));
        }
        Ok(Scheduler {
            shared,
            accelerator,
            router,
            policy: options.policy,
            bm25: options.bm25,
            workers,
        })
    }

    /// Submits a search. `reply` is called exactly once, on another thread, with the outcome.
    ///
    /// # Errors
    /// The queue is full, and then `reply` is not called.
    pub fn submit(
        &self,
        search: Arc<Search>,
        deadline: Option<Instant>,
        reply: impl FnOnce(Outcome) + Send + 'static,
    ) -> std::result::Result<(), Refused> {
        let accelerator = self.accelerator.as_ref();
        let complexity = accelerator
            .filter(|_| search.options.bm25 == self.bm25)
            .filter(|accelerator| accelerator.answers(&search.options))
            .and_then(|accelerator| accelerator.complexity(&search));
        let faster_on_gpu = match (self.policy, complexity, &self.router) {
            (Policy::Synchronous, Some(_), _) => true,
            (_, Some(complexity), Some(router)) => router.to_gpu(&complexity),
            _ => false,
        };
        let work = complexity.map(|of| of.work());
        self.shared
            .push(Request::new(search, deadline, work, faster_on_gpu, reply))
    }

    /// The number of waiting queries, and the time after which the next one would be taken, as far as recent ones tell.
    pub fn backlog(&self) -> (usize, Duration) {
        self.shared.backlog()
    }

    /// Whether queries are batched now.
    pub fn is_synchronous(&self) -> bool {
        self.shared.lock().load.mode == Mode::Synchronous
    }

    /// The statistics so far.
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

/// Answers the waiting queries, and stops.
impl Drop for Scheduler {
    fn drop(&mut self) {
        self.shared.close();
        for worker in self.workers.drain(..) {
            // A thread that panicked has reported it, and its queries have got their replies.
            let _ = worker.join();
        }
    }
}

const PANICKED: &str = "the thread that had the query panicked";

/// The outcome of a query that need not be answered any more, if it is cancelled or too late.
fn ended(request: &Request, progress: &Progress) -> Option<Outcome> {
    match () {
        () if progress.is_cancelled() => Some(Outcome::Cancelled),
        () if request.is_late() => Some(Outcome::Late),
        () => None,
    }
}

fn on_cpu(shared: &Shared, progress: &Progress) {
    while let Some(requests) = shared.take_few() {
        for mut request in requests {
            if let Some(outcome) = ended(&request, progress) {
                request.tell(outcome);
                continue;
            }
            let started = Instant::now();
            let outcome = match caught(|| request.search().run()) {
                Some(Ok(hits)) => Outcome::Answered(hits, Processor::Cpu),
                Some(Err(error)) => Outcome::Failed(error.to_string()),
                None => Outcome::Failed(PANICKED.into()),
            };
            shared.by_cpu.fetch_add(1, Ordering::Relaxed);
            request.tell(outcome);
            shared.end_query(started.elapsed());
        }
    }
}

fn on_gpu(shared: &Shared, mut lane: Box<dyn BatchLane>, progress: &Progress) {
    while let Some(mut requests) = shared.take_batch() {
        requests.retain_mut(|request| match ended(request, progress) {
            Some(outcome) => {
                request.tell(outcome);
                false
            }
            None => true,
        });
        let started = Instant::now();
        let searches: Vec<&Search> = requests.iter().map(Request::search).collect();
        let answers = match caught(|| lane.answer(&searches)) {
            Some(Ok(answers)) => answers,
            Some(Err(error)) => return shared.lose_lane(&error.to_string(), requests),
            None => return shared.lose_lane(PANICKED, requests),
        };
        let time = BatchTime {
            queries: requests.len(),
            work: requests.iter().map(Request::work).sum(),
            seconds: started.elapsed().as_secs_f64(),
        };
        let (mut answered, mut unanswered) = (Vec::with_capacity(requests.len()), Vec::new());
        for (request, answer) in requests.into_iter().zip(answers) {
            match answer {
                Some(hits) => answered.push((request, hits)),
                None => unanswered.push(request),
            }
        }
        let count = answered.len() as u64;
        shared.by_gpu.fetch_add(count, Ordering::Relaxed);
        shared.end_batch(time, unanswered);
        for (mut request, hits) in answered {
            request.tell(Outcome::Answered(hits, Processor::Gpu(time.queries)));
        }
    }
}
