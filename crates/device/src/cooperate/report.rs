//! The statistics of a scheduler.

/// A batch answered by a lane.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BatchTime {
    /// Number of queries.
    pub queries: usize,
    /// Their work.
    pub work: f64,
    /// Its duration.
    pub seconds: f64,
}

/// The statistics of a scheduler so far.
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
    /// The reason why the GPU no longer answers.
    pub lost: Option<String>,
}
