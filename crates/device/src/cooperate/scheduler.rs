//! Answers queries as they arrive, on the CPU and in GPU batches.
//!
//! Asynchronous mode, under light load: every query goes at once to the processor that the
//! [`Router`] predicts to be faster. Synchronous mode, when queries begin to wait: all queries
//! that the GPU can answer go to its lanes. A batch has a fixed amount of work, so all batches
//! take the same time. If the lanes are behind, CPU threads take queries that do not fit in the
//! next batches, as long as this increases the throughput. The scheduler returns to asynchronous
//! mode when fewer queries wait and fewer arrive than when it left that mode.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::accelerator::{Accelerator, BatchLane};
use super::intake::Refused;
use super::lanes::TOLD_BY_LANE;
use super::load::Mode;
use super::options::{Policy, SchedulerOptions};
use super::queue::{ForThread, Shared};
use super::report::{BatchTime, SchedulerReport};
use super::request::{Outcome, Processor, Request, Search, caught};
use super::router::Router;
use tokapi_storage::error::Result;
use tokapi_storage::progress::Progress;

/// Answers searches by CPU threads and GPU lanes. Each has its own options, and its own state of the index.
pub struct Scheduler {
    shared: Arc<Shared>,
    accelerator: Option<Arc<dyn Accelerator>>,
    router: Option<Router>,
    policy: Policy,
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
        let shared = Arc::new(Shared::new(options));
        let mut workers = Vec::new();
        for _ in 0..options.threads.max(1) {
            let (shared, progress) = (Arc::clone(&shared), options.progress.clone());
            workers.push(std::thread::spawn(move || on_cpu(&shared, &progress)));
        }
        // All lanes are there before a query can make one fail.
        let lanes: Vec<_> = lanes
            .into_iter()
            .map(|lane| (lane, shared.gain_lane()))
            .collect();
        for (lane, losses) in lanes {
            let (shared, accelerator) = (Arc::clone(&shared), accelerator.clone());
            let (progress, retry) = (options.progress.clone(), options.retry);
            workers.push(std::thread::spawn(move || {
                on_gpu(&shared, lane, losses, &progress);
                // The device was lost, or this is the end.
                while shared.wait_to_retry(retry) {
                    let lane = accelerator.as_ref().map(|accelerator| accelerator.lane());
                    if let Some(Ok(lane)) = lane {
                        on_gpu(&shared, lane, shared.gain_lane(), &progress);
                    }
                }
            }));
        }
        Ok(Scheduler {
            shared,
            accelerator,
            router,
            policy: options.policy,
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
        let complexity = accelerator.and_then(|accelerator| accelerator.complexity(&search));
        let foreseen = match (self.policy, complexity, &self.router) {
            (Policy::Synchronous, Some(_), _) => (true, false),
            (_, Some(complexity), Some(router)) => (router.to_gpu(&complexity), true),
            _ => (false, false),
        };
        let work = complexity.map(|of| of.work());
        self.shared
            .push(Request::new(search, deadline, work, foreseen, reply))
    }

    /// The number of waiting queries, and the time after which the next one would be taken, as far as recent ones tell.
    pub fn backlog(&self) -> (usize, Duration) {
        self.shared.backlog()
    }

    /// Whether queries are batched now.
    pub fn is_synchronous(&self) -> bool {
        self.shared.lock().load.mode == Mode::Synchronous
    }

    /// The reason why the GPU does not answer any more; none while it does, and without a GPU.
    pub fn lost(&self) -> Option<String> {
        self.shared.lock().lost.clone()
    }

    /// The statistics so far.
    pub fn report(&self) -> SchedulerReport {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let shared = &self.shared;
        let mut queue = shared.lock();
        SchedulerReport {
            by_cpu: read(&shared.by_cpu),
            by_gpu: read(&shared.by_gpu),
            as_foreseen: read(&shared.as_foreseen),
            otherwise: read(&shared.otherwise),
            wait_for_cpu: queue.wait_for_cpu(),
            wait_for_gpu: queue.wait_for_gpu(),
            lanes: queue.lanes,
            switches: queue.load.switches,
            batches: queue.take_batches(),
            lost: queue.lost.clone(),
            losses: queue.losses,
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
    while let Some(work) = shared.take_for_thread() {
        let requests = match work {
            ForThread::Queries(requests) => requests,
            ForThread::Answers(answers) => {
                for (mut request, outcome) in answers {
                    request.tell(outcome);
                }
                continue;
            }
        };
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
            count_foreseen(shared, [&request].into_iter(), false);
            request.tell(outcome);
            shared.end_query(started.elapsed());
        }
    }
}

/// Counts queries that a router had foreseen, by whether the processor that it foresaw has answered them.
fn count_foreseen<'a>(shared: &Shared, requests: impl Iterator<Item = &'a Request>, by_gpu: bool) {
    let (mut as_foreseen, mut otherwise) = (0, 0);
    for request in requests.filter(|request| request.is_foreseen) {
        match request.faster_on_gpu == by_gpu {
            true => as_foreseen += 1,
            false => otherwise += 1,
        }
    }
    for (counter, count) in [
        (&shared.as_foreseen, as_foreseen),
        (&shared.otherwise, otherwise),
    ] {
        if count > 0 {
            counter.fetch_add(count, Ordering::Relaxed);
        }
    }
}

/// Answers batches on a lane that came after `losses` losses, until it is lost, or the end.
fn on_gpu(shared: &Shared, mut lane: Box<dyn BatchLane>, losses: u64, progress: &Progress) {
    while let Some(mut requests) = shared.take_batch(losses) {
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
            Some(Err(error)) => return shared.lose_lanes(losses, &error.to_string(), requests),
            None => return shared.lose_lanes(losses, PANICKED, requests),
        };
        let time = BatchTime {
            queries: requests.len(),
            work: requests.iter().map(Request::work).sum(),
            seconds: started.elapsed().as_secs_f64(),
        };
        let by = Processor::Gpu(time.queries);
        let (mut answered, mut unanswered) = (Vec::with_capacity(requests.len()), Vec::new());
        for (request, answer) in requests.into_iter().zip(answers) {
            match answer {
                Some(hits) => answered.push((request, Outcome::Answered(hits, by))),
                None => unanswered.push(request),
            }
        }
        shared
            .by_gpu
            .fetch_add(answered.len() as u64, Ordering::Relaxed);
        count_foreseen(shared, answered.iter().map(|(request, _)| request), true);
        let told_here = match answered.len() {
            0..=TOLD_BY_LANE => std::mem::take(&mut answered),
            _ => Vec::new(),
        };
        shared.end_batch(time, answered, unanswered);
        for (mut request, outcome) in told_here {
            request.tell(outcome);
        }
    }
}
