//! The engine for CPUs: radix sort on all threads.
//!
//! Keys are sorted in place. A digit of the highest bits that vary partitions them into buckets ([`distribute`],
//! [`permute`]). Buckets that are a large part of the whole are partitioned again on all threads. One thread each takes
//! the other buckets and partitions them until they fit into a cache, where they are sorted from the lowest digit up
//! ([`leaf`]). If many keys differ in few bits, values are counted instead ([`count`]).
//!
//! Pairs are sorted in the same steps, stable, through a buffer of the pairs' size ([`pairs`]).

mod blocks;
mod bucket;
mod count;
mod distribute;
mod leaf;
mod pairs;
mod permute;
mod word;

use std::sync::Mutex;

use rayon::prelude::*;

use self::distribute::{Buffers, InPlace};
use self::leaf::LEAF_BYTES;
use self::pairs::Pairs;
use self::permute::Permutation;
use self::word::{Digit, Word, varying_bits};
use super::{Items, Sort};
use tokapi_storage::error::Result;
use tokapi_storage::progress::Progress;

/// Up to this number of bytes one thread sorts alone.
const ALONE_BYTES: usize = 64 << 10;

/// The number of words of a pass between two tests for cancellation.
const CHECKED_WORDS: usize = 1 << 16;

/// The size of all buffers of a thread, in bytes.
const BUFFER_BYTES: usize = 1 << 20;

/// The fast engine for CPUs. Its memory is kept for the next call.
///
/// [`Sort`] has an example.
#[derive(Default)]
pub struct Cpu {
    keys32: Keys<u32>,
    keys64: Keys<u64>,
    pairs32: Pairs<u64>,
    pairs64: Pairs<u128>,
    progress: Progress,
}

impl Cpu {
    /// An engine without memory yet.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Sort for Cpu {
    fn keys32(&mut self, keys: &mut [u32]) -> Result<()> {
        self.keys32.sort(keys, &self.progress);
        Ok(())
    }

    fn keys64(&mut self, keys: &mut [u64]) -> Result<()> {
        self.keys64.sort(keys, &self.progress);
        Ok(())
    }

    fn pairs32(&mut self, keys: &mut [u32], payloads: &mut [u32]) -> Result<()> {
        super::same_length(keys, payloads)?;
        self.pairs32.sort(keys, payloads, &self.progress);
        Ok(())
    }

    fn pairs64(&mut self, keys: &mut [u64], payloads: &mut [u64]) -> Result<()> {
        super::same_length(keys, payloads)?;
        self.pairs64.sort(keys, payloads, &self.progress);
        Ok(())
    }

    fn follow(&mut self, progress: &Progress) {
        self.progress = progress.clone();
    }

    fn scratch_bytes(&self, items: Items, count: u64) -> u64 {
        let threads = rayon::current_num_threads() as u64;
        match items {
            Items::Keys32 => keys_scratch_bytes(threads, 4 * count),
            Items::Keys64 => keys_scratch_bytes(threads, 8 * count),
            Items::Pairs32 => pairs::scratch_bytes(threads, 8 * count),
            Items::Pairs64 => pairs::scratch_bytes(threads, 16 * count),
        }
    }
}

fn keys_scratch_bytes(threads: u64, bytes: u64) -> u64 {
    // Beside the memory of each thread: 45 bytes per block of at least 1 KiB, and the blocks set aside.
    threads * (BUFFER_BYTES + LEAF_BYTES + (2 << 20)) as u64 + bytes / 16 + (4 << 20)
}

/// Sorts keys in place, on all threads.
struct Keys<W> {
    workers: Vec<Worker<W>>,
    permutation: Permutation<W>,
}

/// The memory of a thread that sorts a bucket alone.
struct Worker<W> {
    buffers: Buffers<W>,
    permutation: Permutation<W>,
    leaf: Vec<W>,
    counts: Vec<usize>,
}

impl<W: Word> Default for Keys<W> {
    fn default() -> Self {
        Keys {
            workers: Vec::new(),
            permutation: Permutation::new(),
        }
    }
}

