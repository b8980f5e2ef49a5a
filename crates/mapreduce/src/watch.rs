//! Watches the functions of a job, to tell a hang from work.

/// Receives calls and steps of a job's functions, which may hang. The runner's own work, such as
/// sorting, always ends.
pub(crate) trait Watch {
    /// Runs a function of the job.
    fn during<T>(&self, function: impl FnOnce() -> T) -> T;

    /// The function makes progress: it has read a value or written an output.
    fn step(&self);
}

/// A watch that ignores everything.
impl Watch for () {
    #[inline]
    fn during<T>(&self, function: impl FnOnce() -> T) -> T {
        function()
    }

    #[inline]
    fn step(&self) {}
}
