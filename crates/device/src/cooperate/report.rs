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
    /// Queries that were answered by the processor that the router foresaw to be faster.
    pub as_foreseen: u64,
    /// Queries that the other processor answered, because of the load.
    pub otherwise: u64,
    /// Queries that wait for a thread of the CPU.
    pub wait_for_cpu: usize,
    /// Queries that wait for a lane of the GPU.
    pub wait_for_gpu: usize,
    /// Lanes of the GPU that answer queries.
    pub lanes: usize,
    /// Changes of the mode.
    pub switches: u64,
    /// The batches of the GPU since the last report, the last 65,536 at most.
    pub batches: Vec<BatchTime>,
    /// The reason why the GPU does not answer any more.
    pub lost: Option<String>,
    /// How often the GPU was lost.
    pub losses: u64,
}