impl<W: Word> Keys<W> {
    fn sort(&mut self, keys: &mut [W], progress: &Progress) {
        self.workers
            .resize_with(rayon::current_num_threads(), Worker::new);
        if size_of_val(keys) <= ALONE_BYTES {
            return self.workers[0].sort(keys, 8 * size_of::<W>() as u32, progress);
        }
        if is_ordered(keys, progress, |before, after| before <= after) {
            return;
        }
        if is_ordered(keys, progress, |before, after| before >= after) {
            return reverse(keys, progress);
        }
        let share = keys.len() / (2 * self.workers.len());
        self.sort_unordered(keys, share.max(leaf_words::<W>()), progress);
    }

    /// Sorts `keys`. Buckets larger than `share` are sorted on all threads. Ends early if cancelled.
    fn sort_unordered(&mut self, keys: &mut [W], share: usize, progress: &Progress) {
        let bits = varying_bits_on_all_threads(keys, progress);
        if progress.is_cancelled() {
            return;
        }
        if count::pays(keys.len(), bits) {
            return count::sort_on_all_threads(keys, bits, progress);
        }
        let digit = highest_digit::<W>(keys.len(), bits);
        let Some(ends) = self.partition(keys, digit, progress) else {
            return;
        };
        let mut buckets = split(keys, &ends);
        // The largest first, so that threads end at about the same time.
        buckets.sort_unstable_by_key(|bucket| std::cmp::Reverse(bucket.len()));
        let small = buckets.partition_point(|bucket| bucket.len() > share);
        let buckets_alone = Mutex::new(buckets.split_off(small).into_iter());
        for bucket in buckets {
            if progress.is_cancelled() {
                return;
            }
            self.sort_unordered(bucket, share, progress);
        }
        self.workers.par_iter_mut().for_each(|worker| {
            // A panic of one thread ends all threads, so no lock is poisoned.
            while !progress.is_cancelled()
                && let Some(bucket) = { buckets_alone.lock().expect("no panic").next() }
            {
                worker.sort(bucket, digit.shift, progress);
            }
        });
    }

    /// Orders `keys` by `digit`, on all threads. Returns the end of each of its values; none if cancelled.
    fn partition(
        &mut self,
        keys: &mut [W],
        digit: Digit,
        progress: &Progress,
    ) -> Option<Vec<usize>> {
        let stripe_words = keys.len().div_ceil(self.workers.len());
        let block_words = block_words::<W>(stripe_words, digit);
        let stripe_words = stripe_words.next_multiple_of(block_words);
        let workers = self.workers.iter_mut();
        let mut buffers: Vec<_> = workers.map(|worker| &mut worker.buffers).collect();
        for buffers in &mut buffers {
            buffers.reset(digit.values(), block_words);
        }
        let stripes = keys.par_chunks_mut(stripe_words).zip(&mut buffers);
        stripes.for_each(|(stripe, buffers)| {
            buffers.distribute(&mut InPlace::new(stripe), digit, progress);
        });
        if progress.is_cancelled() {
            return None;
        }
        let buffers: Vec<_> = buffers.into_iter().map(|buffers| &*buffers).collect();
        let ends = self
            .permutation
            .apply(keys, &buffers, stripe_words, digit, progress, true);
        (!progress.is_cancelled()).then_some(ends)
    }
}

impl<W: Word> Worker<W> {
    fn new() -> Self {
        Worker {
            buffers: Buffers::new(),
            permutation: Permutation::new(),
            leaf: Vec::new(),
            counts: Vec::new(),
        }
    }

    /// Sorts `keys`, which differ only in the lowest `bits` bits. Ends early if cancelled.
    fn sort(&mut self, keys: &mut [W], mut bits: u32, progress: &Progress) {
        if keys.len() < 2 || bits == 0 || progress.is_cancelled() {
            return;
        }
        if count::pays(keys.len(), bits) {
            return count::sort(keys, bits, &mut self.counts, progress);
        }
        if keys.len() <= leaf_words::<W>() {
            if self.leaf.len() < keys.len() {
                self.leaf = vec![W::default(); keys.len().next_power_of_two()];
            }
            return leaf::sort(keys, &mut self.leaf, 0, bits);
        }
        // All keys are scanned again only if a few of them have the same highest digit.
        let digit = highest_digit::<W>(keys.len(), bits);
        let few = keys.iter().step_by(keys.len() / 64);
        if varying_bits(keys[0], few) <= digit.shift {
            let pieces = keys.chunks(CHECKED_WORDS);
            let pieces = pieces.take_while(|_| !progress.is_cancelled());
            let varying = pieces.map(|piece| varying_bits(keys[0], piece));
            bits = varying.max().unwrap_or(0);
            if bits <= digit.shift {
                return self.sort(keys, bits, progress);
            }
        }
        let block_words = block_words::<W>(keys.len(), digit);
        self.buffers.reset(digit.values(), block_words);
        self.buffers
            .distribute(&mut InPlace::new(keys), digit, progress);
        if progress.is_cancelled() {
            return;
        }
        let stripe_words = keys.len().next_multiple_of(block_words);
        let buffers = [&self.buffers];
        let ends = self
            .permutation
            .apply(keys, &buffers, stripe_words, digit, progress, false);
        for bucket in split(keys, &ends) {
            self.sort(bucket, digit.shift, progress);
        }
    }
}

