//! The options of a scheduler.

use std::time::Duration;

use tokapi_storage::progress::Progress;

/// The processors that answer queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Policy {
    /// Both, asynchronously under light load and synchronously under heavy load.
    #[default]
    Cooperative,
    /// Both; each query goes to the processor that the router chooses.
    Asynchronous,
    /// The GPU alone, in batches.
    Synchronous,
    /// The CPU alone.
    Cpu,
}

/// Options of a `Scheduler`.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SchedulerOptions {
    /// Number of CPU threads that answer queries.
    pub threads: usize,
    /// Number of GPU lanes.
    pub lanes: usize,
    /// The processors that answer queries.
    pub policy: Policy,
    /// Maximum number of waiting queries; further queries are refused.
    pub queue: usize,
    /// Target response time of a query that arrives while a batch is under way. Batches are sized
    /// to take half of it.
    pub response: Duration,
    /// After a GPU was lost, the time between attempts to use it again; it is not used again unless given.
    pub retry: Option<Duration>,
    /// Can cancel all waiting and future queries.
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
            retry: None,
            progress: Progress::default(),
        }
    }
}

impl SchedulerOptions {
    tokapi_storage::setters! {
        threads: usize, lanes: usize, policy: Policy, queue: usize, response: Duration,
        retry: Option<Duration>, progress: Progress,
    }
}
