//! The work that a scheduler has done, in numbers.

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

/// The work of a scheduler so far.
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
