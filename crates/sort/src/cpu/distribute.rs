//! The first half of a partition: words go to the buffer of their digit, and every full buffer is written as a block of
//! words with the same digit.
//!
//! Blocks are written one after the other, in the order in which they fill up. So memory is read and written
//! sequentially for any number of digits. The next step differs: [`permute`](super::permute) moves the blocks within
//! the keys, and [`pairs`](super::pairs) collects them.

use super::CHECKED_WORDS;
use super::word::{Digit, Word};
use tokapi_storage::progress::Progress;

/// The most values of a digit: one cache line of each buffer must fit into the first cache levels.
pub(super) const MAX_VALUES: usize = 1 << 10;

/// The source of words and the destination of their blocks.
pub(super) trait Stripe<W> {
    /// The number of words.
    fn count(&self) -> usize;

    /// The words from `at` on, up to eight.
    fn read(&self, at: usize) -> ([W; GROUP], usize);

    /// Takes a full block. Every word in it has been read before.
    fn write(&mut self, block: &[W]);
}

/// The number of words that are read at once.
pub(super) const GROUP: usize = 8;

/// A buffer for every value of a digit, and the list of written blocks.
pub(super) struct Buffers<W> {
    words: Vec<W>,
    /// The place of the next word of every value.
    next: Box<[u32; MAX_VALUES]>,
    /// The value of every written block, in order.
    pub(super) labels: Vec<u16>,
    block_words: usize,
}

impl<W: Word> Buffers<W> {
    pub(super) fn new() -> Self {
        Buffers {
            words: Vec::new(),
            next: Box::new([0; MAX_VALUES]),
            labels: Vec::new(),
            block_words: 1,
        }
    }

    /// Empties the buffers for a digit with `values` values.
    ///
    /// `block_words` is a power of two.
    pub(super) fn reset(&mut self, values: usize, block_words: usize) {
        debug_assert!(values <= MAX_VALUES && block_words.is_power_of_two());
        self.block_words = block_words;
        self.labels.clear();
        if self.words.len() < values * block_words {
            self.words.resize(values * block_words, W::default());
        }
        for (value, next) in self.next[..values].iter_mut().enumerate() {
            // The buffers of all values together take a few megabytes.
            *next = (value * block_words) as u32;
        }
    }

    /// Takes all words of `stripe`. Afterwards every word is in a written block or in [`rest`](Self::rest). Both keep
    /// the order of words with the same value. Ends early if cancelled.
    #[inline(never)]
    pub(super) fn distribute(
        &mut self,
        stripe: &mut impl Stripe<W>,
        digit: Digit,
        progress: &Progress,
    ) {
        debug_assert!(digit.values() <= MAX_VALUES);
        let block_words = self.block_words;
        let words = &mut self.words[..digit.values() * block_words];
        let next = &mut *self.next;
        let mut at = 0;
        while at < stripe.count() && !progress.is_cancelled() {
            let pause = stripe.count().min(at + CHECKED_WORDS);
            while at < pause {
                let (group, count) = stripe.read(at);
                at += count;
                for &word in &group[..count] {
                    let value = digit.of(word) & (MAX_VALUES - 1);
                    let place = next[value] as usize;
                    words[place] = word;
                    let after = place + 1;
                    next[value] = after as u32;
                    if after & (block_words - 1) == 0 {
                        let start = after - block_words;
                        stripe.write(&words[start..after]);
                        next[value] = start as u32;
                        self.labels.push(value as u16);
                    }
                }
            }
        }
    }

    /// The number of words in a block.
    pub(super) fn block_words(&self) -> usize {
        self.block_words
    }

    /// The words with this value outside of full blocks.
    pub(super) fn rest(&self, value: usize) -> &[W] {
        &self.words[value * self.block_words..self.next[value] as usize]
    }
}

/// Keys whose blocks overwrite the front of the keys themselves.
///
/// A block is written only after its words have been read, so it never overwrites unread words.
pub(super) struct InPlace<'a, W> {
    keys: &'a mut [W],
    written: usize,
}

impl<'a, W> InPlace<'a, W> {
    pub(super) fn new(keys: &'a mut [W]) -> Self {
        InPlace { keys, written: 0 }
    }
}

impl<W: Word> Stripe<W> for InPlace<'_, W> {
    #[inline(always)]
    fn count(&self) -> usize {
        self.keys.len()
    }

    #[inline(always)]
    fn read(&self, at: usize) -> ([W; GROUP], usize) {
        read_group(&self.keys[at..])
    }

    #[inline(always)]
    fn write(&mut self, block: &[W]) {
        self.keys[self.written..][..block.len()].copy_from_slice(block);
        self.written += block.len();
    }
}

/// The first words, at most [`GROUP`], and their number.
#[inline(always)]
pub(super) fn read_group<W: Word>(words: &[W]) -> ([W; GROUP], usize) {
    match words.first_chunk() {
        Some(group) => (*group, GROUP),
        None => {
            let mut group = [W::default(); GROUP];
            group[..words.len()].copy_from_slice(words);
            (group, words.len())
        }
    }
}
