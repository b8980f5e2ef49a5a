//! Tokapi's GPU kernels: CUDA C++ behind a small boundary.
//!
//! The sources in `cpp/` are compiled twice. The host build needs only a C++ compiler, so tests
//! run everywhere. With the feature `cuda` there is also a build for GPUs. [`Build`] selects the
//! build of an [`Inverter`], a [`Sorter`], a [`Mapper`] or [`DeviceLists`]; both return the same
//! integers and the same bits.

mod batch;
mod boundary;
mod input;
mod inverter;
mod lane;
mod lists;
mod load;
mod mapper;
mod output;
mod owned;
mod pinned;
mod record;
mod renewal;
mod sorter;

pub use batch::{Batch, Occur, Term};
pub use boundary::{MapperTimes, SortTimes, Times};
pub use input::{Classes, Formula, Method, Options, Text, TfPart, Trie, TrieArrays};
pub use inverter::Inverter;
pub use lane::{Lane, MOST_RANKED, Matches, Ranked, Scheme};
pub use lists::DeviceLists;
pub use load::{ListsBuilder, Loader};
pub use mapper::{Groups, MapFunction, Mapper, MapperOptions, ReduceFunction};
pub use output::{Collected, Inverted, Lexicon, Part};
pub use pinned::Pinned;
pub use record::{Pair, Record};
pub use renewal::Renewal;
pub use sorter::{Algorithm, Sorter, SorterOptions};

use std::ffi::{CStr, c_char};

use boundary::Api;
use owned::{check, filled};

/// A build of the kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Build {
    /// Plain C++, on one thread of the host: for tests.
    Host,
    /// CUDA.
    #[cfg(feature = "cuda")]
    Cuda,
}

/// An error of a device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is no GPU or no driver, or the driver is too old.
    #[error("no GPU can be used: {0}")]
    NoDevice(String),
    /// The device or the host has too little memory.
    #[error("out of memory: {0}")]
    OutOfMemory(String),
    /// A call failed; the device may be lost.
    #[error("the GPU failed: {0}")]
    Failed(String),
    /// A count exceeds the device's numbers.
    #[error("too large for a GPU: {0}")]
    TooLarge(String),
}

impl From<Error> for tokapi_storage::error::Error {
    fn from(error: Error) -> Self {
        use tokapi_storage::error::Error as Told;
        match error {
            Error::NoDevice(_) => Told::NoDevice(error.to_string()),
            Error::OutOfMemory(_) | Error::TooLarge(_) => {
                Told::Device(format!("{error}; use smaller chunks, or the CPU"))
            }
            Error::Failed(_) => Told::Device(error.to_string()),
        }
    }
}

/// A result whose error is [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// An available device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// Its memory in bytes.
    pub memory_bytes: u64,
    /// The free part of its memory in bytes.
    pub free_bytes: u64,
    /// Its compute capability.
    pub capability: (u32, u32),
    /// Number of multiprocessors.
    pub multiprocessors: u32,
    /// The CUDA version that the driver supports.
    pub driver: (u32, u32),
    /// The CUDA version of this build.
    pub runtime: (u32, u32),
}

/// Measured rates of copies from and to pinned memory, in gigabytes a second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bandwidth {
    /// To the device.
    pub up: f64,
    /// From the device.
    pub down: f64,
    /// The total in both directions at once.
    pub both: f64,
}

impl Build {
    fn api(self) -> &'static Api {
        // SAFETY: both functions return the address of a table with static lifetime.
        unsafe {
            match self {
                Build::Host => &*boundary::tokapi_host_api(),
                #[cfg(feature = "cuda")]
                Build::Cuda => &*boundary::tokapi_cuda_api(),
            }
        }
    }

    /// The number of devices.
    ///
    /// # Errors
    /// There is no GPU or no driver, or the driver is too old.
    pub fn count(self) -> Result<u32> {
        filled(|count, error| {
            // SAFETY: `count` outlives the call.
            unsafe { (self.api().count)(count, error) }
        })
    }

    /// Queries one device; this starts it.
    ///
    /// # Errors
    /// The device does not exist.
    pub fn device(self, number: u32) -> Result<Device> {
        let mut device = boundary::Device {
            name: [0; 256],
            memory_bytes: 0,
            free_bytes: 0,
            major: 0,
            minor: 0,
            multiprocessors: 0,
            driver: 0,
            runtime: 0,
        };
        check(|error| {
            // SAFETY: `device` outlives the call.
            unsafe { (self.api().describe)(number, &raw mut device, error) }
        })?;
        let version = |number: u32| (number / 1000, number % 1000 / 10);
        Ok(Device {
            name: text(&device.name),
            memory_bytes: device.memory_bytes,
            free_bytes: device.free_bytes,
            capability: (device.major, device.minor),
            multiprocessors: device.multiprocessors,
            driver: version(device.driver),
            runtime: version(device.runtime),
        })
    }

    /// All devices.
    ///
    /// # Errors
    /// There is no GPU or no driver, or the driver is too old.
    pub fn devices(self) -> Result<Vec<Device>> {
        (0..self.count()?)
            .map(|number| self.device(number))
            .collect()
    }

    /// Measures copies of `bytes` from and to a device.
    ///
    /// # Errors
    /// The device does not exist, or has too little memory.
    pub fn bandwidth(self, device: u32, bytes: u64) -> Result<Bandwidth> {
        let measured: boundary::Bandwidth = filled(|measured, error| {
            // SAFETY: `measured` outlives the call.
            unsafe { (self.api().bandwidth)(device, bytes, measured, error) }
        })?;
        Ok(Bandwidth {
            up: measured.up,
            down: measured.down,
            both: measured.both,
        })
    }

    /// Gives up everything on a device that has failed, so that it may be used again.
    ///
    /// # Errors
    /// The device is lost.
    ///
    /// # Safety
    /// Nothing of the device is in use: no object of this crate, or of another user of the device in this process, and
    /// no pinned memory.
    pub unsafe fn reset(self, device: u32) -> Result<()> {
        // SAFETY: a plain number; the caller vouches for the rest.
        check(|error| unsafe { (self.api().reset)(device, error) })
    }

    /// Maximum device memory that lists take, for these numbers of postings, lists and documents.
    pub fn lists_bytes(self, postings: u64, lists: u64, documents: u64) -> u64 {
        // SAFETY: plain numbers.
        unsafe { (self.api().lists_bytes)(postings, lists, documents) }
    }

    /// Maximum device memory to invert a chunk of `text_bytes`.
    pub fn peak_bytes(self, text_bytes: u64, method: Method) -> u64 {
        // SAFETY: plain numbers.
        unsafe { (self.api().peak_bytes)(text_bytes, method as u32) }
    }
}

/// A C string of the boundary; it always ends within its array.
fn text(chars: &[c_char]) -> String {
    let bytes: Vec<u8> = chars.iter().map(|&char| char as u8).collect();
    CStr::from_bytes_until_nul(&bytes)
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// # Safety
/// `from` points to `length` elements that live for `'a`, or `length` is 0.
unsafe fn slice<'a, T>(from: *const T, length: u64) -> &'a [T] {
    if length == 0 {
        return &[];
    }
    // SAFETY: by the caller's promise; the array is in memory, so its length fits.
    unsafe { std::slice::from_raw_parts(from, length as usize) }
}
