//! The choices of whoever makes a scheduler.

use std::time::Duration;

use tokapi_index::query::SearchOptions;
use tokapi_storage::progress::Progress;

/// The processors that answer.
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
    /// The processors that answer.
    pub policy: Policy,
    /// Queries that may wait; more are refused.
    pub queue: usize,
    /// The time that a query may take if it comes while a batch is under way. A batch is closed so that it takes half
    /// of that.
    pub response: Duration,
    /// How queries are answered.
    pub search: SearchOptions,
    /// Can cancel all queries that wait and that will come.
    pub progress: Progress,
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
            progress: Progress::default(),
        }
    }
}
