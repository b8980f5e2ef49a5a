//! Protocol Buffers, as far as CIFF needs them: fields of messages, written to a buffer and read
//! from a file, piece by piece.
//!
//! By hand, because a list of a hundred million postings is one message: libraries hold it as a
//! whole, twice.

use crate::varint;

/// Kinds of fields, as the low three bits of a tag tell them.
const NUMBER: u32 = 0;
const FIXED64: u32 = 1;
const BYTES: u32 = 2;
const FIXED32: u32 = 5;

#[inline]
fn push_tag(field: u32, kind: u32, message: &mut Vec<u8>) {
    varint::push(u64::from(field << 3 | kind), message);
}

/// Adds a number; 0 is what a field that is left away means.
#[inline]
pub(super) fn push_number(field: u32, number: u64, message: &mut Vec<u8>) {
    if number != 0 {
        push_tag(field, NUMBER, message);
        varint::push(number, message);
    }
}

/// The bytes that [`push_number`] adds for a field below 16.
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
