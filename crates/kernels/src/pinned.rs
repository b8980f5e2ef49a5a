//! Host memory that a device copies at full speed, in both directions.

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use crate::owned::made;
use crate::{Build, Record, Result};

/// Bytes in pinned memory.
pub struct Pinned {
    build: Build,
    memory: NonNull<u8>,
    length: usize,
}

// SAFETY: the memory is owned, and may be used and freed on any thread.
unsafe impl Send for Pinned {}
// SAFETY: shared references only read.
unsafe impl Sync for Pinned {}

impl Pinned {
    /// `length` bytes, all zero.
    ///
    /// # Errors
    /// There is no GPU, or no memory.
    pub fn new(build: Build, length: usize) -> Result<Self> {
        let memory = made(|memory, error| {
            // SAFETY: `memory` outlives the call.
            unsafe { (build.api().pinned)(length.max(1) as u64, memory, error) }
        })?;
        let memory = memory.cast::<u8>();
        // SAFETY: there are at least `length` bytes.
        unsafe { memory.write_bytes(0, length) };
        Ok(Pinned {
            build,
            memory,
            length,
        })
    }

    /// The bytes as words; a remainder of fewer than 8 bytes is left out.
    pub fn as_words(&self) -> &[u64] {
        self.as_records()
    }

    /// The bytes as records; a remainder smaller than a record is left out.
    pub fn as_records<R: Record>(&self) -> &[R] {
        let count = self.length / size_of::<R>();
        // SAFETY: pinned memory is aligned to a page, host memory to 16 bytes; the bytes exist,
        // and every byte pattern is a record.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr().cast(), count) }
    }

    /// The bytes as mutable records.
    pub fn as_records_mut<R: Record>(&mut self) -> &mut [R] {
        let count = self.length / size_of::<R>();
        // SAFETY: as above, `self` is borrowed mutably, and all records are bytes.
        unsafe { std::slice::from_raw_parts_mut(self.memory.as_ptr().cast(), count) }
    }
}

impl Deref for Pinned {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: the bytes are owned and were initialised by `new`.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr(), self.length) }
    }
}

impl DerefMut for Pinned {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `self` is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.memory.as_ptr(), self.length) }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // SAFETY: allocated by the same build, and freed once.
        unsafe { (self.build.api().unpin)(self.memory.as_ptr().cast()) };
    }
}
