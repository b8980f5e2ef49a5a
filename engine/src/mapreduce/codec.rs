//! Keys and values as bytes, and hashes of those.

use postcard::ser_flavors::Flavor;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Adds `value` to `bytes`.
#[inline]
pub(crate) fn encode(value: &impl Serialize, bytes: &mut Vec<u8>) -> Result<()> {
    let mut serializer = postcard::Serializer {
        output: Append(bytes),
    };
    value.serialize(&mut serializer).map_err(|error| {
        Error::Usage(format!(
            "a key or a value of the job cannot be stored: {error}; use types of known length"
        ))
    })
}

/// Takes a value off the front of `bytes`.
#[inline]
pub(crate) fn take<'a, T: Deserialize<'a>>(bytes: &mut &'a [u8]) -> Result<T> {
    let (value, rest) = postcard::take_from_bytes(bytes).map_err(unreadable)?;
    *bytes = rest;
    Ok(value)
}

/// What `bytes` hold.
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

/// Where [`encode`] puts bytes.
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
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

/// A hash of `bytes`, the same everywhere and always: partitions depend on it.
#[inline]
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    const A: u64 = 0x9e37_79b9_7f4a_7c15;
    const B: u64 = 0xd6e8_feb8_6659_fd93;
    let mut state = A ^ bytes.len() as u64;
    let mut rest = bytes;
    while let Some((word, behind)) = rest.split_first_chunk::<16>() {
        let word = u128::from_le_bytes(*word);
        state = fold(state ^ word as u64, (word >> 64) as u64 ^ B);
        rest = behind;
    }
    // Two words that overlap hold what is left, whatever its length.
    let (low, high) = match (rest.first_chunk::<8>(), rest.last_chunk::<8>()) {
        (Some(low), Some(high)) => (u64::from_le_bytes(*low), u64::from_le_bytes(*high)),
        _ => match (rest.first_chunk::<4>(), rest.last_chunk::<4>()) {
            (Some(low), Some(high)) => {
                let word = |half: &[u8; 4]| u64::from(u32::from_le_bytes(*half));
                (word(low), word(high))
            }
            _ => {
                let byte = |place: usize| rest.get(place).map_or(0, |&byte| u64::from(byte));
                (byte(0) | byte(1) << 8 | byte(2) << 16, 0)
            }
        },
    };
    fold(fold(state ^ low, high ^ B), A)
}

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
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
