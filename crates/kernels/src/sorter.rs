//! Sorting on one device: records in host memory, in place.

use std::ptr::NonNull;

use crate::{Build, Pinned, Record, Result, SortTimes, boundary, check};

/// How records are sorted; the order that comes out is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u32)]
pub enum Algorithm {
    /// By radix, eight bits a pass.
    #[default]
    Radix = 0,
    /// By comparing and merging.
    Merge = 1,
    /// By Batcher's bitonic network.
    Bitonic = 2,
}

/// How a [`Sorter`] works.
#[derive(Debug, Clone)]
pub struct SorterOptions {
    /// The device, counted from 0.
    pub device: u32,
    /// Device memory to use at most; what is free where `None`.
    pub memory_bytes: Option<u64>,
    /// Keys go up in pieces of so many bytes or more, and each is sorted while the next comes.
    pub piece_bytes: u64,
    /// Calls after which the device is lost, for tests.
    #[doc(hidden)]
    pub fail_after: Option<u64>,
    /// Whether to wait after every stage, so that its time can be told.
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

/// Sorts on one device, stably; its memory is kept from call to call. Several, each on a thread of
/// its own, use the link both ways at once.
pub struct Sorter {
    build: Build,
    raw: NonNull<boundary::Sorter>,
}

// SAFETY: all state is the sorter's own, and CUDA's calls work on any thread.
unsafe impl Send for Sorter {}

impl Sorter {
    /// A sorter on a device.
    ///
    /// # Errors
    /// There is no such device, or no memory for it.
    ///
    /// # Panics
    /// When pieces have no bytes.
    pub fn new(build: Build, options: &SorterOptions) -> Result<Self> {
        assert!(options.piece_bytes > 0, "a piece has a byte at least");
        let raw_options = boundary::SorterOptions {
            device: options.device,
            timed: u32::from(options.timed),
            memory_bytes: options.memory_bytes.unwrap_or(u64::MAX),
            piece_bytes: options.piece_bytes,
            fail_after: options.fail_after.map_or(0, |calls| calls + 1),
        };
        let mut raw = std::ptr::null_mut();
        check(|error| {
            // SAFETY: the options are read during the call only.
            unsafe { (build.api().sorter)(&raw const raw_options, &raw mut raw, error) }
        })?;
        Ok(Sorter {
            build,
            raw: NonNull::new(raw).expect("a status of OK comes with a sorter"),
        })
    }

    /// Sorts by key, stably. Records are copied through pinned memory by one thread;
    /// [`Sorter::sort_pinned`] is several times as fast.
    ///
    /// # Errors
    /// More records than [`Sorter::most_records`]; too little memory; the device failed. Unless there
    /// were too many, the records may be lost.
    pub fn sort<R: Record>(&mut self, algorithm: Algorithm, records: &mut [R]) -> Result<()> {
        self.call(algorithm, records, false)
    }

    /// Sorts the first `count` records of pinned memory, and gives them.
    ///
    /// # Errors
    /// As for [`Sorter::sort`].
    ///
    /// # Panics
    /// When there are not so many.
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
        check(|error| {
            // SAFETY: the records are borrowed mutably for as long as the call lasts, after which
            // nothing is copied any more.
            unsafe { (self.build.api().sort)(self.raw.as_ptr(), &raw const sorting, error) }
        })
    }

    /// The most records for which there is device memory: what was free when the sorter was made,
    /// and not more than the options allow.
    pub fn most_records<R: Record>(&self, algorithm: Algorithm) -> u64 {
        // SAFETY: plain numbers.
        unsafe { (self.build.api().most_records)(self.raw.as_ptr(), R::KIND, algorithm as u32) }
    }

    /// Milliseconds of the last call's stages, where they were timed.
    pub fn times(&self) -> SortTimes {
        let mut times = SortTimes::default();
        // SAFETY: `times` outlives the call.
        unsafe { (self.build.api().sort_times)(self.raw.as_ptr(), &raw mut times) };
        times
    }
}

impl Drop for Sorter {
    fn drop(&mut self) {
        // SAFETY: made by the same build, and dropped once.
        unsafe { (self.build.api().drop_sorter)(self.raw.as_ptr()) };
    }
}
