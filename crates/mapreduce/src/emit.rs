//! The container of a map worker: pairs go in one by one and come out as sorted runs.
//!
//! Every key is held once. With a combiner a key has one value, to which others are added on
//! insert; without, values are logged as bytes, one that several pairs in a row have once, and
//! grouped by a counting sort at the end.

use super::codec::{self, Word};
use super::job::{Combine, Job, Order};
use super::keys::{BATCH, Keys};
use super::run::RunWriter;
use super::values::{AHEAD, Combined, Log, Values};
use tokapi_storage::error::{Error, Result};
use tokapi_storage::prefetch::prefetch;

/// What `map` gives its pairs to.
pub struct Emitter<J: Job> {
    keys: Keys,
    values: Values<J::Value>,
    /// The key that is being taken.
    word: Word,
    /// The values of keys that are looked up together, and the numbers of these keys.
    staged: Vec<J::Value>,
    ids: Vec<u32>,
    note: J::Note,
    /// The first pair that could not be taken.
    failed: Option<Error>,
    /// Why the record cannot be mapped, if it cannot.
    rejected: Option<String>,
    emitted: u64,
    /// What it was like before the record that is being mapped.
    mark: Position,
}

/// How far a container is filled.
#[derive(Debug, Clone, Copy, Default)]
struct Position {
    keys: usize,
    pairs: usize,
    emitted: u64,
}

impl<J: Job> Emitter<J> {
    /// An empty container. With `takes_back`, [`Emitter::take_back`] works.
    pub(crate) fn new(combiner: Option<Combine<J::Value>>, takes_back: bool) -> Self {
        let values = match combiner {
            Some(combine) => Values::Combined(Combined {
                combine,
                values: Vec::new(),
                held: takes_back.then(Vec::new),
            }),
            None => Values::Logged(Log::default()),
        };
        Emitter {
            keys: Keys::default(),
            values,
            word: Word::default(),
            staged: Vec::with_capacity(BATCH),
            ids: Vec::with_capacity(BATCH),
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
        let taken = match &mut self.values {
            Values::Combined(_) => self.combine(&key, value),
            Values::Logged(log) => {
                let before = log.keys.len() + self.keys.staged();
                log.value(&value, before).and_then(|()| self.log(&key))
            }
        };
        self.keep_failure(taken);
    }

    /// Takes a pair of each key, all with one value. As many calls of [`Emitter::pair`] do the
    /// same, but take longer.
    #[inline]
    pub fn pairs<'k>(&mut self, keys: impl IntoIterator<Item = J::Key<'k>>, value: J::Value) {
        let logs = match &mut self.values {
            Values::Combined(_) => false,
            Values::Logged(log) => {
                let logged = log.value(&value, log.keys.len() + self.keys.staged());
                self.keep_failure(logged);
                true
            }
        };
        // Each loop has one way to go, and no call within.
        let keys = keys.into_iter();
        match logs {
            true => keys.for_each(|key| {
                let taken = self.log(&key);
                self.keep_failure(taken);
            }),
            false => keys.for_each(|key| {
                let taken = self.combine(&key, value.clone());
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

    /// Takes a pair whose value is combined with others.
    #[inline]
    fn combine(&mut self, key: &J::Key<'_>, value: J::Value) -> Result<()> {
        match (self.number(key)?, &mut self.values) {
            (Some(id), Values::Combined(combined)) => combined.push(id, value),
            _ => self.staged.push(value),
        }
        self.look_up_if_due();
        Ok(())
    }

    /// Takes a pair of the value that was last logged.
    #[inline]
    fn log(&mut self, key: &J::Key<'_>) -> Result<()> {
        if let (Some(id), Values::Logged(log)) = (self.number(key)?, &mut self.values) {
            log.keys.push(id);
        }
        self.look_up_if_due();
        Ok(())
    }

    /// The number of the key of the next pair; none where it is staged.
    #[inline]
    fn number(&mut self, key: &J::Key<'_>) -> Result<Option<u32>> {
        self.emitted += 1;
        if let Some(place) = J::place(key) {
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

    /// Looks the staged keys up, and takes their pairs.
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

    /// Forgets the pairs since the last record ended.
    pub(crate) fn take_back(&mut self) {
        self.failed = None;
        self.rejected = None;
        self.emitted = self.mark.emitted;
        self.staged.clear();
        self.keys.unstage();
        self.keys.truncate(self.mark.keys);
        match &mut self.values {
            Values::Combined(combined) => combined.held.iter_mut().for_each(Vec::clear),
            Values::Logged(log) => log.truncate(self.mark.pairs),
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
        matches!(self.values, Values::Combined(_))
    }

    /// Whether there is nothing in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.keys.len() == 0
    }

    /// What it takes in memory, about; when it is made a run, that included.
    pub(crate) fn memory_bytes(&self) -> usize {
        let keys = self.keys.len() * size_of::<Sorted>() + self.keys.memory_bytes();
        keys + match &self.values {
            Values::Combined(combined) => combined.values.len() * size_of::<J::Value>(),
            Values::Logged(log) => log.memory_bytes(),
        }
    }

    /// About how many bytes its run has.
    pub(crate) fn run_bytes(&self) -> usize {
        let values = match &self.values {
            Values::Combined(combined) => combined.values.len() * size_of::<J::Value>(),
            Values::Logged(log) => log.value_bytes(),
        };
        self.keys.bytes() + 4 * self.keys.len() + values
    }

    /// Writes all pairs in order to `run`, with `partition` of a key and its bytes, and forgets
    /// them.
    pub(crate) fn write(
        &mut self,
        run: &mut RunWriter,
        order: Option<Order<J::Value>>,
        partition: impl Fn(&J::Key<'_>, &[u8]) -> u32,
    ) -> Result<()> {
        let sorted = sorted::<J>(&self.keys, partition)?;
        let mut word = [0; 16];
        match &mut self.values {
            Values::Combined(Combined { values, .. }) => {
                for key in sorted {
                    let bytes = self.keys.get(key.id as usize, &mut word);
                    run.group(key.part, bytes, 1, false)?;
                    run.encode(&values[key.id as usize])?;
                }
                values.clear();
            }
            Values::Logged(log) => {
                log.group(sorted.iter().map(|key| key.id))?;
                let mut before = 0;
                let mut values: Vec<J::Value> = Vec::new();
                let mut held = [0; 8];
                for (place, key) in sorted.iter().enumerate() {
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

/// A key on its way to its place in a run.
struct Sorted {
    prefix: u64,
    part: u32,
    id: u32,
}

/// The keys in the order of a run.
fn sorted<J: Job>(
    keys: &Keys,
    partition: impl Fn(&J::Key<'_>, &[u8]) -> u32,
) -> Result<Vec<Sorted>> {
    let mut sorted = Vec::with_capacity(keys.len());
    let mut push = |id: u32| -> Result<()> {
        let mut word = [0; 16];
        let bytes = keys.get(id as usize, &mut word);
        let key: J::Key<'_> = codec::decode(bytes)?;
        sorted.push(Sorted {
            prefix: J::prefix(&key),
            part: partition(&key, bytes),
            id,
        });
        Ok(())
    };
    if keys.have_places() {
        // Places ascend as keys do.
        keys.by_place().try_for_each(push)?;
        sorted.sort_by_key(|key| key.part);
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
        compare::<J>(x, y)
    };
    sorted.sort_unstable_by(|a, b| {
        let order = (a.part, a.prefix).cmp(&(b.part, b.prefix));
        order.then_with(|| compared(a, b))
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