/// The number of words that fit into a cache.
fn leaf_words<W>() -> usize {
    LEAF_BYTES / size_of::<W>()
}

/// The digit that partitions `count` words that differ in the lowest `bits` bits. It has 8 bits. It has up to 10 if
/// that leaves 22 bits, or few enough words for a cache, because two more passes then suffice.
fn highest_digit<W>(count: usize, bits: u32) -> Digit {
    let enough = |&digit: &u32| {
        let left = count >> digit;
        let two_passes = bits - digit <= 22 || bits > 32;
        two_passes && left <= leaf_words::<W>() && left >= leaf::WIDE
    };
    let digit = if bits > 16 {
        (8..=10).find(enough).unwrap_or(8)
    } else {
        bits.min(8)
    };
    Digit {
        shift: bits - digit,
        bits: digit,
    }
}

/// The size of blocks: as large as the buffers allow, because blocks move one by one, but no larger than a value's
/// share of a stripe.
fn block_words<W>(stripe_words: usize, digit: Digit) -> usize {
    let most = BUFFER_BYTES / size_of::<W>() / digit.values();
    let fair = (stripe_words / digit.values() / 8).next_power_of_two();
    fair.clamp((256 / size_of::<W>()).min(most), most)
}

/// Whether `in_order` holds for all neighbours. Ends early at a failure, and if cancelled.
fn is_ordered<W: Word>(
    keys: &[W],
    progress: &Progress,
    in_order: impl Fn(&W, &W) -> bool + Sync,
) -> bool {
    const PIECE: usize = 1 << 12;
    let starts = (0..keys.len()).into_par_iter().step_by(PIECE);
    let pieces = starts.map(|start| &keys[start..(start + PIECE + 1).min(keys.len())]);
    // No early exit within a piece, so that many keys are compared at once.
    pieces.all(|piece| {
        let neighbours = piece.iter().zip(&piece[1..]);
        !progress.is_cancelled()
            && neighbours.fold(true, |all, (before, after)| all & in_order(before, after))
    })
}

/// Reverses the order, on all threads. Ends early if cancelled.
fn reverse<W: Word>(keys: &mut [W], progress: &Progress) {
    let (front, back) = keys.split_at_mut(keys.len() / 2);
    let front = front.par_chunks_mut(CHECKED_WORDS);
    let pieces = front.zip(back.par_rchunks_mut(CHECKED_WORDS));
    pieces.for_each(|(front, back)| {
        if progress.is_cancelled() {
            return;
        }
        let places = front.iter_mut().zip(back.iter_mut().rev());
        places.for_each(|(front, back)| std::mem::swap(front, back));
    });
}

/// The number of low bits in which any two of `keys` differ; any number if cancelled.
fn varying_bits_on_all_threads<W: Word>(keys: &[W], progress: &Progress) -> u32 {
    let Some(&first) = keys.first() else { return 0 };
    let pieces = keys.par_chunks(CHECKED_WORDS);
    let bits = pieces.map(|piece| match progress.is_cancelled() {
        true => 0,
        false => varying_bits(first, piece),
    });
    bits.max().unwrap_or(0)
}

/// The parts of `items` that end at `ends`, without the empty ones.
fn split<'a, T>(items: &'a mut [T], ends: &[usize]) -> Vec<&'a mut [T]> {
    let mut parts = Vec::new();
    let (mut rest, mut start) = (items, 0);
    for &end in ends.iter().filter(|&&end| end > 0) {
        let (part, after) = rest.split_at_mut(end - start);
        (rest, start) = (after, end);
        if !part.is_empty() {
            parts.push(part);
        }
    }
    parts
}
