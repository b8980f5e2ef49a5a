//! Encodes keys and values as bytes, and hashes the bytes.

use postcard::ser_flavors::Flavor;
use serde::{Deserialize, Serialize};

use tokapi_storage::error::{Error, Result};
use tokapi_storage::mix::fold;

/// Adds `value` to `bytes`.
#[inline]
pub(crate) fn encode(value: &impl Serialize, bytes: &mut Vec<u8>) -> Result<()> {
    let output = Append(bytes);
    let mut serializer = postcard::Serializer { output };
    value.serialize(&mut serializer).map_err(unwritable)
}

#[cold]
fn unwritable(error: postcard::Error) -> Error {
    Error::Usage(format!(
        "a key or a value of the job cannot be stored: {error}; use types of known length"
    ))
}

/// Decodes a value from the front of `bytes`, and removes it.
#[inline]
pub(crate) fn take<'a, T: Deserialize<'a>>(bytes: &mut &'a [u8]) -> Result<T> {
    let mut from = postcard::Deserializer::from_bytes(bytes);
    let value = T::deserialize(&mut from).map_err(unreadable)?;
    *bytes = from.finalize().map_err(unreadable)?;
    Ok(value)
}

/// Decodes all of `bytes`.
#[inline]
pub(crate) fn decode<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T> {
    postcard::from_bytes(bytes).map_err(unreadable)
}

#[cold]
fn unreadable(error: postcard::Error) -> Error {
    Error::Verification(format!(
        "a key or a value of the job does not read what it wrote: {error}; mend its serialization"
    ))
}

/// The destination of [`encode`].
struct Append<'a>(&'a mut Vec<u8>);

impl Flavor for Append<'_> {
    type Output = ();

    #[inline]
    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.0.push(byte);
        Ok(())
    }

    #[inline]
    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        push_few(bytes, self.0);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

/// Appends `bytes` to `all`. Most are one to four bytes, too few for a call.
#[inline(always)]
pub(crate) fn push_few(bytes: &[u8], all: &mut Vec<u8>) {
    match bytes {
        [a] => all.push(*a),
        [a, b] => all.extend_from_slice(&[*a, *b]),
        [a, b, c] => all.extend_from_slice(&[*a, *b, *c]),
        [a, b, c, d] => all.extend_from_slice(&[*a, *b, *c, *d]),
        bytes => all.extend_from_slice(bytes),
    }
}

/// Encoded bytes: up to 15 in one word together with their number, more in a buffer.
#[derive(Default)]
pub(crate) struct Word {
    word: u128,
    length: usize,
    /// All bytes, if there are more than 15.
    long: Vec<u8>,
}

/// Maximum number of bytes in a word.
const SHORT: usize = 15;

impl Word {
    /// Replaces the content by the encoding of `value`.
    #[inline]
    pub(crate) fn encode(&mut self, value: &impl Serialize) -> Result<()> {
        (self.word, self.length) = (0, 0);
        let output = Fill(self);
        let mut serializer = postcard::Serializer { output };
        value.serialize(&mut serializer).map_err(unwritable)
    }

    /// Bytes and their number in one word, if they fit.
    #[inline]
    pub(crate) fn short(&self) -> Option<u128> {
        (self.length <= SHORT).then_some(self.word | (self.length as u128) << 120)
    }

    /// The bytes, if they do not fit in a word.
    pub(crate) fn long(&self) -> &[u8] {
        &self.long
    }

    /// The hash of the bytes.
    pub(crate) fn hash(&self) -> u64 {
        match self.short() {
            Some(word) => hash_word(word),
            None => hash(&self.long),
        }
    }

    #[cold]
    fn lengthen(&mut self, bytes: &[u8]) {
        if self.length <= SHORT {
            self.long.clear();
            let word = self.word.to_le_bytes();
            self.long.extend_from_slice(&word[..self.length]);
        }
        self.long.extend_from_slice(bytes);
        self.length = self.long.len();
    }
}

