//! The values of a worker: one a key, or a log of all values that is grouped by key at the end.

use std::cmp::Ordering;

use super::codec;
use tokapi_storage::error::{Error, Result};
use tokapi_storage::prefetch::prefetch;

/// Combines two values of a key; see [`Job::combiner`](crate::Job::combiner).
/// [`WordCount`](crate::jobs::WordCount) has an example.
pub type Combine<V> = fn(&mut V, V);

/// The order of a key's values; see [`Job::value_order`](crate::Job::value_order).
/// [`InvertedIndex`](crate::jobs::InvertedIndex) has an example.
pub type Order<V> = fn(&V, &V) -> Ordering;

/// The number of keys by which prefetches run ahead.
pub(crate) const AHEAD: usize = 16;

/// The values of the pairs held.
pub(crate) enum Values<V> {
    Combined(Combined<V>),
    Logged(Log),
}

/// One value a key; others are combined with it.
pub(crate) struct Combined<V> {
    pub combine: Combine<V>,
    /// The value of every key.
    pub values: Vec<V>,
    /// The pairs of the current record, if they may have to be removed.
    pub held: Option<Vec<(u32, V)>>,
}

impl<V> Combined<V> {
    #[inline]
    pub(crate) fn push(&mut self, id: u32, value: V) {
        match &mut self.held {
            Some(held) => held.push((id, value)),
            None => add(&mut self.values, self.combine, id, value),
        }
    }

    /// Combines the pairs of a record that ended without an error.
    pub(crate) fn combine_held(&mut self) {
        for (id, value) in self.held.iter_mut().flat_map(|held| held.drain(..)) {
            add(&mut self.values, self.combine, id, value);
        }
    }
}

/// Combines a value with that of its key.
#[inline]
fn add<V>(values: &mut Vec<V>, combine: Combine<V>, id: u32, value: V) {
    // Keys are numbered in the order of first occurrence.
    match values.get_mut(id as usize) {
        Some(held) => combine(held, value),
        None => values.push(value),
    }
}

/// The tag of a [`Held`] whose value has more than 7 bytes.
const LONG: u64 = 0xff << 56;

/// A value: up to 7 bytes, with their number in the highest byte; a longer value is represented by
/// its number in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Held(u64);

impl Held {
    fn new(bytes: &[u8], number: u32) -> Self {
        let mut word = [0; 8];
        match bytes.len() < word.len() {
            true => {
                word[..bytes.len()].copy_from_slice(bytes);
                // Below 8.
                word[7] = bytes.len() as u8;
                Held(u64::from_le_bytes(word))
            }
            false => Held(LONG | u64::from(number)),
        }
    }
}

/// All pairs in their order of arrival. Consecutive equal values are stored once: the pairs of a
/// record often share one.
#[derive(Default)]
pub(crate) struct Log {
    /// The key of every pair.
    pub keys: Vec<u32>,
    /// For every value, the number of pairs before its first pair, and its end.
    firsts: Vec<u32>,
    ends: Vec<u32>,
    /// All values, concatenated.
    bytes: Vec<u8>,
    /// The values of all pairs by key, in the order of the run being made; the buffer is reused.
    grouped: Vec<Held>,
    /// The end of each key's values.
    group_ends: Vec<u32>,
}

impl Log {
    /// Adds the value of all following pairs; `before` pairs came before.
    #[inline]
    pub(crate) fn value(&mut self, value: &impl serde::Serialize, before: usize) -> Result<()> {
        let end = self.bytes.len();
        codec::encode(value, &mut self.bytes)?;
        if !self.ends.is_empty()
            && self.bytes[self.start(self.ends.len() - 1)..end] == self.bytes[end..]
        {
            self.bytes.truncate(end);
            return Ok(());
        }
        self.firsts.push(narrow(before)?);
        self.ends.push(narrow(self.bytes.len())?);
        Ok(())
    }

