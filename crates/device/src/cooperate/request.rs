//! A query that waits or is being answered.

use std::sync::Arc;
use std::time::Instant;

use tokapi_index::Index;
use tokapi_index::query::{Hit, Query, SearchOptions};

/// A search in one state of an index.
#[derive(Clone)]
pub struct Search {
    /// The index.
    pub index: Arc<Index>,
    /// The query.
    pub query: Query,
    /// The options.
    pub options: SearchOptions,
}

impl Search {
    /// Answers it on this thread.
    pub(super) fn run(&self) -> tokapi_storage::error::Result<Vec<Hit>> {
        self.index.search(&self.query, &self.options)
    }
}

/// The processor that answered a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Processor {
    /// A thread of the CPU.
    Cpu,
    /// The GPU, in a batch of this many queries.
    Gpu(usize),
}

/// The outcome of a query that was accepted.
#[derive(Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// It was answered.
    Answered(Vec<Hit>, Processor),
    /// Its deadline passed while it waited.
    Late,
    /// The queries were cancelled while it waited.
    Cancelled,
    /// The index failed to answer it.
    Failed(String),
}

type Reply = Box<dyn FnOnce(Outcome) + Send>;

/// A query that waits or is being answered.
pub(super) struct Request {
    search: Arc<Search>,
    deadline: Option<Instant>,
    /// Its work on a GPU; none if no GPU can answer it.
    work: Option<f64>,
    /// Whether the GPU alone would answer it faster than a CPU thread.
    pub faster_on_gpu: bool,
    /// Whether a router foresaw that.
    pub is_foreseen: bool,
    /// Its position in the order of arrival.
    pub number: u64,
    /// The reply; none after it has been called.
    reply: Option<Reply>,
}

impl Request {
    pub fn new(
        search: Arc<Search>,
        deadline: Option<Instant>,
        work: Option<f64>,
        (faster_on_gpu, is_foreseen): (bool, bool),
        reply: impl FnOnce(Outcome) + Send + 'static,
    ) -> Self {
        Request {
            search,
            deadline,
            work,
            faster_on_gpu,
            is_foreseen,
            number: 0,
            reply: Some(Box::new(reply)),
        }
    }

    pub fn search(&self) -> &Search {
        &self.search
    }

    pub fn work(&self) -> f64 {
        self.work.unwrap_or(0.0)
    }

    /// Whether a GPU can answer it.
    pub fn can_go_to_gpu(&self) -> bool {
        self.work.is_some()
    }

    /// Records that no GPU can answer it.
    pub fn for_cpu(mut self) -> Self {
        self.work = None;
        self
    }

    pub fn is_late(&self) -> bool {
        self.deadline
            .is_some_and(|deadline| deadline < Instant::now())
    }

    pub fn tell(&mut self, outcome: Outcome) {
        if let Some(reply) = self.reply.take() {
            // A panic of one caller must not prevent the replies to others.
            let _ = caught(|| reply(outcome));
        }
    }

    /// Drops the reply without a call.
    pub fn forget(mut self) {
        self.reply = None;
    }
}

/// Every caller gets a reply, even if the thread that held the query panics.
impl Drop for Request {
    fn drop(&mut self) {
        self.tell(Outcome::Failed(
            "the thread that had the query ended".into(),
        ));
    }
}

/// The result of `work`; none if it panics.
pub(super) fn caught<T>(work: impl FnOnce() -> T) -> Option<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).ok()
}
