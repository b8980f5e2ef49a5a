//! What hears how a task goes on, so that a hang can be told from work.

/// Hears of the functions of a job, which may hang; what a runner itself does, such as sorting,
/// ends.
pub(crate) trait Watch {
    /// Runs a function of the job.
    fn during<T>(&self, function: impl FnOnce() -> T) -> T;

    /// The function goes on: it has taken a value or written an output.
    fn step(&self);
}

/// Nobody hears.
impl Watch for () {
    #[inline]
    fn during<T>(&self, function: impl FnOnce() -> T) -> T {
        function()
    }

    #[inline]
    fn step(&self) {}
}
