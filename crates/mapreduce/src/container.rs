//! The container of a map worker: it receives pairs one by one and returns them as sorted runs.
//!
//! Every key is stored once. With a combiner a key has one value, and later values are added to it
//! at once. Without a combiner, values are logged as bytes and grouped by a counting sort at the
//! end. If consecutive pairs have the same value, it is logged once.

use std::cmp::Ordering;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::codec::{self, Word};
use super::keys::{BATCH, Keys};
use super::run::RunWriter;
use super::values::{AHEAD, Combine, Combined, Log, Order, Values};
use tokapi_storage::error::{Error, Result};
use tokapi_storage::prefetch::prefetch;
use tokapi_storage::progress::Progress;
use tokapi_storage::quicksort;

/// Collects pairs of encoded keys and values.
pub(crate) struct Container<V> {
    keys: Keys,
    values: Values<V>,
    /// The key being added.
    word: Word,
    /// The values of keys that are looked up together, and the numbers of the keys.
    staged: Vec<V>,
    ids: Vec<u32>,
    /// The error of the first pair that could not be added.
    failed: Option<Error>,
    emitted: u64,
    /// The fill level before the current record.
    mark: Position,
}

/// The fill level of a container.
#[derive(Debug, Clone, Copy, Default)]
struct Position {
    keys: usize,
    pairs: usize,
    emitted: u64,
}

/// The sort position of a key in its run.
pub(crate) struct KeyOrder {
    /// Its partition.
    pub part: u32,
    /// A number that is smaller only for smaller keys.
    pub prefix: u64,
}

impl<V: Serialize + DeserializeOwned + Clone> Container<V> {
    /// An empty container. [`Container::take_back`] works only with `takes_back`.
    pub(crate) fn new(combiner: Option<Combine<V>>, takes_back: bool) -> Self {
        let values = match combiner {
            Some(combine) => Values::Combined(Combined {
                combine,
                values: Vec::new(),
                held: takes_back.then(Vec::new),
            }),
            None => Values::Logged(Log::default()),
        };
        Container {
            keys: Keys::default(),
            values,
            word: Word::default(),
            staged: Vec::with_capacity(BATCH),
            ids: Vec::with_capacity(BATCH),
            failed: None,
            emitted: 0,
            mark: Position::default(),
        }
    }

    /// Adds a pair; `place` is the place of the key, if keys have places.
    #[inline]
    pub(crate) fn pair(&mut self, key: &impl Serialize, place: Option<usize>, value: V) {
        let taken = match &mut self.values {
            Values::Combined(_) => self.combine(key, place, value),
            Values::Logged(log) => {
                let before = log.keys.len() + self.keys.staged();
                let logged = log.value(&value, before);
                logged.and_then(|()| self.log(key, place))
            }
        };
        self.keep_failure(taken);
    }

    /// Adds a pair for each key, all with one value.
    #[inline]
    pub(crate) fn pairs<K: Serialize>(
        &mut self,
        keys: impl Iterator<Item = K>,
        place: impl Fn(&K) -> Option<usize>,
        value: &V,
    ) {
        let logs = match &mut self.values {
            Values::Combined(_) => false,
            Values::Logged(log) => {
                let logged = log.value(value, log.keys.len() + self.keys.staged());
                self.keep_failure(logged);
                true
            }
        };
        // Each loop has one code path and no calls.
        match logs {
            true => keys.for_each(|key| {
                let taken = self.log(&key, place(&key));
                self.keep_failure(taken);
            }),
            false => keys.for_each(|key| {
                let taken = self.combine(&key, place(&key), value.clone());
                self.keep_failure(taken);
            }),
        }
    }

    #[inline]
    fn keep_failure(&mut self, taken: Result<()>) {
        if let Err(error) = taken {
            self.failed.get_or_insert(error);
        }
    }

    /// Adds a pair whose value is combined with others.
    #[inline]
    fn combine(&mut self, key: &impl Serialize, place: Option<usize>, value: V) -> Result<()> {
        match (self.number(key, place)?, &mut self.values) {
            (Some(id), Values::Combined(combined)) => combined.push(id, value),
            _ => self.staged.push(value),
        }
        self.look_up_if_due();
        Ok(())
    }

