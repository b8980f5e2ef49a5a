//! Jobs whose tasks can be run elsewhere: what goes there and comes back is described by serde.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::functors::Functors;
use super::input::PortableInput;
use super::job::{Job, Room};
use super::output::record;
use super::records::Records;
use super::report::Report;
use super::threads::Threads;
use tokapi_storage::error::Result;
use tokapi_storage::progress::Progress;
use tokapi_storage::whole::Staged;

/// A job that can be made again elsewhere from what it serializes to, once for map tasks and once
/// for reduce tasks: what [`Job::all_mapped`] made of the notes is to be serialized too.
pub trait Portable: Job<Input: PortableInput> + Serialize + DeserializeOwned {
    /// Its name, by which a worker finds it.
    const NAME: &'static str;

    /// Its functions on a device, if it has any: what they give is what `map` gives.
    fn functors() -> Option<Functors<Self>> {
        None
    }
}

/// A job whose outputs are text.
pub trait TextJob: Portable {
    /// Adds an output to `text`.
    fn format(output: Self::Output<'_>, text: &mut Vec<u8>);
}

/// A job whose outputs are wanted as a list.
pub trait ListJob: Portable {
    /// An output that borrows nothing.
    type Owned: Serialize + DeserializeOwned + Send;

    /// Makes an output one's own.
    fn own(output: Self::Output<'_>) -> Self::Owned;
}

/// What runs the tasks of jobs, wherever: all runners give the same bytes.
pub trait Runner {
    /// How many tasks run at the same time.
    fn tasks(&self) -> usize;

    /// The room for tables that a job has of its own.
    fn room(&self) -> Room;

    /// Follows the jobs, and can cancel them.
    fn progress(&self) -> &Progress;

    /// Whether it runs only jobs that have [functions for a device](Portable::functors).
    fn needs_functors(&self) -> bool {
        false
    }

    /// Runs `job` on `input` and writes its outputs to `path`, compressed as its name tells. To be
    /// committed by the caller.
    ///
    /// # Errors
    /// The input cannot be read; a function of the job panicked; scratch files or the output cannot
    /// be written.
    fn text<J: TextJob>(
        &self,
        job: &mut J,
        input: J::Input,
        path: &Path,
    ) -> Result<(Staged, Report)>;

    /// Runs `job` on `input` and gives its outputs, in order.
    ///
    /// # Errors
    /// As [`Runner::text`].
    fn list<J: ListJob>(&self, job: &mut J, input: J::Input) -> Result<(Vec<J::Owned>, Report)>;

    /// Runs `job` on `input` and gives its outputs in key order, which may be more than the memory
    /// holds.
    ///
    /// # Errors
    /// As [`Runner::text`].
    fn records<J: ListJob>(
        &self,
        job: &mut J,
        input: J::Input,
    ) -> Result<(Records<J::Owned>, Report)>;
}

impl Runner for Threads {
    fn tasks(&self) -> usize {
        self.threads.max(1)
    }

    fn room(&self) -> Room {
        Threads::room(self)
    }

    fn progress(&self) -> &Progress {
        &self.progress
    }

    fn text<J: TextJob>(
        &self,
        job: &mut J,
        input: J::Input,
        path: &Path,
    ) -> Result<(Staged, Report)> {
        self.write(job, input, path, J::format)
    }

    fn list<J: ListJob>(&self, job: &mut J, input: J::Input) -> Result<(Vec<J::Owned>, Report)> {
        self.collect(job, input, J::own)
    }

    fn records<J: ListJob>(
        &self,
        job: &mut J,
        input: J::Input,
    ) -> Result<(Records<J::Owned>, Report)> {
        record(&self.in_key_order(), job, input, J::own)
    }
}
