//! The contract between a job and its runner: its types, its functions, and the emitter that its
//! `map` gives pairs to.

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

/// The records that a job's `map` takes.
pub type Record<'a, J> = <<<J as Job>::Input as Input>::Reader as Reader>::Record<'a>;

/// The room that a job has for tables of its own, made of notes.
#[derive(Debug, Clone)]
pub struct Room {
    /// What a table may take in memory; a larger one goes to scratch.
    pub memory_bytes: u64,
    /// The folder for scratch files.
    pub scratch: PathBuf,
}

/// A job: `map` makes pairs of records, `reduce` makes outputs of each key's pairs.
///
/// `map` and `reduce` depend on their arguments and the job alone, so that a task can be run
/// again, elsewhere, with the same result.
pub trait Job: Sync {
    /// Where records come from, and how they are split among tasks.
    type Input: Input;
    /// Keys are equal where what they serialize to is, and are ordered by `Ord`.
    type Key<'a>: Serialize + Deserialize<'a> + Ord;
    /// What is grouped by key.
    type Value: Serialize + DeserializeOwned + Clone + Send;
    /// What a map task has to tell beside its pairs, such as lengths of documents; `()` if nothing.
    type Note: Serialize + DeserializeOwned + Default + Send;
    /// What `reduce` makes.
    type Output<'a>;

    /// Gives the pairs of one record to `emit`, or rejects the record ([`Emitter::reject`]).
    fn map(&self, record: Record<'_, Self>, emit: &mut Emitter<Self>)
    where
        Self: Sized;

    /// Takes in what the map tasks noted, in input order, before anything is reduced. It is called
    /// once, wherever tasks run; what it makes of the notes is part of the job.
    ///
    /// # Errors
    /// The notes show that the input is not what the job can work on; scratch files cannot be
    /// read or written.
    fn all_mapped(&mut self, notes: &Records<Self::Note>, room: &Room) -> Result<()> {
        let _ = (notes, room);
        Ok(())
    }

    /// Makes outputs of a key and all its values, which come one by one from wherever they are:
    /// in the order of [`Job::value_order`], otherwise in that of the input.
    ///
    /// # Errors
    /// What the job has put on scratch cannot be read.
    fn reduce(
        &self,
        key: Self::Key<'_>,
        values: impl Iterator<Item = Self::Value>,
        write: &mut impl FnMut(Self::Output<'_>),
    ) -> Result<()>;

    /// Adds a value to another of the same key before they travel. What comes out must not depend
    /// on the order or the grouping in which it is applied: sums of integers, not of floats.
    fn combiner(&self) -> Option<Combine<Self::Value>> {
        None
    }

    /// The secondary key: how the values of a key are ordered. Equal ones keep the input's order,
    /// unless there is a combiner.
    fn value_order(&self) -> Option<Order<Self::Value>> {
        None
    }

    /// The partition, below `partitions`, of a key with this hash, where partitions are not
    /// ranges of keys.
    fn partition(&self, key: &Self::Key<'_>, hash: u64, partitions: u32) -> u32 {
        let _ = key;
        // The high half of a product below 2^64 * 2^32: below `partitions`.
        ((u128::from(hash) * u128::from(partitions)) >> 64) as u32
    }

    /// A number that is smaller only for smaller keys, by which most comparisons are decided
    /// sooner; see [`prefix`] for text.
    fn prefix(key: &Self::Key<'_>) -> u64 {
        let _ = key;
        0
    }

    /// A small number of its own for every key, smaller for smaller keys: keys are then found in an
    /// array and not in a hash table, and need not be sorted. Either all keys have one, or none.
    fn place(key: &Self::Key<'_>) -> Option<usize> {
        let _ = key;
        None
    }
}

/// Takes the pairs of a job's `map`.
pub struct Emitter<J: Job> {
    pairs: Container<J::Value>,
    note: J::Note,
    /// Why the record cannot be mapped, if it cannot.
    rejected: Option<String>,
}

impl<J: Job> Emitter<J> {
    /// No pairs yet. With `takes_back`, [`Emitter::take_back`] works.
    pub(crate) fn new(combiner: Option<Combine<J::Value>>, takes_back: bool) -> Self {
        Emitter {
            pairs: Container::new(combiner, takes_back),
            note: J::Note::default(),
            rejected: None,
        }
    }

    /// Takes a pair.
    #[inline]
    pub fn pair(&mut self, key: J::Key<'_>, value: J::Value) {
        self.pairs.pair(&key, J::place(&key), value);
    }

    /// Takes a pair of each key, all with one value. It gives the same as a call of
    /// [`Emitter::pair`] for each key, but is faster.
    #[inline]
    pub fn pairs<'k>(&mut self, keys: impl IntoIterator<Item = J::Key<'k>>, value: J::Value) {
        self.pairs.pairs(keys.into_iter(), J::place, &value);
    }

    /// Says that the record cannot be mapped, and why. The job stops with an error that names the
    /// record, or leaves the record out with all its pairs. A panic does the same.
    pub fn reject(&mut self, why: impl Into<String>) {
        self.rejected.get_or_insert(why.into());
    }

    /// Why the record was rejected.
    pub(crate) fn take_rejected(&mut self) -> Option<String> {
        self.rejected.take()
    }

    /// The note of the task, for facts beside its pairs.
    pub fn note(&mut self) -> &mut J::Note {
        &mut self.note
    }

    /// Ends a record.
    ///
    /// # Errors
    /// One of its pairs could not be taken.
    pub(crate) fn end_record(&mut self) -> Result<()> {
        self.pairs.end_record()
    }

    /// Forgets the pairs since the last record ended.
    pub(crate) fn take_back(&mut self) {
        self.rejected = None;
        self.pairs.take_back();
    }

    /// The note of the task, and how many pairs were emitted, since this was last asked.
    pub(crate) fn end_task(&mut self) -> (J::Note, u64) {
        (std::mem::take(&mut self.note), self.pairs.end_task())
    }

    /// The pairs.
    pub(crate) fn container(&self) -> &Container<J::Value> {
        &self.pairs
    }

    /// Writes all pairs in order to `run`, with `partition` of a key and its bytes, and forgets
    /// them.
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

/// The order of the keys that two pieces of bytes hold.
#[inline]
pub(crate) fn compare<J: Job>(a: &[u8], b: &[u8]) -> Ordering {
    // Both were decoded before, when they were given a prefix: there is no error to hide.
    let key = |bytes| codec::decode::<J::Key<'_>>(bytes).ok();
    key(a).cmp(&key(b))
}

/// The first 8 bytes of a text as a number that orders texts which differ in them.
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