    /// Adds a pair with the last logged value.
    #[inline]
    fn log(&mut self, key: &impl Serialize, place: Option<usize>) -> Result<()> {
        if let (Some(id), Values::Logged(log)) = (self.number(key, place)?, &mut self.values) {
            log.keys.push(id);
        }
        self.look_up_if_due();
        Ok(())
    }

    /// The number of the key of the next pair; none if the key is staged.
    #[inline]
    fn number(&mut self, key: &impl Serialize, place: Option<usize>) -> Result<Option<u32>> {
        self.emitted += 1;
        if let Some(place) = place {
            return Ok(Some(match self.keys.at(place) {
                Some(id) => id,
                None => {
                    self.word.encode(key)?;
                    self.keys.add_at(place, &self.word)
                }
            }));
        }
        self.word.encode(key)?;
        Ok(match self.word.short() {
            Some(word) => {
                self.keys.stage(word);
                None
            }
            None => {
                // Pairs stay in order.
                self.look_up();
                Some(self.keys.id(&self.word))
            }
        })
    }

    #[inline]
    fn look_up_if_due(&mut self) {
        if self.keys.staged() >= BATCH {
            self.look_up();
        }
    }

    /// Looks up the staged keys, and adds their pairs.
    fn look_up(&mut self) {
        match &mut self.values {
            Values::Combined(combined) => {
                self.ids.clear();
                self.keys.look_up(&mut self.ids);
                for &id in &self.ids {
                    prefetch(&combined.values, id as usize);
                }
                let pairs = self.ids.iter().zip(self.staged.drain(..));
                pairs.for_each(|(&id, value)| combined.push(id, value));
            }
            Values::Logged(log) => self.keys.look_up(&mut log.keys),
        }
    }

    /// Ends a record: all its pairs have been added.
    ///
    /// # Errors
    /// One of the pairs could not be added.
    pub(crate) fn end_record(&mut self) -> Result<()> {
        self.look_up();
        let pairs = match &mut self.values {
            Values::Combined(combined) => {
                combined.combine_held();
                0
            }
            Values::Logged(log) => log.keys.len(),
        };
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        self.mark = Position {
            keys: self.keys.len(),
            pairs,
            emitted: self.emitted,
        };
        Ok(())
    }

    /// Removes the pairs added since the last record ended.
    pub(crate) fn take_back(&mut self) {
        self.failed = None;
        self.emitted = self.mark.emitted;
        self.staged.clear();
        self.keys.unstage();
        self.keys.truncate(self.mark.keys);
        match &mut self.values {
            Values::Combined(combined) => combined.held.iter_mut().for_each(Vec::clear),
            Values::Logged(log) => log.truncate(self.mark.pairs),
        }
    }

    /// The number of pairs added since the last call.
    pub(crate) fn end_task(&mut self) -> u64 {
        self.mark.emitted = 0;
        std::mem::take(&mut self.emitted)
    }

    /// Whether values are combined. Such a container may serve many tasks.
    pub(crate) fn combines(&self) -> bool {
        matches!(self.values, Values::Combined(_))
    }

