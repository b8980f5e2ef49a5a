//! The second half of a partition in place: blocks go to the bucket of their digit.
//!
//! After [`distribute`](super::distribute) the keys are blocks of one digit each, in slots of the same size; the rest
//! of the words is in the buffers. The bucket of every slot is known, so the target slot of each block is known before
//! anything moves. A block goes to its slot, the block there to its own slot, and so on: a chain. A chain is walked
//! from its end, so each slot is free when it is written, and every block is copied once. Long chains are cut into
//! pieces, and the first block of each piece is set aside. So threads walk pieces at the same time without waiting for
//! each other, for any keys.
//!
//! The blocks are an idea of IPS4o (Axtmann, Witt, Ferizovic, Sanders, ESA 2017). There, threads agree on slots with
//! atomic counters while they move blocks.

use rayon::prelude::*;

use super::bucket::{Bucket, buckets};
use super::distribute::Buffers;
use super::word::{Digit, Word};
use tokapi_storage::progress::Progress;

/// A slot without an incoming block, or a block without a target.
const NONE: u32 = u32::MAX;

/// The number of blocks in a piece of a chain.
const PIECE_BLOCKS: usize = 1024;

/// The moves of a partition's blocks. Kept for its memory.
pub(super) struct Permutation<W> {
    /// The target slot of the block in each slot.
    targets: Vec<u32>,
    /// Whether a block goes to each slot.
    taken: Vec<bool>,
    /// All chains, one after the other, each from its first slot to its last.
    chains: Vec<u32>,
    /// Blocks without a slot in their bucket, because bucket borders do not coincide with slots.
    extra: Vec<W>,
}

/// A part of a chain: the block of every slot goes to the next one in `slots`.
struct Piece<'a, W> {
    slots: &'a [u32],
    /// The block of the first slot, if this or another piece overwrites it.
    first: Option<Vec<W>>,
}

impl<W: Word> Permutation<W> {
    pub(super) fn new() -> Self {
        Permutation {
            targets: Vec::new(),
            taken: Vec::new(),
            chains: Vec::new(),
            extra: Vec::new(),
        }
    }

    /// Finishes the partition of `keys`, which were distributed by `digit` in stripes of `stripe_words`, each with its
    /// own buffers. Returns the end of the bucket of each value.
    ///
    /// A stripe is a multiple of a block. With `parallel`, runs on all threads. Ends early if cancelled.
    pub(super) fn apply(
        &mut self,
        keys: &mut [W],
        buffers: &[&Buffers<W>],
        stripe_words: usize,
        digit: Digit,
        progress: &Progress,
        parallel: bool,
    ) -> Vec<usize> {
        let block_words = buffers[0].block_words();
        debug_assert!(stripe_words.is_multiple_of(block_words));
        let stripe_slots = stripe_words / block_words;
        let mut buckets = buckets(buffers, digit.values());
        self.assign(keys, &mut buckets, buffers, stripe_slots);
        let ends = self.follow();
        self.walk(keys, &ends, block_words, progress, parallel);
        for (value, bucket) in buckets.iter_mut().enumerate() {
            let extra = bucket.extra.map(|at| &self.extra[at..at + block_words]);
            let rests = buffers.iter().map(|buffers| buffers.rest(value));
            let rests = extra.into_iter().chain(rests);
            let stays = |slot| label(buffers, stripe_slots, slot) == Some(value);
            bucket.fill_gaps(keys, rests, stays, block_words);
        }
        buckets.into_iter().map(|bucket| bucket.end).collect()
    }

    /// Assigns a slot in its bucket to every block outside of it.
    fn assign(
        &mut self,
        keys: &[W],
        buckets: &mut [Bucket],
        buffers: &[&Buffers<W>],
        stripe_slots: usize,
    ) {
        let block_words = buffers[0].block_words();
        let slots = keys.len() / block_words;
        self.targets.clear();
        self.targets.resize(slots, NONE);
        self.taken.clear();
        self.taken.resize(slots, false);
        self.extra.clear();
        for (stripe, of_stripe) in buffers.iter().enumerate() {
            for (&value, slot) in of_stripe.labels.iter().zip(stripe * stripe_slots..) {
                let value = usize::from(value);
                let bucket = &mut buckets[value];
                if bucket.has(slot) {
                    continue;
                }
                match bucket.take(|slot| label(buffers, stripe_slots, slot) == Some(value)) {
                    Some(free) => {
                        // More than 2^32 slots of keys would be terabytes.
                        self.targets[slot] = free as u32;
                        self.taken[free] = true;
                    }
                    None => {
                        // A bucket of c words has at most c / block full blocks and at least
                        // c / block - 1 slots.
                        debug_assert!(bucket.extra.is_none());
                        bucket.extra = Some(self.extra.len());
                        let block = &keys[slot * block_words..][..block_words];
                        self.extra.extend_from_slice(block);
                    }
                }
            }
        }
    }

