//! The contract between a job and its runner: the job's types and functions, and the emitter that
//! `map` writes pairs to.

use std::cmp::Ordering;
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::codec;
use super::container::{Container, KeyOrder};
use super::input::{Input, Reader};
use super::records::Records;
use super::run::RunWriter;
use super::values::{Combine, Order};
use tokapi_storage::error::Result;
use tokapi_storage::progress::Progress;

/// The record type of a job.
pub type Record<'a, J> = <<<J as Job>::Input as Input>::Reader as Reader>::Record<'a>;

/// The resources for a job's own tables, which it builds from notes.
#[derive(Debug, Clone)]
pub struct Room {
    /// The memory for a table; a larger one goes to scratch.
    pub memory_bytes: u64,
    /// The folder for scratch files.
    pub scratch: PathBuf,
    /// The progress of the runner: work on tables ends early if it is cancelled.
    pub progress: Progress,
}

/// A job: `map` turns records into pairs, `reduce` turns the pairs of each key into outputs.
///
/// `map` and `reduce` depend only on their arguments and the job, so a task can be repeated, on
/// any machine, with the same result.
///
/// ```
/// # use tokapi_mapreduce::{Emitter, Job, Line, Lines, Threads};
/// # use tokapi_storage::error::Result;
/// struct LongestLine;
///
/// impl Job for LongestLine {
///     type Input = Lines;
///     type Key<'a> = char;
///     type Value = u64;
///     type Note = ();
///     type Output<'a> = (char, u64);
///
///     fn map(&self, line: Line<'_>, emit: &mut Emitter<Self>) {
///         emit.pair(line.text.chars().next().unwrap_or(' '), line.text.len() as u64);
///     }
///
///     fn reduce(
///         &self,
///         first: char,
///         lengths: impl Iterator<Item = u64>,
///         write: &mut impl FnMut((char, u64)),
///     ) -> Result<()> {
///         write((first, lengths.max().unwrap_or(0)));
///         Ok(())
///     }
/// }
///
/// # fn main() -> Result<()> {
/// let lines = Lines::of_text("be\nto be\nto\nbye", 1);
/// let (longest, report) = Threads::default().collect(&mut LongestLine, lines, |output| output)?;
/// assert_eq!(longest, [('b', 3), ('t', 5)]);
/// assert_eq!((report.emitted_pairs, report.keys), (4, 2));
/// # Ok(())
/// # }
/// ```
pub trait Job: Sync {
    /// The input: the source of records and their division into tasks.
    type Input: Input;
    /// Keys are equal if their serialized forms are, and are ordered by `Ord`.
    type Key<'a>: Serialize + Deserialize<'a> + Ord;
    /// The value type. Values are grouped by key.
    type Value: Serialize + DeserializeOwned + Clone + Send;
    /// Facts that a map task reports besides its pairs, such as lengths of documents; `()` if
    /// none.
    type Note: Serialize + DeserializeOwned + Default + Send;
    /// The output type of `reduce`.
    type Output<'a>;