    #[inline]
    fn start(&self, number: usize) -> usize {
        let before = number.checked_sub(1);
        before.map_or(0, |before| self.ends[before] as usize)
    }

    fn nth(&self, number: u32) -> &[u8] {
        let number = number as usize;
        &self.bytes[self.start(number)..self.ends[number] as usize]
    }

    /// The bytes of a value: borrowed, or written to `word`.
    #[inline]
    pub(crate) fn get<'a>(&'a self, value: Held, word: &'a mut [u8; 8]) -> &'a [u8] {
        if value.0 & LONG == LONG {
            // The number is in the lower half.
            return self.nth(value.0 as u32);
        }
        *word = value.0.to_le_bytes();
        &word[..usize::from(word[7])]
    }

    /// Removes all but the first `pairs`.
    pub(crate) fn truncate(&mut self, pairs: usize) {
        self.keys.truncate(pairs);
        let values = self
            .firsts
            .partition_point(|&first| (first as usize) < pairs);
        self.firsts.truncate(values);
        self.ends.truncate(values);
        self.bytes.truncate(self.start(values));
    }

    /// The approximate memory it takes, including the memory to group it.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.keys.len() * (size_of::<u32>() + size_of::<Held>())
            + self.ends.len() * 2 * size_of::<u32>()
            + self.bytes.len()
    }

    /// The total size of the values of all pairs in bytes.
    pub(crate) fn value_bytes(&self) -> usize {
        let counted = |(number, pairs): (u32, &[u32])| pairs.len() * self.nth(number).len();
        self.pairs().map(counted).sum()
    }

    /// Every value's number, with the keys of its pairs.
    fn pairs(&self) -> impl Iterator<Item = (u32, &[u32])> {
        let ends = self.firsts.iter().skip(1).map(|&first| first as usize);
        let spans = self.firsts.iter().zip(ends.chain([self.keys.len()]));
        (0..).zip(spans.map(|(&first, end)| &self.keys[first as usize..end]))
    }

    /// Groups the values by key with a counting sort. `ids` gives all keys in the order of the
    /// groups.
    ///
    /// # Errors
    /// There are 2^32 pairs or more.
    pub(crate) fn group(&mut self, ids: impl ExactSizeIterator<Item = u32>) -> Result<()> {
        let length = self.keys.len();
        narrow(length)?;
        let mut next = std::mem::take(&mut self.group_ends);
        let mut grouped = std::mem::take(&mut self.grouped);
        next.clear();
        next.resize(ids.len(), 0);
        for &key in &self.keys {
            next[key as usize] += 1;
        }
        let mut sum = 0;
        for id in ids {
            sum += std::mem::replace(&mut next[id as usize], sum);
        }
        grouped.resize(length.max(grouped.len()), Held(0));
        let mut ahead = self.keys.iter().skip(AHEAD);
        for (number, keys) in self.pairs() {
            let value = Held::new(self.nth(number), number);
            for &key in keys {
                if let Some(&ahead) = ahead.next() {
                    prefetch(&grouped, next[ahead as usize] as usize);
                }
                let next = &mut next[key as usize];
                grouped[*next as usize] = value;
                *next += 1;
            }
        }
        // Every start has advanced to the end.
        (self.group_ends, self.grouped) = (next, grouped);
        Ok(())
    }

    /// Prefetches the end of key `id`'s group.
    #[inline]
    pub(crate) fn prefetch(&self, id: u32) {
        prefetch(&self.group_ends, id as usize);
    }

    /// The values of key `id`, in their order of arrival, after `before` values of other keys.
    #[inline]
    pub(crate) fn of(&self, id: u32, before: usize) -> &[Held] {
        &self.grouped[before..self.group_ends[id as usize] as usize]
    }
}

/// A place in the log.
#[inline]
fn narrow(place: usize) -> Result<u32> {
    u32::try_from(place).map_err(|_| too_much())
}

#[cold]
fn too_much() -> Error {
    Error::Limit("a record has pairs of 4 GiB and more; split it".into())
}