    /// Lists the chains. Returns the end of each, and whether it is a cycle.
    ///
    /// A cycle has its first slot again as its last.
    fn follow(&mut self) -> Vec<(usize, bool)> {
        self.chains.clear();
        let mut ends = Vec::new();
        // First the chains that start at a slot without an incoming block. The remaining ones are cycles.
        for cyclic in [false, true] {
            for start in 0..self.targets.len() {
                if self.targets[start] == NONE || (self.taken[start] && !cyclic) {
                    continue;
                }
                let mut slot = start;
                loop {
                    self.chains.push(slot as u32);
                    match std::mem::replace(&mut self.targets[slot], NONE) {
                        NONE => break,
                        next => slot = next as usize,
                    }
                }
                ends.push((self.chains.len(), cyclic));
            }
        }
        ends
    }

    /// Moves every block along its chain. Ends early if cancelled.
    fn walk(
        &self,
        keys: &mut [W],
        ends: &[(usize, bool)],
        block_words: usize,
        progress: &Progress,
        parallel: bool,
    ) {
        let mut pieces = Vec::new();
        let mut start = 0;
        for &(end, cyclic) in ends {
            let chain = &self.chains[start..end];
            // Neighbouring pieces share a slot: the last slot of one is the first of the next.
            for at in (0..chain.len() - 1).step_by(PIECE_BLOCKS) {
                let slots = &chain[at..(at + PIECE_BLOCKS + 1).min(chain.len())];
                let set_aside = cyclic || at > 0;
                let first = || keys[slots[0] as usize * block_words..][..block_words].to_vec();
                pieces.push(Piece {
                    slots,
                    first: set_aside.then(first),
                });
            }
            start = end;
        }
        if !parallel {
            let pieces = pieces.iter().take_while(|_| !progress.is_cancelled());
            return pieces.for_each(|piece| piece.walk(keys, block_words));
        }
        // Only one piece writes each slot, so the slot is given to it.
        let slots = keys.chunks_exact_mut(block_words).map(Some);
        let mut slots: Vec<Option<&mut [W]>> = slots.collect();
        let mut owned = Vec::with_capacity(self.chains.len());
        for piece in &pieces {
            let written = if piece.first.is_some() { 1 } else { 0 };
            for &slot in &piece.slots[written..] {
                owned.push(slots[slot as usize].take().expect("in one piece alone"));
            }
        }
        let mut rest = &mut owned[..];
        let mut tasks = Vec::with_capacity(pieces.len());
        for piece in pieces {
            let written = if piece.first.is_some() { 1 } else { 0 };
            let (slots, after) = rest.split_at_mut(piece.slots.len() - written);
            rest = after;
            tasks.push((piece.first, slots));
        }
        tasks.into_par_iter().for_each(|(first, slots)| {
            if progress.is_cancelled() {
                return;
            }
            for at in (1..slots.len()).rev() {
                let (before, target) = slots.split_at_mut(at);
                target[0].copy_from_slice(before[at - 1]);
            }
            if let (Some(first), Some(target)) = (first, slots.first_mut()) {
                target.copy_from_slice(&first);
            }
        });
    }
}

impl<W: Word> Piece<'_, W> {
    fn walk(&self, keys: &mut [W], block_words: usize) {
        for at in (1..self.slots.len()).rev() {
            let target = self.slots[at] as usize * block_words;
            match &self.first {
                Some(block) if at == 1 => {
                    keys[target..target + block_words].copy_from_slice(block);
                }
                _ => {
                    let source = self.slots[at - 1] as usize * block_words;
                    keys.copy_within(source..source + block_words, target);
                }
            }
        }
    }
}

/// The value of the block in this slot, if any.
fn label<W>(buffers: &[&Buffers<W>], stripe_slots: usize, slot: usize) -> Option<usize> {
    let labels = &buffers.get(slot / stripe_slots)?.labels;
    labels.get(slot % stripe_slots).map(|&label| label.into())
}
