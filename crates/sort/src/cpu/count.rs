//! Sorting many keys that differ in few bits: count every value, then write it that many times.

use rayon::prelude::*;

use super::word::Word;
use tokapi_storage::progress::Progress;

/// The most bits for counting: 512 KiB of counters stay in the second-level cache.
const MAX_BITS: u32 = 16;

/// The number of words that a thread takes at a time.
const PIECE: usize = 1 << 18;

/// Whether counting is the fastest way to sort `count` keys that differ in `bits` bits.
pub(super) fn pays(count: usize, bits: u32) -> bool {
    bits <= MAX_BITS && count >= 1 << bits
}

/// Sorts keys that differ only in the lowest `bits` bits, on this thread. Ends early if cancelled.
pub(super) fn sort<W: Word>(
    keys: &mut [W],
    bits: u32,
    counts: &mut Vec<usize>,
    progress: &Progress,
) {
    counts.clear();
    counts.resize(1 << bits, 0);
    for piece in keys.chunks(PIECE) {
        if progress.is_cancelled() {
            return;
        }
        count(piece, bits, counts);
    }
    sum_up(counts);
    for (number, piece) in keys.chunks_mut(PIECE).enumerate() {
        if progress.is_cancelled() {
            return;
        }
        fill(piece, number * PIECE, counts, bits);
    }
}

/// As [`sort`], on all threads.
pub(super) fn sort_on_all_threads<W: Word>(keys: &mut [W], bits: u32, progress: &Progress) {
    let none = || vec![0usize; 1 << bits];
    let counted = keys.par_chunks(PIECE).fold(none, |mut counts, piece| {
        if !progress.is_cancelled() {
            count(piece, bits, &mut counts);
        }
        counts
    });
    let mut ends = counted.reduce(none, |mut sums, counts| {
        sums.iter_mut().zip(counts).for_each(|(sum, n)| *sum += n);
        sums
    });
    if progress.is_cancelled() {
        return;
    }
    sum_up(&mut ends);
    let pieces = keys.par_chunks_mut(PIECE).enumerate();
    pieces.for_each(|(number, piece)| {
        if !progress.is_cancelled() {
            fill(piece, number * PIECE, &ends, bits);
        }
    });
}

fn count<W: Word>(keys: &[W], bits: u32, counts: &mut [usize]) {
    let mask = (1 << bits) - 1;
    let counts = &mut counts[..=mask];
    for key in keys {
        counts[key.above(0) & mask] += 1;
    }
}

/// Turns the count of every value into the end of each.
fn sum_up(counts: &mut [usize]) {
    let mut sum = 0;
    for count in counts {
        sum += *count;
        *count = sum;
    }
}

/// Overwrites `out` with its part of the result. `out` begins at place `start` of the whole.
fn fill<W: Word>(out: &mut [W], start: usize, ends: &[usize], bits: u32) {
    let Some(&any) = out.first() else { return };
    let mut value = ends.partition_point(|&end| end <= start);
    let mut at = 0;
    while at < out.len() {
        let end = (ends[value] - start).min(out.len());
        // There are at most 2^16 values.
        out[at..end].fill(any.with_low(bits, value as u16));
        at = end;
        value += 1;
    }
}
