//! Sorting pairs by key, stable: the same steps as for keys, through a buffer of the pairs' size.
//!
//! During the sort a pair is one word, the key above the payload. [`distribute`](super::distribute) writes blocks into
//! the buffer. The thread that sorts a bucket collects its blocks, which keep their order, and writes them back as keys
//! and payloads. A bucket that does not fit into a cache is written back unsorted, and is sorted in the same way when
//! the buffer is free.

use std::slice::ChunksExactMut;
use std::sync::Mutex;

use rayon::prelude::*;

use super::blocks::Blocks;
use super::distribute::{Buffers, GROUP, Stripe, read_group};
use super::word::{Digit, Word};
use super::{ALONE_BYTES, BUFFER_BYTES, LEAF_BYTES, leaf, leaf_words};
use tokapi_storage::progress::Progress;

/// A key and a payload in one word.
pub(super) trait Pair: Word {
    /// A key, or a payload.
    type Half: Word;

    /// The number of bits of the payload.
    const LOW: u32;

    fn new(key: Self::Half, payload: Self::Half) -> Self;

    fn halves(self) -> (Self::Half, Self::Half);
}

macro_rules! pair {
    ($word:ty, $half:ty) => {
        impl Pair for $word {
            type Half = $half;

            const LOW: u32 = <$half>::BITS;

            #[inline(always)]
            fn new(key: $half, payload: $half) -> Self {
                <$word>::from(key) << Self::LOW | <$word>::from(payload)
            }

            #[inline(always)]
            fn halves(self) -> ($half, $half) {
                // The cast keeps the payload.
                ((self >> Self::LOW) as $half, self as $half)
            }
        }
    };
}

pair!(u64, u32);
pair!(u128, u64);

/// The buffer size for pairs of `bytes` bytes in all.
pub(super) fn scratch_bytes(threads: u64, bytes: u64) -> u64 {
    // 6 bytes per block of at least 1 KiB.
    bytes + bytes / 64 + threads * (BUFFER_BYTES + 2 * LEAF_BYTES) as u64 + (1 << 20)
}

/// Sorts pairs through a buffer, on all threads.
pub(super) struct Pairs<W> {
    buffers: Vec<Buffers<W>>,
    leaves: Vec<Leaf<W>>,
    blocks: Vec<W>,
}

/// The memory of a thread that sorts a bucket.
struct Leaf<W> {
    pairs: Vec<W>,
    other: Vec<W>,
}

impl<W> Default for Pairs<W> {
    fn default() -> Self {
        Pairs {
            buffers: Vec::new(),
            leaves: Vec::new(),
            blocks: Vec::new(),
        }
    }
}

impl<W: Pair> Pairs<W> {
    /// Sorts both slices by key. They have the same length.
    pub(super) fn sort(
        &mut self,
        keys: &mut [W::Half],
        payloads: &mut [W::Half],
        progress: &Progress,
    ) {
        let threads = rayon::current_num_threads();
        self.buffers.resize_with(threads, Buffers::new);
        self.leaves.resize_with(threads, Leaf::new);
        if size_of_val(keys) <= ALONE_BYTES {
            let leaf = &mut self.leaves[0];
            let pairs = keys.iter().zip(&*payloads);
            leaf.pairs.clear();
            leaf.pairs
                .extend(pairs.map(|(&key, &payload)| W::new(key, payload)));
            return leaf.sort_into(keys, payloads, W::LOW);
        }
        if super::is_ordered(keys, progress, |before, after| before <= after) {
            return;
        }
        if self.blocks.len() < keys.len() {
            // The old memory is freed first. New memory comes as zeros, which no thread has to write.
            self.blocks = Vec::new();
            self.blocks = vec![W::default(); keys.len()];
        }
        self.sort_unordered(keys, payloads, progress);
    }

