//! The part of Protocol Buffers that CIFF needs: fields of messages, written to a buffer and read
//! from a file piece by piece.
//!
//! Written by hand, because a list of a hundred million postings is one message: libraries hold
//! two copies of it in memory.

use tokapi_storage::varint;

/// Wire types: the low three bits of a tag.
const NUMBER: u32 = 0;
const FIXED64: u32 = 1;
const BYTES: u32 = 2;
const FIXED32: u32 = 5;

/// The tag of a number field whose number is below 16.
pub(super) const fn tag_of_number(field: u32) -> u8 {
    (field << 3 | NUMBER) as u8
}

/// The tag of a byte field whose number is below 16.
pub(super) const fn tag_of_bytes(field: u32) -> u8 {
    (field << 3 | BYTES) as u8
}

#[inline]
fn push_tag(field: u32, kind: u32, message: &mut Vec<u8>) {
    varint::push(u64::from(field << 3 | kind), message);
}

/// Adds a number. 0 is omitted, because it is the default of an absent field.
#[inline]
pub(super) fn push_number(field: u32, number: u64, message: &mut Vec<u8>) {
    if number != 0 {
        push_tag(field, NUMBER, message);
        varint::push(number, message);
    }
}

/// The number of bytes that [`push_number`] adds for a field below 16.
#[inline]
pub(super) fn number_bytes(number: u64) -> usize {
    match number {
        0 => 0,
        // Seven bits a byte.
        _ => 1 + (70 - number.leading_zeros() as usize) / 7,
    }
}

/// Adds a floating-point number.
pub(super) fn push_double(field: u32, number: f64, message: &mut Vec<u8>) {
    push_tag(field, FIXED64, message);
    message.extend_from_slice(&number.to_le_bytes());
}

/// Adds a field of bytes.
pub(super) fn push_bytes(field: u32, bytes: &[u8], message: &mut Vec<u8>) {
    push_length(field, bytes.len(), message);
    message.extend_from_slice(bytes);
}

/// Begins a field of `length` bytes, which are to follow.
#[inline]
pub(super) fn push_length(field: u32, length: usize, message: &mut Vec<u8>) {
    push_tag(field, BYTES, message);
    varint::push(length as u64, message);
}

/// Begins a message of `length` bytes, which are to follow.
pub(super) fn push_length_of(length: usize, file: &mut Vec<u8>) {
    varint::push(length as u64, file);
}

/// A field of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Field {
    pub number: u64,
    pub value: Value,
}

/// The content of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value {
    Number(u64),
    /// Bytes of this length.
    Bytes(u64),
    /// Ignored bytes of this length.
    Fixed(u64),
}

impl Field {
    /// The field of a `tag`, without its value; none for an unknown wire type.
    pub fn of_tag(tag: u64) -> Option<Self> {
        // Three bits.
        let value = match (tag & 7) as u32 {
            NUMBER => Value::Number(0),
            FIXED64 => Value::Fixed(8),
            BYTES => Value::Bytes(0),
            FIXED32 => Value::Fixed(4),
            _ => return None,
        };
        let number = tag >> 3;
        (number > 0).then_some(Field { number, value })
    }
}

/// Reads two numeric fields of a message in memory; 0 for an absent field. Other fields are
/// skipped. None if the bytes are not a message.
#[inline]
pub(super) fn two_numbers(fields: [u32; 2], mut message: &[u8]) -> Option<[u64; 2]> {
    let mut numbers = [0; 2];
    while !message.is_empty() {
        let field = Field::of_tag(varint::take(&mut message)?)?;
        let held = match field.value {
            Value::Number(_) => {
                let number = varint::take(&mut message)?;
                for (place, wanted) in fields.into_iter().enumerate() {
                    if field.number == u64::from(wanted) {
                        numbers[place] = number;
                    }
                }
                0
            }
            Value::Bytes(_) => varint::take(&mut message)?,
            Value::Fixed(bytes) => bytes,
        };
        message = message.get(usize::try_from(held).ok()?..)?;
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_those_of_the_encoding() {
        let mut message = Vec::new();
        push_number(1, 150, &mut message);
        push_number(3, 0, &mut message);
        push_bytes(2, b"testing", &mut message);
        // Examples from the documentation of Protocol Buffers.
        assert_eq!(message, b"\x08\x96\x01\x12\x07testing");
        push_double(7, 1.0, &mut message);
        push_number(4, 2, &mut message);
        assert_eq!(two_numbers([1, 4], &message), Some([150, 2]));
        for end in 1..message.len() {
            let cut = two_numbers([1, 4], &message[..end]);
            assert!(cut.is_none() || [3, 12, 21].contains(&end), "{end}");
        }
    }

    #[test]
    fn sizes_are_told_ahead() {
        for bits in 0..64 {
            for number in [(1 << bits) - 1, 1 << bits] {
                let mut message = Vec::new();
                push_number(15, number, &mut message);
                assert_eq!(message.len(), number_bytes(number));
            }
        }
    }
}
