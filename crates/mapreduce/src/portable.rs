//! Jobs whose tasks can run in other processes. serde describes the job and its results.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::functors::Functors;
use super::input::PortableInput;
use super::job::{Job, Room};
use super::output::{Recorded, Written, record};
use super::report::Report;
use super::threads::Threads;
use tokapi_storage::error::Result;
use tokapi_storage::progress::Progress;

/// A job that other processes can rebuild from its serialized form, once for map tasks and once
/// for reduce tasks. The form includes the results of [`Job::all_mapped`].
///
/// ```
/// # use std::sync::Arc;
/// # use serde::{Deserialize, Serialize};
/// # use tokapi_mapreduce::{Document, Documents, Emitter, Job, Portable, Registry, Threads};
/// # use tokapi_storage::error::Result;
/// # use tokapi_text::analyze::Analyzer;
/// # use tokapi_text::corpus::{Corpus, CorpusOptions};
/// #[derive(Serialize, Deserialize)]
/// struct WordCount;
///
/// impl Job for WordCount {
///     type Input = Documents;
///     type Key<'a> = &'a str;
///     type Value = u64;
///     type Note = ();
///     type Output<'a> = (&'a str, u64);
///
///     fn map(&self, document: Document<'_>, emit: &mut Emitter<Self>) {
///         emit.pairs(document.terms(), 1);
///     }
///
///     fn reduce(
///         &self,
///         term: &str,
///         counts: impl Iterator<Item = u64>,
///         write: &mut impl FnMut((&str, u64)),
///     ) -> Result<()> {
///         write((term, counts.sum()));
///         Ok(())
///     }
/// }
///
/// impl Portable for WordCount {
///     const NAME: &'static str = "word-count";
/// }
///
/// # fn main() -> Result<()> {
/// // The jobs of a worker program.
/// let registry = Registry::default().text::<WordCount>();
/// # let _ = registry;
///
/// // It runs on threads too.
/// let corpus = Corpus::from_bytes("a.tsv", "1\tto be\n2\tto go\n", CorpusOptions::default());
/// let documents = Documents::new(corpus, Arc::new(Analyzer::default()), 2);
/// let own = |(term, count): (&str, u64)| (term.to_owned(), count);
/// let (counts, _) = Threads::default().collect(&mut WordCount, documents, own)?;
/// assert_eq!(counts[2], ("to".to_owned(), 2));
/// # Ok(())
/// # }
/// ```
///
/// [`WorkerCommand`](crate::WorkerCommand) has an example that starts workers.
pub trait Portable: Job<Input: PortableInput> + Serialize + DeserializeOwned {
    /// Its name in the registry of workers.
    const NAME: &'static str;

    /// Its functions on a device, if it has any. Their results equal those of `map`.
    #[doc(hidden)]
    const FUNCTORS: Option<Functors<Self>> = None;
}

/// An output that is text.
pub trait Text {
    /// Appends its lines to `text`.
    fn push(&self, text: &mut Vec<u8>);
}

/// A job whose outputs are text.
pub trait TextJob: Portable + for<'a> Job<Output<'a>: Text> {}

impl<J: Portable + for<'a> Job<Output<'a>: Text>> TextJob for J {}

/// A job whose outputs are collected in a list.
pub trait ListJob: Portable {
    /// An output that borrows nothing.
    type Owned: Serialize + DeserializeOwned + Send;

    /// Converts an output to its owned form.
    fn own(output: Self::Output<'_>) -> Self::Owned;
}

/// A runner of jobs. All runners return the same bytes.
///
/// [`WorkerCommand`](crate::WorkerCommand) has an example.
pub trait Runner {
    /// Number of tasks that run at the same time.
    fn tasks(&self) -> usize;

    /// The resources for a job's own tables.
    #[doc(hidden)]
    fn room(&self) -> Room;

    /// Reports on the jobs, and can cancel them.
    fn progress(&self) -> &Progress;

    /// Whether it runs only jobs with [functions for a device](Portable::FUNCTORS).
    #[doc(hidden)]
    fn needs_functors(&self) -> bool {
        false
    }

    /// Runs `job` on `input`, and writes its outputs to `path`, compressed as the name says. The
    /// caller commits the file.
    ///
    /// # Errors
    /// The input cannot be read; a function of the job panicked; scratch files or the output cannot
    /// be written.
    fn text<J: TextJob>(&self, job: &mut J, input: J::Input, path: &Path) -> Result<Written>;

    /// Runs `job` on `input`, and returns its outputs in key order; they may exceed the memory.
    ///
    /// # Errors
    /// As [`Runner::text`].
    #[doc(hidden)]
    fn records<J: ListJob>(&self, job: &mut J, input: J::Input) -> Result<Recorded<J::Owned>>;

    /// Runs `job` on `input`, and returns its outputs in key order.
    ///
    /// # Errors
    /// As [`Runner::text`].
    #[doc(hidden)]
    fn list<J: ListJob>(&self, job: &mut J, input: J::Input) -> Result<(Vec<J::Owned>, Report)> {
        let (records, report) = self.records(job, input)?;
        Ok((records.iter().collect::<Result<_>>()?, report))
    }
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

    fn text<J: TextJob>(&self, job: &mut J, input: J::Input, path: &Path) -> Result<Written> {
        self.write(job, input, path, |output, text| output.push(text))
    }

    fn records<J: ListJob>(&self, job: &mut J, input: J::Input) -> Result<Recorded<J::Owned>> {
        record(&self.in_key_order(), job, input, J::own)
    }
}