    /// Emits the pairs of one record to `emit`, or rejects the record ([`Emitter::reject`]).
    fn map(&self, record: Record<'_, Self>, emit: &mut Emitter<Self>)
    where
        Self: Sized;

    /// Receives the notes of all map tasks, in input order, before the first reduce. It is called
    /// once, on every runner; its results become part of the job.
    ///
    /// # Errors
    /// The notes show an input that the job cannot process; scratch files cannot be read or
    /// written.
    #[doc(hidden)]
    fn all_mapped(&mut self, notes: &Records<Self::Note>, room: &Room) -> Result<()> {
        let _ = (notes, room);
        Ok(())
    }

    /// Makes the outputs of a key from all its values. The values come one by one from their runs,
    /// in the order of [`Job::value_order`] or else of the input.
    ///
    /// # Errors
    /// Scratch files of the job cannot be read.
    fn reduce(
        &self,
        key: Self::Key<'_>,
        values: impl Iterator<Item = Self::Value>,
        write: &mut impl FnMut(Self::Output<'_>),
    ) -> Result<()>;

    /// Combines two values of a key before they go to `reduce`. The result must not depend on the
    /// order or grouping of the calls: sums of integers qualify, sums of floats do not.
    #[expect(clippy::type_complexity, reason = "a user reads it here")]
    fn combiner(&self) -> Option<fn(&mut Self::Value, Self::Value)> {
        None
    }

    /// The secondary key: the order of a key's values. Equal values keep the input's order, unless
    /// there is a combiner.
    #[expect(clippy::type_complexity, reason = "a user reads it here")]
    fn value_order(&self) -> Option<fn(&Self::Value, &Self::Value) -> Ordering> {
        None
    }

    /// The partition, below `partitions`, of a key with this hash. It is used if partitions are
    /// not ranges of keys.
    fn partition(&self, key: &Self::Key<'_>, hash: u64, partitions: u32) -> u32 {
        let _ = key;
        // The high half of a product below 2^32 * `partitions`, so it is below `partitions`.
        ((u128::from(hash) * u128::from(partitions)) >> 64) as u32
    }

    /// A number that is smaller only for smaller keys. It decides most comparisons without
    /// decoding; see [`prefix`] for text.
    fn prefix(key: &Self::Key<'_>) -> u64 {
        let _ = key;
        0
    }

    /// A distinct small number for every key, in key order. Keys are then found in an array
    /// instead of a hash table, and need no sort. Either all keys have one, or none.
    fn place(key: &Self::Key<'_>) -> Option<usize> {
        let _ = key;
        None
    }
}

/// Receives the pairs of a job's `map`.
///
/// [`Job`] has an example.
pub struct Emitter<J: Job> {
    pairs: Container<J::Value>,
    note: J::Note,
    /// The reason why the record was rejected, if it was.
    rejected: Option<String>,
}

impl<J: Job> Emitter<J> {
    /// An empty emitter. [`Emitter::take_back`] works only with `takes_back`.
    pub(crate) fn new(combiner: Option<Combine<J::Value>>, takes_back: bool) -> Self {
        Emitter {
            pairs: Container::new(combiner, takes_back),
            note: J::Note::default(),
            rejected: None,
        }
    }

    /// Emits a pair.
    #[inline]
    pub fn pair(&mut self, key: J::Key<'_>, value: J::Value) {
        self.pairs.pair(&key, J::place(&key), value);
    }

    /// Emits a pair for each key, all with one value. The result is that of calling
    /// [`Emitter::pair`] for each key, but this is faster.
    #[inline]
    pub fn pairs<'k>(&mut self, keys: impl IntoIterator<Item = J::Key<'k>>, value: J::Value) {
        self.pairs.pairs(keys.into_iter(), J::place, &value);
    }

    /// Rejects the record with a reason. The job stops with an error that names the record, or
    /// omits the record with all its pairs. A panic has the same effect.
    pub fn reject(&mut self, why: impl Into<String>) {
        self.rejected.get_or_insert(why.into());
    }

    /// The reason of the rejection.
    pub(crate) fn take_rejected(&mut self) -> Option<String> {
        self.rejected.take()
    }

    /// The note of the task, for facts beside its pairs.
    pub fn note(&mut self) -> &mut J::Note {
        &mut self.note
    }

    /// Ends a record.
    /// One of its pairs could not be added.
    /// # Errors
    /// One of its pairs could not be taken.
    pub(crate) fn end_record(&mut self) -> Result<()> {
        self.pairs.end_record()
    }

    /// Removes the pairs emitted since the last record ended.
    pub(crate) fn take_back(&mut self) {
        self.rejected = None;
        self.pairs.take_back();
    }

    /// The note of the task, and the number of pairs emitted, since the last call.
    pub(crate) fn end_task(&mut self) -> (J::Note, u64) {
        (std::mem::take(&mut self.note), self.pairs.end_task())
    }

    /// The pairs.
    pub(crate) fn container(&self) -> &Container<J::Value> {
        &self.pairs
    }

    /// Writes all pairs in order to `run`, and removes them. `partition` maps a key and its bytes
    /// to its partition.
    pub(crate) fn write(
        &mut self,
        run: &mut RunWriter,
        order: Option<Order<J::Value>>,
        partition: impl Fn(&J::Key<'_>, &[u8]) -> u32,
        progress: &Progress,
    ) -> Result<()> {
        let place = |bytes: &[u8]| {
            let key: J::Key<'_> = codec::decode(bytes)?;
            Ok(KeyOrder {
                part: partition(&key, bytes),
                prefix: J::prefix(&key),
            })
        };
        self.pairs.write(run, order, place, compare::<J>, progress)
    }
}

/// Compares two encoded keys.
#[inline]
pub(crate) fn compare<J: Job>(a: &[u8], b: &[u8]) -> Ordering {
    // Both were decoded before, to get their prefixes, so no error is hidden.
    let key = |bytes| codec::decode::<J::Key<'_>>(bytes).ok();
    key(a).cmp(&key(b))
}

/// The first 8 bytes of a text as a number. It orders texts that differ in these bytes.
pub fn prefix(text: &str) -> u64 {
    let bytes = text.as_bytes();
    match bytes.first_chunk::<8>() {
        Some(word) => u64::from_be_bytes(*word),
        None => {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_be_bytes(word)
        }
    }
}
