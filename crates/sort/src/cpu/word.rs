//! The words to sort, of 32, 64 or 128 bits, and their digits.

use std::fmt::Debug;

/// An item that moves as a whole: a key, or a key above its payload.
pub(super) trait Word: Copy + Ord + Send + Sync + Default + Debug + 'static {
    /// The bits from `shift` on; bits that do not fit are lost.
    fn above(self, shift: u32) -> usize;

    /// The bits in which two words differ.
    fn differing(self, other: Self) -> Self;

    /// The bits that are set in either word.
    fn union(self, other: Self) -> Self;

    /// This word with its lowest `bits` bits replaced by `value`, which has no higher bits.
    fn with_low(self, bits: u32, value: u16) -> Self;

    /// The number of bits up to the highest set bit.
    fn bit_length(self) -> u32;

    /// This word without its `low` lowest bits, for comparisons.
    fn key(self, low: u32) -> Self;
}

macro_rules! word {
    ($type:ty) => {
        impl Word for $type {
            #[inline(always)]
            fn above(self, shift: u32) -> usize {
                (self >> shift) as usize
            }

            #[inline(always)]
            fn differing(self, other: Self) -> Self {
                self ^ other
            }

            #[inline(always)]
            fn union(self, other: Self) -> Self {
                self | other
            }

            #[inline(always)]
            fn with_low(self, bits: u32, value: u16) -> Self {
                self >> bits << bits | <$type>::from(value)
            }

            fn bit_length(self) -> u32 {
                <$type>::BITS - self.leading_zeros()
            }

            #[inline(always)]
            fn key(self, low: u32) -> Self {
                self >> low
            }
        }
    };
}

word!(u32);
word!(u64);
word!(u128);

/// A digit of a word: `bits` bits from `shift` on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Digit {
    pub(super) shift: u32,
    pub(super) bits: u32,
}

impl Digit {
    /// The number of values of the digit.
    pub(super) fn values(self) -> usize {
        1 << self.bits
    }

    /// The value of the digit in `word`.
    #[inline(always)]
    pub(super) fn of<W: Word>(self, word: W) -> usize {
        word.above(self.shift) & (self.values() - 1)
    }
}

/// The number of low bits in which any of these words differs from `first`.
pub(super) fn varying_bits<'a, W: Word + 'a>(
    first: W,
    words: impl IntoIterator<Item = &'a W>,
) -> u32 {
    let differing = words.into_iter().map(|word| word.differing(first));
    differing.fold(W::default(), W::union).bit_length()
}
