//! The boundaries of partitions: partition numbers, or keys sampled from the runs.

use serde::{Deserialize, Serialize};

use super::codec;
use super::job::{Job, compare};
use super::run::{Mark, Run};

/// The distribution of keys over reduce tasks.
///
/// [`Threads`](crate::Threads) has an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Partitions {
    /// This many partitions by [`Job::partition`]; each is in key order.
    Hashed(u32),
    /// About this many ranges of keys of about equal size in bytes. The concatenation of all
    /// partitions is in key order.
    Ranges(u32),
}

impl Partitions {
    /// The same number of partitions, as ranges of keys.
    pub(super) fn in_ranges(self) -> Self {
        match self {
            Partitions::Hashed(count) | Partitions::Ranges(count) => Partitions::Ranges(count),
        }
    }
}

/// The beginning of a partition.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Boundary {
    part: u32,
    /// The first key; none if the partition begins with the first key of its number.
    key: Option<Vec<u8>>,
}

impl Boundary {
    /// Whether a group is at or after the cut.
    pub(crate) fn is_at_or_before<J: Job>(&self, part: u32, key: &[u8]) -> bool {
        match part.cmp(&self.part) {
            std::cmp::Ordering::Equal => match &self.key {
                None => true,
                Some(first) => compare::<J>(first, key).is_le(),
            },
            order => order.is_gt(),
        }
    }

    /// The encoded first key, for searches.
    pub(crate) fn first_key(&self) -> Option<String> {
        let key = self.key.as_ref()?;
        Some(key.escape_ascii().to_string())
    }

    /// Its partition and the prefix of its first key: groups with smaller values come before the
    /// cut.
    pub(crate) fn least<J: Job>(&self) -> (u32, u64) {
        let key = self.key.as_deref();
        let key = key.and_then(|key| codec::decode::<J::Key<'_>>(key).ok());
        (self.part, key.map_or(0, |key| J::prefix(&key)))
    }

    /// The last of `marks` such that nothing before it is after the cut.
    pub(crate) fn last_mark_before<J: Job>(&self, marks: &[Mark]) -> usize {
        let before = |mark: &Mark| !self.is_at_or_before::<J>(mark.part, &mark.key);
        marks.partition_point(before).saturating_sub(1)
    }
}

/// The beginnings of all partitions but the first.
pub(crate) fn cuts<J: Job>(partitions: Partitions, runs: &[Run]) -> Vec<Boundary> {
    let count = match partitions {
        Partitions::Hashed(count) => {
            return (1..count)
                .map(|part| Boundary { part, key: None })
                .collect();
        }
        Partitions::Ranges(count) => u64::from(count.max(1)),
    };
    // The bytes from each mark to the next, with the mark's key: a sample of all keys.
    let mut sample: Vec<(&[u8], u64)> = Vec::new();
    for run in runs {
        let ends = run.marks.iter().skip(1).map(|mark| mark.before_bytes);
        let ends = ends.chain([run.bytes]);
        for (mark, end) in run.marks.iter().zip(ends) {
            sample.push((&mark.key, end - mark.before_bytes));
        }
    }
    sample.sort_by(|a, b| compare::<J>(a.0, b.0));
    let total: u64 = sample.iter().map(|(_, bytes)| bytes).sum();
    let mut cuts: Vec<Boundary> = Vec::new();
    let first = sample.first().map(|&(key, _)| key);
    let (mut sum, mut shares) = (0, 0);
    for (key, bytes) in sample {
        // The number of equal shares of the total that come before the key.
        let before = u128::from(sum) * u128::from(count) / u128::from(total.max(1));
        let last = cuts.last().and_then(|cut| cut.key.as_deref());
        if before > shares && last != Some(key) && first != Some(key) {
            shares = before;
            let key = Some(key.to_vec());
            cuts.push(Boundary { part: 0, key });
        }
        sum += bytes;
    }
    cuts
}
