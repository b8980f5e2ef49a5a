//! The values that a worker holds: one a key, or a log of all, grouped by key at the end.

use super::codec;
use super::job::Combine;
use crate::error::{Error, Result};

/// The values of the pairs held.
pub(crate) enum Values<V> {
    Combined {
        combine: Combine<V>,
        /// The value of every key.
        combined: Vec<V>,
        /// The pairs of the record that is being mapped, where they may have to be taken back.
        held: Option<Vec<(u32, V)>>,
    },
    Logged {
        /// The key of every pair.
        keys: Vec<u32>,
        /// Where the value of every pair ends.
        ends: Vec<u32>,
        /// All values end to end.
        bytes: Vec<u8>,
        /// The same by key, when a run is made; kept for the next.
        groups: Groups,
    },
}

/// What a logged pair takes beside its value: its key and where it ends; when the log is grouped,
/// its value again.
pub(crate) const LOGGED_BYTES: usize = 2 * size_of::<u32>();

impl<V: serde::Serialize> Values<V> {
    #[inline]
    pub(crate) fn push(&mut self, id: u32, value: V) -> Result<()> {
        match self {
            Values::Combined {
                held: Some(held), ..
            } => held.push((id, value)),
            Values::Combined {
                combine, combined, ..
            } => add(combined, *combine, id, value),
            Values::Logged {
                keys, ends, bytes, ..
            } => {
                codec::encode(&value, bytes)?;
                ends.push(u32::try_from(bytes.len()).map_err(|_| too_much())?);
                keys.push(id);
            }
        }
        Ok(())
    }

    /// Combines the pairs of a record that has ended well.
    pub(crate) fn combine_held(&mut self) {
        if let Values::Combined {
            combine,
            combined,
            held: Some(held),
        } = self
        {
            for (id, value) in held.drain(..) {
                add(combined, *combine, id, value);
            }
        }
    }

    /// Pairs in the log.
    pub(crate) fn logged(&self) -> usize {
        match self {
            Values::Combined { .. } => 0,
            Values::Logged { keys, .. } => keys.len(),
        }
    }
}

/// Adds a value to that of its key.
#[inline]
fn add<V>(combined: &mut Vec<V>, combine: Combine<V>, id: u32, value: V) {
    // Keys are numbered in the order in which they first come.
    match combined.get_mut(id as usize) {
        Some(held) => combine(held, value),
        None => combined.push(value),
    }
}

#[cold]
fn too_much() -> Error {
    Error::Limit("a record has pairs of 4 GiB and more; split it".into())
}

/// The values of every key, in the order in which they came.
#[derive(Default)]
pub(crate) struct Groups {
    /// Where the values of each key end.
    ends: Vec<u32>,
    /// How many each has.
    counts: Vec<u32>,
    bytes: Vec<u8>,
}

/// The values of one key.
#[derive(Clone, Copy)]
pub(crate) struct Group<'a> {
    pub pairs: u32,
    pub bytes: &'a [u8],
}

impl Groups {
    /// Groups the values that end at `ends` in `bytes` by their `keys`, of which there are `count`:
    /// a counting sort.
    pub(crate) fn fill(&mut self, keys: &[u32], ends: &[u32], bytes: &[u8], count: usize) {
        let Groups {
            ends: next,
            counts,
            bytes: grouped,
        } = self;
        for numbers in [&mut *counts, &mut *next] {
            numbers.clear();
            numbers.resize(count, 0);
        }
        let mut start = 0;
        for (&key, &end) in keys.iter().zip(ends) {
            counts[key as usize] += 1;
            next[key as usize] += end - start;
            start = end;
        }
        let mut sum = 0;
        for next in next.iter_mut() {
            sum += std::mem::replace(next, sum);
        }
        grouped.resize(bytes.len().max(grouped.len()), 0);
        let mut start = 0;
        for (&key, &end) in keys.iter().zip(ends) {
            let value = &bytes[start as usize..end as usize];
            let next = &mut next[key as usize];
            let into = &mut grouped[*next as usize..][..value.len()];
            // Most values are of a few bytes: no call is worth its while.
            match value {
                [a] => into[0] = *a,
                [a, b] => into.copy_from_slice(&[*a, *b]),
                [a, b, c] => into.copy_from_slice(&[*a, *b, *c]),
                [a, b, c, d] => into.copy_from_slice(&[*a, *b, *c, *d]),
                value => into.copy_from_slice(value),
            }
            *next += end - start;
            start = end;
        }
        // Every start has moved to the end.
    }

    pub(crate) fn of(&self, key: usize) -> Group<'_> {
        let start = key.checked_sub(1).map_or(0, |before| self.ends[before]);
        Group {
            pairs: self.counts[key],
            bytes: &self.bytes[start as usize..self.ends[key] as usize],
        }
    }
}
