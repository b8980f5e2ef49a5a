//! The container of a map worker: pairs go in one by one and come out as sorted runs.
//!
//! Every key is held once. With a combiner a key has one value, to which others are added on
//! insert; without, values are logged as bytes and grouped by a counting sort at the end.

use super::codec;
use super::job::{Combine, Job, Order};
use super::keys::Keys;
use super::run::RunWriter;
use crate::error::{Error, Result};

/// What `map` gives its pairs to.
pub struct Emitter<J: Job> {
    keys: Keys,
    values: Values<J::Value>,
    note: J::Note,
    /// The first pair that could not be taken.
    failed: Option<Error>,
    /// Why the record cannot be mapped, if it cannot.
    rejected: Option<String>,
    emitted: u64,
    /// What it was like before the record that is being mapped.
    mark: Position,
}

/// The values of the pairs held.
enum Values<V> {
    Combined {
        combine: Combine<V>,
        /// The value of every key, of those that had one before `staged`.
        combined: Vec<V>,
        /// The latest pairs: key and value.
        staged: Vec<(u32, V)>,
        /// So many are staged before they are combined; the pairs of one record where these may
        /// have to be taken back.
        most_staged: usize,
    },
    Logged {
        /// The key of every pair.
        keys: Vec<u32>,
        /// Where the value of every pair ends.
        ends: Vec<usize>,
        /// All values end to end.
        bytes: Vec<u8>,
    },
}

/// How far a container is filled.
#[derive(Debug, Clone, Copy, Default)]
struct Position {
    keys: usize,
    pairs: usize,
    emitted: u64,
}

/// A few kilobytes of pairs: they stay in the cache.
const STAGED: usize = 512;

impl<J: Job> Emitter<J> {
    /// An empty container. With `takes_back`, [`Emitter::take_back`] works.
    pub(crate) fn new(combiner: Option<Combine<J::Value>>, takes_back: bool) -> Self {
        let values = match combiner {
            Some(combine) => Values::Combined {
                combine,
                combined: Vec::new(),
                staged: Vec::new(),
                most_staged: if takes_back { usize::MAX } else { STAGED },
            },
            None => Values::Logged {
                keys: Vec::new(),
                ends: Vec::new(),
                bytes: Vec::new(),
            },
        };
        Emitter {
            keys: Keys::default(),
            values,
            note: J::Note::default(),
            failed: None,
            rejected: None,
            emitted: 0,
            mark: Position::default(),
        }
    }

    /// Takes a pair.
    #[inline]
    pub fn pair(&mut self, key: J::Key<'_>, value: J::Value) {
        let place = J::place(&key);
        let id = self.keys.id(place, |bytes| codec::encode(&key, bytes));
        let taken = id.and_then(|id| self.values.push(id, value));
        self.emitted += 1;
        if let Err(error) = taken {
            self.failed.get_or_insert(error);
        }
    }

    /// Says that the record cannot be mapped, and why: the job stops with the record named, or
    /// leaves it out with all its pairs. A panic does the same.
    pub fn reject(&mut self, why: impl Into<String>) {
        self.rejected.get_or_insert(why.into());
    }

    /// Why the record was rejected.
    pub(crate) fn take_rejected(&mut self) -> Option<String> {
        self.rejected.take()
    }

    /// What the task has to tell beside its pairs.
    pub fn note(&mut self) -> &mut J::Note {
        &mut self.note
    }

    /// The pairs of a record are all there.
    ///
    /// # Errors
    /// One of them could not be taken.
    pub(crate) fn end_record(&mut self) -> Result<()> {
        self.values.combine_staged();
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        self.mark = Position {
            keys: self.keys.len(),
            pairs: self.values.logged(),
            emitted: self.emitted,
        };
        Ok(())
    }

    /// Forgets the pairs since the last record ended.
    pub(crate) fn take_back(&mut self) {
        self.failed = None;
        self.rejected = None;
        self.emitted = self.mark.emitted;
        self.keys.truncate(self.mark.keys);
        match &mut self.values {
            Values::Combined { staged, .. } => staged.clear(),
            Values::Logged { keys, ends, bytes } => {
                keys.truncate(self.mark.pairs);
                ends.truncate(self.mark.pairs);
                bytes.truncate(ends.last().copied().unwrap_or(0));
            }
        }
    }

    /// What the task noted, and how many pairs were emitted, since this was last asked.
    pub(crate) fn end_task(&mut self) -> (J::Note, u64) {
        self.mark.emitted = 0;
        (
            std::mem::take(&mut self.note),
            std::mem::take(&mut self.emitted),
        )
    }

    /// Whether values are combined, so that the container may serve many tasks.
    pub(crate) fn combines(&self) -> bool {
        matches!(self.values, Values::Combined { .. })
    }

