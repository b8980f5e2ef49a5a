//! The searches of all requests, on the threads of one scheduler.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokapi::{Hit, Index, Query, Rank, Result, SearchOptions};
use tokapi_device::cooperate::{
    Accelerator, Outcome, Processor, Refused, Router, Scheduler, SchedulerOptions, Search,
};
use tokio::sync::oneshot;
use tokio::time::timeout_at;

use super::admission::Admission;
use super::answer::answer;
use super::cache::{AnswerCache, CacheUse};
use super::deadline::Deadline;
use super::plan::Planned;
use crate::model::SearchAnswer;
use crate::problem::{Kind, Problem};
use crate::relay::go_on_here;

/// The options of an [`Engine`].
#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// The options of the scheduler: threads, lanes, queue.
    pub scheduler: SchedulerOptions,
    /// Searches that would wait longer are refused; 0 refuses none.
    pub longest_wait: Duration,
    /// The most bytes of cached answers; 0 caches none.
    pub cache_bytes: u64,
}

impl Default for EngineOptions {
    fn default() -> Self {
        EngineOptions {
            scheduler: SchedulerOptions::default(),
            longest_wait: Duration::from_millis(50),
            cache_bytes: 64 << 20,
        }
    }
}

/// Searches for each thread that may wait however long they take.
const FEW_A_THREAD: usize = 8;

/// The same with a GPU, which answers as many in a batch.
const FEW_FOR_GPU: usize = 1024;

/// Answers searches on the threads and lanes of one scheduler, and keeps answers.
pub struct Engine {
    scheduler: Scheduler,
    admission: Admission,
    /// Threads that search.
    threads: u64,
    cache: Option<AnswerCache>,
    counters: Arc<Counters>,
    batches: Mutex<Batches>,
}

#[derive(Default)]
struct Counters {
    waiting: AtomicU64,
    refused: AtomicU64,
    late: AtomicU64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Batches {
    count: u64,
    queries: u64,
    seconds: f64,
}

/// The load of an engine, and its work so far.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Load {
    /// Searches that wait or are being answered.
    pub waiting: u64,
    /// Searches refused because too many waited, or too long.
    pub refused: u64,
    /// Searches whose deadline passed.
    pub late: u64,
    /// Searches that CPU threads answered.
    pub by_cpu: u64,
    /// Searches that a GPU answered.
    pub by_gpu: u64,
    /// Batches of a GPU, their searches and seconds.
    pub batches: u64,
    /// Searches in those batches.
    pub batched: u64,
    /// Seconds of those batches.
    pub batch_seconds: f64,
    /// Searches that were answered by the processor that the router foresaw to be faster.
    pub as_foreseen: u64,
    /// Searches that the other processor answered, because of the load.
    pub otherwise: u64,
    /// Searches that wait for a thread of the CPU.
    pub wait_for_cpu: u64,
    /// Searches that wait for a GPU.
    pub wait_for_gpu: u64,
    /// Lanes of a GPU that answer.
    pub lanes: u64,
    /// Whether searches are batched now.
    pub is_synchronous: bool,
    /// Changes between single searches and batches.
    pub switches: u64,
    /// The reason why a GPU does not answer any more.
    pub lost: Option<String>,
    /// How often the GPU was lost.
    pub losses: u64,
    /// The use of the cache.
    pub cache: CacheUse,
}

impl Engine {
    /// An engine; with indexes on a GPU and a fitted router, if there are any.
    ///
    /// # Errors
    /// A lane of the GPU cannot be created.
    pub fn new(
        options: &EngineOptions,
        accelerator: Option<Arc<dyn Accelerator>>,
        router: Option<Router>,
    ) -> Result<Self> {
        let few = match &accelerator {
            Some(_) => FEW_FOR_GPU,
            None => FEW_A_THREAD * options.scheduler.threads,
        };
        Ok(Engine {
            admission: Admission::new(options.longest_wait, few),
            threads: options.scheduler.threads as u64,
            scheduler: Scheduler::new(accelerator, router, &options.scheduler)?,
            cache: (options.cache_bytes > 0).then(|| AnswerCache::new(options.cache_bytes)),
            counters: Arc::default(),
            batches: Mutex::default(),
        })
    }

    /// Answers a search.
    ///
    /// # Errors
    /// The queue is full; the deadline passed; the index is damaged.
    pub async fn run(&self, planned: Planned) -> Result<SearchAnswer, Problem> {
        self.shape(planned, |answer| answer).await
    }