/// The result of [`Word::short`] for `bytes`.
#[inline]
pub(crate) fn word(bytes: &[u8]) -> Option<u128> {
    (bytes.len() <= SHORT).then(|| low_bytes(bytes) | (bytes.len() as u128) << 120)
}

/// The destination of [`Word::encode`].
struct Fill<'a>(&'a mut Word);

impl Flavor for Fill<'_> {
    type Output = ();

    #[inline]
    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.try_extend(&[byte])
    }

    #[inline]
    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        let length = self.0.length;
        // For example the length before a text.
        if let &[byte] = bytes
            && length < SHORT
        {
            self.0.word |= u128::from(byte) << (8 * length);
            self.0.length = length + 1;
            return Ok(());
        }
        match length + bytes.len() <= SHORT {
            true => {
                self.0.word |= low_bytes(bytes) << (8 * length);
                self.0.length = length + bytes.len();
            }
            false => self.0.lengthen(bytes),
        }
        Ok(())
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

/// Up to 16 bytes as a number, by two overlapping loads for every length.
#[inline]
fn low_bytes(bytes: &[u8]) -> u128 {
    let count = bytes.len();
    if let (Some(first), Some(last)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
        let (first, last) = (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
        return u128::from(first) | u128::from(last) << (8 * (count - 8));
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        return u128::from(u64::from(first) | u64::from(last) << (8 * (count - 4)));
    }
    let byte = |place: usize| {
        bytes
            .get(place)
            .map_or(0, |&byte| u128::from(byte) << (8 * place))
    };
    byte(0) | byte(1) | byte(2)
}

const A: u64 = 0x9e37_79b9_7f4a_7c15;
const B: u64 = 0xd6e8_feb8_6659_fd93;

/// A hash of a result of [`Word::short`].
#[inline]
pub(crate) fn hash_word(word: u128) -> u64 {
    fold(word as u64 ^ A, (word >> 64) as u64 ^ B)
}

/// A hash of any number of bytes; it equals the hash of the word if they fit in one. It never
/// changes, on any machine: partitions depend on it.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    hash_word(word(bytes).unwrap_or_else(|| {
        let state = bytes.chunks(16).fold(A, |state, block| {
            let word = low_bytes(block);
            fold(state ^ word as u64, (word >> 64) as u64 ^ B)
        });
        u128::from(state) | (bytes.len() as u128) << 64
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded() {
        let mut bytes = Vec::new();
        let pair = ("term", 7_u64, Some(-3_i32), vec![0.5_f32]);
        encode(&pair, &mut bytes).unwrap();
        encode(&1_u8, &mut bytes).unwrap();
        let mut rest = &bytes[..];
        let read: (&str, u64, Option<i32>, Vec<f32>) = take(&mut rest).unwrap();
        assert_eq!(read, pair);
        assert_eq!(take::<u8>(&mut rest).unwrap(), 1);
        assert!(take::<u8>(&mut rest).is_err());
    }

    #[test]
    fn a_word_holds_the_same_bytes() {
        let mut word = Word::default();
        for length in 0..40 {
            let text = &"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqr"[..length];
            let mut bytes = Vec::new();
            encode(&(text, 7_u8), &mut bytes).unwrap();
            word.encode(&(text, 7_u8)).unwrap();
            match word.short() {
                Some(short) => {
                    let short = short.to_le_bytes();
                    assert_eq!(&short[..usize::from(short[15])], bytes);
                }
                None => assert_eq!(word.long(), bytes),
            }
            assert_eq!(word.short().is_some(), bytes.len() <= 15);
            assert_eq!(word.hash(), hash(&bytes));
        }
    }

    #[test]
    fn texts_that_differ_have_hashes_that_differ() {
        let mut hashes = std::collections::HashSet::new();
        for length in 0..40 {
            for place in 0..length {
                for byte in [1, 2, 255] {
                    let mut text = vec![0; length];
                    text[place] = byte;
                    hashes.insert(hash(&text));
                }
            }
        }
        assert_eq!(hashes.len(), 3 * 39 * 40 / 2);
    }
}