    /// Sorts pairs that are not in order. Ends early if cancelled.
    fn sort_unordered(
        &mut self,
        keys: &mut [W::Half],
        payloads: &mut [W::Half],
        progress: &Progress,
    ) {
        let bits = super::varying_bits_on_all_threads(keys, progress);
        if bits == 0 {
            return;
        }
        let digit = super::highest_digit::<W>(keys.len(), bits);
        let stripe_words = self.distribute(keys, payloads, digit, progress);
        if progress.is_cancelled() {
            return;
        }
        let Pairs {
            buffers,
            leaves,
            blocks,
        } = self;
        let blocks = Blocks::new(blocks, buffers, stripe_words, digit);

        let columns = super::split(keys, &blocks.ends).into_iter();
        let columns = columns.zip(super::split(payloads, &blocks.ends));
        let values = (0..digit.values()).filter(|&value| blocks.count(value) > 0);
        let buckets = Mutex::new(values.zip(columns));
        let large = Mutex::new(Vec::new());
        leaves.par_iter_mut().for_each(|leaf| {
            // A panic of one thread ends all threads, so no lock is poisoned.
            while !progress.is_cancelled()
                && let Some(bucket) = { buckets.lock().expect("no panic").next() }
            {
                let (value, (keys, payloads)) = bucket;
                if keys.len() <= leaf_words::<W>() {
                    leaf.pairs.clear();
                    blocks.each(value, |pairs| leaf.pairs.extend_from_slice(pairs));
                    leaf.sort_into(keys, payloads, digit.shift);
                } else {
                    let mut at = 0;
                    blocks.each(value, |pairs| {
                        if progress.is_cancelled() {
                            return;
                        }
                        let end = at + pairs.len();
                        unpack(pairs, &mut keys[at..end], &mut payloads[at..end]);
                        at = end;
                    });
                    large.lock().expect("no panic").push((keys, payloads));
                }
            }
        });
        for (keys, payloads) in large.into_inner().expect("no panic") {
            if progress.is_cancelled() {
                return;
            }
            self.sort_unordered(keys, payloads, progress);
        }
    }

    /// Writes all pairs into blocks by `digit` of the key, one stripe per thread. Returns the length of stripes.
    fn distribute(
        &mut self,
        keys: &[W::Half],
        payloads: &[W::Half],
        digit: Digit,
        progress: &Progress,
    ) -> usize {
        let stripe_words = keys.len().div_ceil(self.buffers.len());
        let block_words = super::block_words::<W>(stripe_words, digit);
        let stripe_words = stripe_words.next_multiple_of(block_words);
        let digit = Digit {
            shift: digit.shift + W::LOW,
            ..digit
        };
        for buffers in &mut self.buffers {
            buffers.reset(digit.values(), block_words);
        }
        let columns = keys.par_chunks(stripe_words);
        let columns = columns.zip(payloads.par_chunks(stripe_words));
        let columns = columns.zip(self.blocks.par_chunks_mut(stripe_words));
        let stripes = columns.zip(&mut self.buffers);
        stripes.for_each(|(((keys, payloads), blocks), buffers)| {
            let mut stripe = Columns {
                keys,
                payloads,
                blocks: blocks.chunks_exact_mut(block_words),
            };
            buffers.distribute(&mut stripe, digit, progress);
        });
        stripe_words
    }
}

/// Pairs that are read from two slices and written as blocks elsewhere.
struct Columns<'a, W: Pair> {
    keys: &'a [W::Half],
    payloads: &'a [W::Half],
    blocks: ChunksExactMut<'a, W>,
}

impl<W: Pair> Stripe<W> for Columns<'_, W> {
    #[inline(always)]
    fn count(&self) -> usize {
        self.keys.len()
    }

    #[inline(always)]
    fn read(&self, at: usize) -> ([W; GROUP], usize) {
        let (keys, count) = read_group(&self.keys[at..]);
        let (payloads, _) = read_group(&self.payloads[at..]);
        let pair = |i: usize| W::new(keys[i], payloads[i]);
        (std::array::from_fn(pair), count)
    }

    #[inline(always)]
    fn write(&mut self, block: &[W]) {
        let place = self.blocks.next().expect("as many blocks as were read");
        place.copy_from_slice(block);
    }
}

impl<W: Pair> Leaf<W> {
    fn new() -> Self {
        Leaf {
            pairs: Vec::new(),
            other: Vec::new(),
        }
    }

    /// Sorts these pairs by the lowest `bits` bits of the key, and writes them out.
    fn sort_into(&mut self, keys: &mut [W::Half], payloads: &mut [W::Half], bits: u32) {
        if self.other.len() < self.pairs.len() {
            self.other = vec![W::default(); self.pairs.len().next_power_of_two()];
        }
        leaf::sort(&mut self.pairs, &mut self.other, W::LOW, bits);
        unpack(&self.pairs, keys, payloads);
    }
}

fn unpack<W: Pair>(pairs: &[W], keys: &mut [W::Half], payloads: &mut [W::Half]) {
    for ((pair, key), payload) in pairs.iter().zip(keys).zip(payloads) {
        (*key, *payload) = pair.halves();
    }
}