    /// Answers a search. `shape` turns the answer into something else, on the thread that made it.
    ///
    /// # Errors
    /// As [`Engine::run`].
    pub async fn shape<T: Send + 'static>(
        &self,
        planned: Planned,
        shape: impl FnOnce(SearchAnswer) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let (search, deadline) = (Arc::clone(&planned.search), planned.deadline);
        let make = move |hits: Vec<Hit>| Ok(shape(answer(&planned, &hits)?));
        self.submit(search, deadline, make).await
    }

    /// As [`Engine::shape`], from the cache if that has the answer. `form` names the shape and all that it depends on
    /// beside the search.
    ///
    /// # Errors
    /// As [`Engine::run`].
    pub async fn cached(
        &self,
        planned: Planned,
        form: &[u8],
        shape: impl FnOnce(SearchAnswer) -> Bytes + Send + 'static,
    ) -> Result<Bytes, Problem> {
        let Some(cache) = &self.cache else {
            return self.shape(planned, shape).await;
        };
        let mut key = planned.key();
        key.extend_from_slice(form);
        let deadline = planned.deadline;
        let found = cache.get(&key, self.shape(planned, shape));
        match timeout_at(deadline.at.into(), found).await {
            Ok(found) => found,
            Err(_) => Err(self.late(&deadline)),
        }
    }

    /// Does other work on an index, in the queue of searches.
    ///
    /// # Errors
    /// As [`Engine::run`], and those of the work.
    pub async fn work<T: Send + 'static>(
        &self,
        index: Arc<Index>,
        deadline: Deadline,
        work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        // A search without terms finds nothing at once. With a place to begin behind, no GPU takes it.
        let nothing = Rank {
            score: 0.0,
            sequence: 0,
        };
        let search = Arc::new(Search {
            index,
            query: Query::default(),
            options: SearchOptions::default().k(1).after(Some(nothing)),
        });
        self.submit(search, deadline, |_| work()).await
    }

    /// Submits a search; `make` makes the answer of the hits, on the thread that found them.
    async fn submit<T: Send + 'static>(
        &self,
        search: Arc<Search>,
        deadline: Deadline,
        make: impl FnOnce(Vec<Hit>) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let (queries, wait) = self.scheduler.backlog();
        if !self.admission.permits(queries, wait, Instant::now()) {
            self.counters.refused.fetch_add(1, Ordering::Relaxed);
            return Err(Problem::new(
                Kind::Overloaded,
                format!(
                    "{queries} searches wait, for about {} ms: retry after a second",
                    wait.as_millis()
                ),
            ));
        }
        let (reply, answer) = oneshot::channel();
        let (counters, threads) = (Arc::clone(&self.counters), self.threads);
        counters.waiting.fetch_add(1, Ordering::Relaxed);
        let tell = move |outcome: Outcome| {
            let waiting = Waiting(counters);
            // The client has gone, or has been told that it is too late.
            if reply.is_closed() {
                return;
            }
            let is_by_thread = matches!(outcome, Outcome::Answered(_, Processor::Cpu));
            let result = match outcome {
                Outcome::Answered(hits, Processor::Cpu | Processor::Gpu(_)) => make(hits),
                Outcome::Late => Err(deadline.passed()),
                Outcome::Failed(why) => Err(Problem::internal(why)),
                _ => Err(Problem::new(
                    Kind::Unavailable,
                    "the server is shutting down, and the request was not answered: retry it",
                )),
            };
            // Threads for which others wait have more to do, and so have the lanes of a GPU. The runtime then sends many
            // answers each time that it wakes, which makes more of them a second: book/src/benchmarks/serving.md.
            let has_time = is_by_thread && waiting.0.waiting.load(Ordering::Relaxed) <= threads;
            drop(waiting);
            let send = || drop(reply.send(result));
            match has_time {
                true => go_on_here(send),
                false => send(),
            }
        };
        if let Err(refused) = self.scheduler.submit(search, Some(deadline.at), tell) {
            self.counters.waiting.fetch_sub(1, Ordering::Relaxed);
            return Err(self.refused(refused));
        }
        match timeout_at(deadline.at.into(), answer).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(Problem::internal(
                "the thread that made the answer panicked",
            )),
            Err(_) => Err(self.late(&deadline)),
        }
    }

    fn late(&self, deadline: &Deadline) -> Problem {
        self.counters.late.fetch_add(1, Ordering::Relaxed);
        deadline.passed()
    }

    fn refused(&self, refused: Refused) -> Problem {
        match refused {
            Refused::Full(waiting) => {
                self.counters.refused.fetch_add(1, Ordering::Relaxed);
                Problem::new(
                    Kind::Overloaded,
                    format!("the queue is full ({waiting} searches): retry after a second"),
                )
            }
            Refused::Closed => Problem::new(
                Kind::Unavailable,
                "the server is shutting down: retry with another server",
            ),
        }
    }

    /// The number of searches that one request may have in the queue at the same time: so it does not delay others, and
    /// none of them is refused unless the server is overloaded.
    pub fn share(&self) -> usize {
        self.admission.few()
    }

    /// Its load, and its work so far.
    pub fn load(&self) -> Load {
        let report = self.scheduler.report();
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let mut batches = self.batches.lock().unwrap_or_else(PoisonError::into_inner);
        batches.count += report.batches.len() as u64;
        for batch in &report.batches {
            batches.queries += batch.queries as u64;
            batches.seconds += batch.seconds;
        }
        Load {
            waiting: read(&self.counters.waiting),
            refused: read(&self.counters.refused),
            late: read(&self.counters.late),
            by_cpu: report.by_cpu,
            by_gpu: report.by_gpu,
            batches: batches.count,
            batched: batches.queries,
            batch_seconds: batches.seconds,
            as_foreseen: report.as_foreseen,
            otherwise: report.otherwise,
            wait_for_cpu: report.wait_for_cpu as u64,
            wait_for_gpu: report.wait_for_gpu as u64,
            lanes: report.lanes as u64,
            is_synchronous: self.scheduler.is_synchronous(),
            switches: report.switches,
            lost: report.lost,
            losses: report.losses,
            cache: self
                .cache
                .as_ref()
                .map(AnswerCache::used)
                .unwrap_or_default(),
        }
    }

    /// Waits until no search waits, at most for `longest`.
    pub async fn drained(&self, longest: Duration) -> bool {
        let end = tokio::time::Instant::now() + longest;
        while self.counters.waiting.load(Ordering::Relaxed) > 0 {
            if tokio::time::Instant::now() >= end {
                return false;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        true
    }
}

/// Counts a search as ended when dropped, also by a panic.
struct Waiting(Arc<Counters>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}
