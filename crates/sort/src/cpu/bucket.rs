//! The buckets of a partition in place, and the block slots within each.

use super::distribute::Buffers;
use super::word::Word;

/// A range of the keys, for all keys with one value of a digit.
pub(super) struct Bucket {
    start: usize,
    pub(super) end: usize,
    /// The first slot that lies within the bucket; `last` ends them.
    first: usize,
    last: usize,
    /// The first slot that is not settled. In a settled slot the block stays, or another one will come.
    free: usize,
    /// The place of the block without a slot.
    pub(super) extra: Option<usize>,
}

/// The bucket of every value, from its number of words.
pub(super) fn buckets<W: Word>(buffers: &[&Buffers<W>], values: usize) -> Vec<Bucket> {
    let block_words = buffers[0].block_words();
    let mut counts = vec![0; values];
    for buffers in buffers {
        for &label in &buffers.labels {
            counts[usize::from(label)] += block_words;
        }
        for (value, count) in counts.iter_mut().enumerate() {
            *count += buffers.rest(value).len();
        }
    }
    let mut start = 0;
    let buckets = counts.into_iter().map(|count| {
        let end = start + count;
        let first = start.div_ceil(block_words);
        let bucket = Bucket {
            start,
            end,
            first,
            last: (end / block_words).max(first),
            free: first,
            extra: None,
        };
        start = end;
        bucket
    });
    buckets.collect()
}

impl Bucket {
    /// Whether the slot lies within the bucket.
    pub(super) fn has(&self, slot: usize) -> bool {
        (self.first..self.last).contains(&slot)
    }

    /// The next slot of the bucket with a block that must move.
    pub(super) fn take(&mut self, stays: impl Fn(usize) -> bool) -> Option<usize> {
        while self.free < self.last && stays(self.free) {
            self.free += 1;
        }
        let slot = self.free;
        (slot < self.last).then(|| {
            self.free += 1;
            slot
        })
    }

    /// Puts words outside of blocks into the gaps: before and after the slots, then into slots without a block.
    pub(super) fn fill_gaps<'a, W: Word>(
        &mut self,
        keys: &mut [W],
        rests: impl Iterator<Item = &'a [W]>,
        stays: impl Fn(usize) -> bool,
        block_words: usize,
    ) {
        let mut gap = self.start..(self.first * block_words).min(self.end);
        let mut tail = Some((self.last * block_words).min(self.end)..self.end);
        for mut rest in rests {
            while !rest.is_empty() {
                if gap.is_empty() {
                    let slot = |slot: usize| slot * block_words..(slot + 1) * block_words;
                    let next = tail.take().or_else(|| self.take(&stays).map(slot));
                    gap = next.expect("room for every word that was counted");
                    continue;
                }
                let (words, after) = rest.split_at(rest.len().min(gap.len()));
                keys[gap.start..][..words.len()].copy_from_slice(words);
                gap.start += words.len();
                rest = after;
            }
        }
    }
}
