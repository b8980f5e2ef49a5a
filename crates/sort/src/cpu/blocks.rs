//! The blocks of each bucket, for blocks that stay in place.

use super::distribute::Buffers;
use super::word::{Digit, Word};

/// The places of the pairs of every bucket.
pub(super) struct Blocks<'a, W> {
    blocks: &'a [W],
    buffers: &'a [Buffers<W>],
    stripe_words: usize,
    /// The places of all blocks in their stripes, by value, then by stripe, in order.
    places: Vec<u32>,
    /// The end in `places` of each value and stripe.
    place_ends: Vec<usize>,
    /// The end of each bucket.
    pub(super) ends: Vec<usize>,
}

impl<'a, W: Word> Blocks<'a, W> {
    pub(super) fn new(
        blocks: &'a [W],
        buffers: &'a [Buffers<W>],
        stripe_words: usize,
        digit: Digit,
    ) -> Self {
        let block_words = buffers[0].block_words();
        // The number of blocks of each value in each stripe; then their starts; then their ends.
        let mut places_of = vec![0; digit.values() * buffers.len()];
        let cell = |label: u16, stripe: usize| usize::from(label) * buffers.len() + stripe;
        for (stripe, of_stripe) in buffers.iter().enumerate() {
            for &label in &of_stripe.labels {
                places_of[cell(label, stripe)] += 1;
            }
        }
        let mut ends = Vec::with_capacity(digit.values());
        let mut end = 0;
        for (value, counts) in places_of.chunks(buffers.len()).enumerate() {
            let rests = buffers.iter().map(|buffers| buffers.rest(value).len());
            end += counts.iter().sum::<usize>() * block_words + rests.sum::<usize>();
            ends.push(end);
        }
        let mut sum = 0;
        for count in &mut places_of {
            sum += std::mem::replace(count, sum);
        }
        let mut places = vec![0; sum];
        for (stripe, of_stripe) in buffers.iter().enumerate() {
            for (place, &label) in (0u32..).zip(&of_stripe.labels) {
                let next = &mut places_of[cell(label, stripe)];
                places[*next] = place;
                *next += 1;
            }
        }
        Blocks {
            blocks,
            buffers,
            stripe_words,
            places,
            place_ends: places_of,
            ends,
        }
    }

    /// The number of pairs with this value.
    pub(super) fn count(&self, value: usize) -> usize {
        let start = value.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.ends[value] - start
    }

    /// All pairs with this value, in order.
    pub(super) fn each(&self, value: usize, mut take: impl FnMut(&[W])) {
        for (stripe, buffers) in self.buffers.iter().enumerate() {
            let cell = value * self.buffers.len() + stripe;
            let start = cell
                .checked_sub(1)
                .map_or(0, |before| self.place_ends[before]);
            let block_words = buffers.block_words();
            for &place in &self.places[start..self.place_ends[cell]] {
                let at = stripe * self.stripe_words + place as usize * block_words;
                take(&self.blocks[at..at + block_words]);
            }
            take(buffers.rest(value));
        }
    }
}
