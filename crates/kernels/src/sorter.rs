//! Sorting on one device: records in host memory, in place.

use crate::owned::Owned;
use crate::{Build, Pinned, Record, Result, SortTimes, boundary};

/// The sort algorithm; all give the same order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u32)]
pub enum Algorithm {
    /// By radix, eight bits a pass.
    #[default]
    Radix,
    /// Merge sort.
    Merge,
    /// Batcher's bitonic network.
    Bitonic,
}

/// Options of a [`Sorter`].
#[derive(Debug, Clone)]
pub struct SorterOptions {
    /// The device, counted from 0.
    pub device: u32,
    /// Maximum device memory in bytes; `None` means the free memory.
    pub memory_bytes: Option<u64>,
    /// Minimum size in bytes of a piece of keys. Each piece is sorted while the next is copied to
    /// the device.
    pub piece_bytes: u64,
    /// For tests: calls after which the device is lost.
    #[doc(hidden)]
    pub fail_after: Option<u64>,
    /// Whether to wait after every stage, so that stages can be timed.
    pub timed: bool,
}

impl Default for SorterOptions {
    fn default() -> Self {
        SorterOptions {
            device: 0,
            memory_bytes: None,
            piece_bytes: 32 << 20,
            fail_after: None,
            timed: false,
        }
    }
}

/// Sorts on one device, stably, and reuses its memory between calls. Several sorters, each on its
/// own thread, use the link in both directions at once.
pub struct Sorter {
    raw: Owned<boundary::Sorter>,
}

impl Sorter {
    /// A sorter on a device.
    ///
    /// # Errors
    /// The device does not exist, or has too little memory.
    ///
    /// # Panics
    /// Panics if the piece size is 0.
    pub fn new(build: Build, options: &SorterOptions) -> Result<Self> {
        assert!(options.piece_bytes > 0, "a piece has a byte at least");
        let raw_options = boundary::SorterOptions {
            device: options.device,
            timed: u32::from(options.timed),
            memory_bytes: options.memory_bytes.unwrap_or(u64::MAX),
            piece_bytes: options.piece_bytes,
            fail_after: options.fail_after.map_or(0, |calls| calls + 1),
        };
        let api = build.api();
        // SAFETY: the options hold no pointers.
        let raw = unsafe { Owned::by_options(build, api.drop_sorter, api.sorter, &raw_options) }?;
        Ok(Sorter { raw })
    }

    /// Sorts by key, stably. Records are copied through pinned memory by one thread;
    /// [`Sorter::sort_pinned`] is several times as fast.
    ///
    /// # Errors
    /// There are more records than [`Sorter::most_records`]; there is too little memory; the
    /// device failed. Except in the first case, the records may be lost.
    pub fn sort<R: Record>(&mut self, algorithm: Algorithm, records: &mut [R]) -> Result<()> {
        self.call(algorithm, records, false)
    }

    /// Sorts the first `count` records of pinned memory, and returns them.
    ///
    /// # Errors
    /// As for [`Sorter::sort`].
    ///
    /// # Panics
    /// Panics if the memory has fewer records.
    pub fn sort_pinned<'a, R: Record>(
        &mut self,
        algorithm: Algorithm,
        memory: &'a mut Pinned,
        count: usize,
    ) -> Result<&'a mut [R]> {
        let records = &mut memory.as_records_mut()[..count];
        self.call(algorithm, records, true)?;
        Ok(records)
    }

    fn call<R: Record>(
        &mut self,
        algorithm: Algorithm,
        records: &mut [R],
        pinned: bool,
    ) -> Result<()> {
        let sorting = boundary::Sorting {
            record: R::KIND,
            algorithm: algorithm as u32,
            pinned: u32::from(pinned),
            records: records.as_mut_ptr().cast(),
            count: records.len() as u64,
        };
        // SAFETY: the records are borrowed mutably for the duration of the call; no copy runs after
        // it.
        unsafe { self.raw.call(self.raw.api().sort, &sorting) }
    }

    /// Maximum number of records that fit in device memory: the memory free when the sorter was
    /// created, within the limit of the options.
    pub fn most_records<R: Record>(&self, algorithm: Algorithm) -> u64 {
        // SAFETY: plain numbers.
        unsafe { (self.raw.api().most_records)(self.raw.as_ptr(), R::KIND, algorithm as u32) }
    }

    /// Milliseconds of the last call's stages, if they were timed.
    pub fn times(&self) -> SortTimes {
        self.raw.times(self.raw.api().sort_times)
    }
}
