//! The records that a device can sort.

use crate::boundary;

/// A key with a value, in this order in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Pair<K> {
    /// The sort key.
    pub key: K,
    /// The value, moved together with the key.
    pub value: K,
}

/// A record that can be sorted: `u32`, `u64`, and a [`Pair`] of either.
///
/// # Safety
/// `KIND` is the boundary's kind for records of this size, and every bit pattern is a record.
pub unsafe trait Record: Copy + Send + Sync + 'static {
    #[doc(hidden)]
    const KIND: u32;
}

// SAFETY: integers, of the kind's size.
unsafe impl Record for u32 {
    const KIND: u32 = boundary::KEYS32;
}
// SAFETY: as above.
unsafe impl Record for u64 {
    const KIND: u32 = boundary::KEYS64;
}
// SAFETY: two integers without a gap, the key first.
unsafe impl Record for Pair<u32> {
    const KIND: u32 = boundary::PAIRS32;
}
// SAFETY: as above.
unsafe impl Record for Pair<u64> {
    const KIND: u32 = boundary::PAIRS64;
}