    /// Whether there is nothing in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.keys.len() == 0
    }

    /// What it takes in memory, about; when it is made a run, that included.
    pub(crate) fn memory_bytes(&self) -> usize {
        let keys = self.keys.len() * size_of::<Sorted>() + self.keys.memory_bytes();
        keys + match &self.values {
            Values::Combined { combined, .. } => combined.len() * size_of::<J::Value>(),
            Values::Logged { keys, bytes, .. } => bytes.len() + keys.len() * LOGGED_BYTES,
        }
    }

    /// About how many bytes its run has.
    pub(crate) fn run_bytes(&self) -> usize {
        let values = match &self.values {
            Values::Combined { combined, .. } => combined.len() * size_of::<J::Value>(),
            Values::Logged { bytes, .. } => bytes.len(),
        };
        self.keys.bytes() + 4 * self.keys.len() + values
    }

    /// Writes all pairs in order to `run`, with `partition` of a key and its hash, and forgets
    /// them.
    pub(crate) fn write(
        &mut self,
        run: &mut RunWriter,
        order: Option<Order<J::Value>>,
        partition: impl Fn(&J::Key<'_>, u64) -> u32,
    ) -> Result<()> {
        let sorted = sorted::<J>(&self.keys, partition)?;
        match &mut self.values {
            Values::Combined { combined, .. } => {
                for key in sorted {
                    run.group(key.part, self.keys.get(key.id as usize), 1)?;
                    run.encode(&combined[key.id as usize])?;
                }
                combined.clear();
            }
            Values::Logged { keys, ends, bytes } => {
                let groups = Groups::new(keys, self.keys.len());
                let mut values: Vec<J::Value> = Vec::new();
                for key in sorted {
                    let pairs = groups.of(key.id as usize);
                    run.group(key.part, self.keys.get(key.id as usize), pairs.len() as u64)?;
                    let encoded = pairs.iter().map(|&pair| {
                        let start = pair.checked_sub(1).map_or(0, |pair| ends[pair as usize]);
                        &bytes[start..ends[pair as usize]]
                    });
                    match order {
                        None => encoded.into_iter().try_for_each(|value| run.value(value))?,
                        Some(order) => {
                            for value in encoded {
                                values.push(codec::decode(value)?);
                            }
                            values.sort_by(order);
                            values.drain(..).try_for_each(|value| run.encode(&value))?;
                        }
                    }
                }
                keys.clear();
                ends.clear();
                bytes.clear();
            }
        }
        self.keys.clear();
        self.mark = Position {
            emitted: self.emitted,
            ..Position::default()
        };
        Ok(())
    }
}

/// What a logged pair takes beside its value: its key, where it ends, its place in a group.
const LOGGED_BYTES: usize = size_of::<u32>() + size_of::<usize>() + size_of::<u32>();

impl<V: serde::Serialize> Values<V> {
    #[inline]
    fn push(&mut self, id: u32, value: V) -> Result<()> {
        match self {
            Values::Combined {
                staged,
                most_staged,
                ..
            } => {
                staged.push((id, value));
                if staged.len() >= *most_staged {
                    self.combine_staged();
                }
            }
            Values::Logged { keys, ends, bytes } => {
                codec::encode(&value, bytes)?;
                keys.push(id);
                ends.push(bytes.len());
            }
        }
        Ok(())
    }

    #[inline]
    fn combine_staged(&mut self) {
        let Values::Combined {
            combine,
            combined,
            staged,
            ..
        } = self
        else {
            return;
        };
        for (id, value) in staged.drain(..) {
            // Keys are numbered in the order in which they first come.
            match combined.get_mut(id as usize) {
                Some(held) => combine(held, value),
                None => combined.push(value),
            }
        }
    }

    /// Pairs in the log.
    fn logged(&self) -> usize {
        match self {
            Values::Combined { .. } => 0,
            Values::Logged { keys, .. } => keys.len(),
        }
    }
}

/// A key on its way to its place in a run.
struct Sorted {
    prefix: u64,
    part: u32,
    id: u32,
}

/// The keys in the order of a run.
fn sorted<J: Job>(keys: &Keys, partition: impl Fn(&J::Key<'_>, u64) -> u32) -> Result<Vec<Sorted>> {
    let mut sorted = Vec::with_capacity(keys.len());
    // There are fewer than 2^32 keys.
    for id in 0..keys.len() as u32 {
        let bytes = keys.get(id as usize);
        let key: J::Key<'_> = codec::decode(bytes)?;
        sorted.push(Sorted {
            prefix: J::prefix(&key),
            part: partition(&key, codec::hash(bytes)),
            id,
        });
    }
    sorted.sort_unstable_by(|a, b| {
        (a.part, a.prefix)
            .cmp(&(b.part, b.prefix))
            .then_with(|| compare::<J>(keys.get(a.id as usize), keys.get(b.id as usize)))
    });
    Ok(sorted)
}

/// How the keys compare that two pieces of bytes hold.
#[inline]
pub(crate) fn compare<J: Job>(a: &[u8], b: &[u8]) -> std::cmp::Ordering {
    // Both were decoded before, when they were given a prefix: there is no error to hide.
    let key = |bytes| codec::decode::<J::Key<'_>>(bytes).ok();
    key(a).cmp(&key(b))
}

/// The pairs of every key, in the order in which they came.
struct Groups {
    /// Where the pairs of each key begin, and where the last end.
    starts: Vec<u32>,
    pairs: Vec<u32>,
}

impl Groups {
    /// Groups pairs by their `keys`, of which there are `count`: a counting sort.
    fn new(keys: &[u32], count: usize) -> Self {
        let mut starts = vec![0; count + 1];
        for &key in keys {
            starts[key as usize] += 1;
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += std::mem::replace(start, sum);
        }
        let mut pairs = vec![0; keys.len()];
        for (pair, &key) in (0..).zip(keys) {
            let next = &mut starts[key as usize];
            pairs[*next as usize] = pair;
            *next += 1;
        }
        // Every start has moved to the end, which is the start of the next.
        starts.rotate_right(1);
        starts[0] = 0;
        Groups { starts, pairs }
    }

    fn of(&self, key: usize) -> &[u32] {
        &self.pairs[self.starts[key] as usize..self.starts[key + 1] as usize]
    }
}
