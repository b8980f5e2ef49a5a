//! The facts that all map tasks of a job share.

use super::super::functors::{Functors, ReduceFunction};
use super::super::job::Job;
use super::super::spill::Spill;
use super::super::threads::Threads;

/// The facts that all map tasks of a job share.
pub(super) struct Task<'a, J: Job> {
    pub threads: &'a Threads,
    pub job: &'a J,
    pub functors: &'a Functors<J>,
    pub spill: &'a Spill,
}

impl<J: Job> Task<'_, J> {
    /// The reduce function on the device. It keeps all values if combining is switched off.
    pub(super) fn reduce(&self) -> ReduceFunction {
        match self.functors.reduce {
            ReduceFunction::Runs => ReduceFunction::Runs,
            _ if !self.threads.combine => ReduceFunction::Nothing,
            combines => combines,
        }
    }
}
