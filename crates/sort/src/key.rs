//! The types of keys, and their conversion to words of the same order.
//!
//! Unsigned integers are their own words. Signed integers have the sign bit inverted. Floats are ordered by
//! `total_cmp`, the total order of IEEE 754: a negative float has all bits inverted, any other the sign bit. So -0
//! comes before 0, and a NaN is ordered by its bits, beyond the infinity of its sign. The conversion is one to one:
//! [`restore32`](KeyType::restore32) restores every bit.

use std::ops::{BitOr, BitXorAssign};

/// The type of a key.
///
/// ```
/// # use tokapi_sort::KeyType;
/// let mut keys = [1.5f32, -2.0].map(f32::to_bits);
/// KeyType::F32.order32(&mut keys);
/// assert!(keys[1] < keys[0]);
/// KeyType::F32.restore32(&mut keys);
/// assert_eq!(keys.map(f32::from_bits), [1.5, -2.0]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyType {
    /// Unsigned, 8 bits.
    U8,
    /// Unsigned, 16 bits.
    U16,
    /// Unsigned, 32 bits.
    U32,
    /// Unsigned, 64 bits.
    U64,
    /// Two's complement, 32 bits.
    I32,
    /// Two's complement, 64 bits.
    I64,
    /// IEEE 754, 32 bits.
    F32,
    /// IEEE 754, 64 bits.
    F64,
}

impl KeyType {
    /// All types.
    pub const ALL: [KeyType; 8] = [
        KeyType::U8,
        KeyType::U16,
        KeyType::U32,
        KeyType::U64,
        KeyType::I32,
        KeyType::I64,
        KeyType::F32,
        KeyType::F64,
    ];

    /// The name of the type, as in Rust and in options.
    pub const fn name(self) -> &'static str {
        match self {
            KeyType::U8 => "u8",
            KeyType::U16 => "u16",
            KeyType::U32 => "u32",
            KeyType::U64 => "u64",
            KeyType::I32 => "i32",
            KeyType::I64 => "i64",
            KeyType::F32 => "f32",
            KeyType::F64 => "f64",
        }
    }

    /// The bytes of a key in a file: 1, 2, 4 or 8.
    pub const fn bytes(self) -> usize {
        match self {
            KeyType::U8 => 1,
            KeyType::U16 => 2,
            KeyType::U32 | KeyType::I32 | KeyType::F32 => 4,
            KeyType::U64 | KeyType::I64 | KeyType::F64 => 8,
        }
    }

    /// The bytes of a key's word in memory: 4 or 8.
    pub const fn word_bytes(self) -> usize {
        match self.bytes() {
            8 => 8,
            _ => 4,
        }
    }

    const fn kind(self) -> Kind {
        match self {
            KeyType::U8 | KeyType::U16 | KeyType::U32 | KeyType::U64 => Kind::Unsigned,
            KeyType::I32 | KeyType::I64 => Kind::Signed,
            KeyType::F32 | KeyType::F64 => Kind::Float,
        }
    }

    /// Converts the bits of keys to words of the same order.
    ///
    /// # Panics
    /// For a type of 64 bits.
    pub fn order32(self, keys: &mut [u32]) {
        self.flip(keys, 1 << 31, |key| ((key as i32) >> 31) as u32);
    }

    /// Converts words from [`order32`](Self::order32) back to the bits of keys.
    ///
    /// # Panics
    /// For a type of 64 bits.
    pub fn restore32(self, words: &mut [u32]) {
        self.flip(words, 1 << 31, |word| !((word as i32) >> 31) as u32);
    }

    /// As [`order32`](Self::order32), for 64 bits.
    ///
    /// # Panics
    /// For a type of 32 bits.
    pub fn order64(self, keys: &mut [u64]) {
        self.flip(keys, 1 << 63, |key| ((key as i64) >> 63) as u64);
    }

    /// As [`restore32`](Self::restore32), for 64 bits.
    ///
    /// # Panics
    /// For a type of 32 bits.
    pub fn restore64(self, words: &mut [u64]) {
        self.flip(words, 1 << 63, |word| !((word as i64) >> 63) as u64);
    }

    /// Flips the sign, and all other bits of negative floats. `negative` has all bits of the word of such a float.
    #[inline(always)]
    fn flip<W>(self, words: &mut [W], sign: W, negative: impl Fn(W) -> W)
    where
        W: Copy + BitXorAssign + BitOr<Output = W>,
    {
        let bytes = size_of::<W>();
        assert_eq!(self.word_bytes(), bytes, "keys of {} bits", 8 * bytes);
        // One loop each, without branches, so that many words are converted at once.
        match self.kind() {
            Kind::Unsigned => {}
            Kind::Signed => words.iter_mut().for_each(|word| *word ^= sign),
            Kind::Float => words
                .iter_mut()
                .for_each(|word| *word ^= negative(*word) | sign),
        }
    }
}

/// The kind of numbers, which determines the conversion.
enum Kind {
    Unsigned,
    Signed,
    Float,
}