    /// Whether the container is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.keys.len() == 0
    }

    /// The approximate memory it takes, including the memory to make a run.
    pub(crate) fn memory_bytes(&self) -> usize {
        let keys = self.keys.len() * size_of::<Sorted>() + self.keys.memory_bytes();
        keys + match &self.values {
            Values::Combined(combined) => combined.values.len() * size_of::<V>(),
            Values::Logged(log) => log.memory_bytes(),
        }
    }

    /// The approximate size of its run in bytes.
    pub(crate) fn run_bytes(&self) -> usize {
        let values = match &self.values {
            Values::Combined(combined) => combined.values.len() * size_of::<V>(),
            Values::Logged(log) => log.value_bytes(),
        };
        self.keys.bytes() + 4 * self.keys.len() + values
    }

    /// Writes all pairs in order to `run`, and removes them. `place` returns the sort position of
    /// a key; `compare` orders keys with equal positions.
    pub(crate) fn write(
        &mut self,
        run: &mut RunWriter,
        order: Option<Order<V>>,
        place: impl Fn(&[u8]) -> Result<KeyOrder>,
        compare: impl Fn(&[u8], &[u8]) -> Ordering,
        progress: &Progress,
    ) -> Result<()> {
        let sorted = sorted(&self.keys, place, compare, progress)?;
        let mut word = [0; 16];
        match &mut self.values {
            Values::Combined(Combined { values, .. }) => {
                for key in sorted {
                    progress.check()?;
                    let bytes = self.keys.get(key.id as usize, &mut word);
                    run.group(key.part, bytes, 1, false)?;
                    run.encode(&values[key.id as usize])?;
                }
                values.clear();
            }
            Values::Logged(log) => {
                log.group(sorted.iter().map(|key| key.id))?;
                let mut before = 0;
                let mut values: Vec<V> = Vec::new();
                let mut held = [0; 8];
                for (place, key) in sorted.iter().enumerate() {
                    progress.check()?;
                    if let Some(ahead) = sorted.get(place + AHEAD) {
                        self.keys.prefetch(ahead.id);
                        log.prefetch(ahead.id);
                    }
                    let group = log.of(key.id, before);
                    before += group.len();
                    let bytes = self.keys.get(key.id as usize, &mut word);
                    let count = group.len() as u64;
                    match order {
                        None => {
                            let repeats = group.windows(2).any(|pair| pair[0] == pair[1]);
                            run.group(key.part, bytes, count, repeats)?;
                            for equal in group.chunk_by(PartialEq::eq) {
                                let value = log.get(equal[0], &mut held);
                                match repeats {
                                    true => run.repeat(value, equal.len() as u64)?,
                                    false => run.value(value)?,
                                }
                            }
                        }
                        Some(order) => {
                            run.group(key.part, bytes, count, false)?;
                            for &value in group {
                                values.push(codec::decode(log.get(value, &mut held))?);
                            }
                            values.sort_by(order);
                            values.drain(..).try_for_each(|value| run.encode(&value))?;
                        }
                    }
                }
                log.truncate(0);
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

/// A key being sorted for a run.
#[derive(Clone, Copy)]
struct Sorted {
    prefix: u64,
    part: u32,
    id: u32,
}

/// The keys in the order of a run.
fn sorted(
    keys: &Keys,
    place: impl Fn(&[u8]) -> Result<KeyOrder>,
    compare: impl Fn(&[u8], &[u8]) -> Ordering,
    progress: &Progress,
) -> Result<Vec<Sorted>> {
    let mut sorted = Vec::with_capacity(keys.len());
    let mut push = |id: u32| -> Result<()> {
        progress.check()?;
        let mut word = [0; 16];
        let KeyOrder { part, prefix } = place(keys.get(id as usize, &mut word))?;
        sorted.push(Sorted { prefix, part, id });
        Ok(())
    };
    if keys.have_places() {
        // Places ascend with keys.
        keys.by_place().try_for_each(push)?;
        for (key, place) in sorted.iter_mut().zip(0..) {
            key.prefix = place;
        }
        let by_place = |a: &Sorted, b: &Sorted| (a.part, a.prefix).cmp(&(b.part, b.prefix));
        quicksort::sort_by(&mut sorted, &by_place, progress)?;
        return Ok(sorted);
    }
    // There are fewer than 2^32 keys.
    (0..keys.len() as u32).try_for_each(&mut push)?;
    let compared = |a: &Sorted, b: &Sorted| {
        let (mut x, mut y) = ([0; 16], [0; 16]);
        let (x, y) = (
            keys.get(a.id as usize, &mut x),
            keys.get(b.id as usize, &mut y),
        );
        compare(x, y)
    };
    let by_key = |a: &Sorted, b: &Sorted| {
        let order = (a.part, a.prefix).cmp(&(b.part, b.prefix));
        order.then_with(|| compared(a, b))
    };
    quicksort::sort_by(&mut sorted, &by_key, progress)?;
    Ok(sorted)
}
