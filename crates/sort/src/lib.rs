//! Sorts numbers in memory and in files, by one of several engines.
//!
//! Engines sort unsigned words. [`KeyType`] converts numbers of eight types to words of the same order, and back.
//! Sorting a chunk of a file takes these steps:
//!
//! ```
//! use tokapi_sort::{Cpu, KeyType, Sort};
//!
//! # fn main() -> tokapi_storage::error::Result<()> {
//! let mut keys = [2.5f32, f32::NAN, -0.0, 0.0, -1e9].map(f32::to_bits);
//! KeyType::F32.order32(&mut keys);
//! Cpu::new().keys32(&mut keys)?;
//! KeyType::F32.restore32(&mut keys);
//! assert_eq!(keys[..4], [-1e9f32, -0.0, 0.0, 2.5].map(f32::to_bits));
//! # Ok(())
//! # }
//! ```
//!
//! [`text`] reads and writes the same numbers as lines of text.

mod columns;
mod cpu;
mod external;
#[cfg(feature = "kernels")]
mod gpu;
mod input;
mod key;
mod merge;
mod options;
mod reference;
mod run;
mod runs;
#[cfg(test)]
mod tests;
pub mod text;
mod whole;

pub use cpu::Cpu;
pub use external::{Sorted, chunk_limit, sort_file};
#[cfg(feature = "kernels")]
pub use gpu::Gpu;
pub use input::Layout;
pub use key::KeyType;
pub use options::SortOptions;
pub use reference::Reference;

use tokapi_storage::error::{Error, Result};
use tokapi_storage::progress::Progress;

/// An engine that sorts chunks, one after the other. All engines give the same result.
///
/// ```
/// # use tokapi_sort::{Cpu, Sort};
/// let (mut keys, mut payloads) = ([3, 1, 2], [30, 10, 20]);
/// Cpu::new().pairs32(&mut keys, &mut payloads)?;
/// assert_eq!((keys, payloads), ([1, 2, 3], [10, 20, 30]));
/// # Ok::<(), tokapi_storage::error::Error>(())
/// ```
pub trait Sort: Send {
    /// Sorts `keys`, ascending.
    ///
    /// # Errors
    /// The engine's device fails. The slice then holds the same keys in any order.
    fn keys32(&mut self, keys: &mut [u32]) -> Result<()>;

    /// Sorts `keys`, ascending.
    ///
    /// # Errors
    /// As for [`keys32`](Self::keys32).
    fn keys64(&mut self, keys: &mut [u64]) -> Result<()>;

    /// Sorts pairs by key, ascending. Equal keys keep their order.
    ///
    /// # Errors
    /// The slices have different lengths; and as for [`keys32`](Self::keys32).
    fn pairs32(&mut self, keys: &mut [u32], payloads: &mut [u32]) -> Result<()>;

    /// Sorts pairs by key, ascending. Equal keys keep their order.
    ///
    /// # Errors
    /// As for [`pairs32`](Self::pairs32).
    fn pairs64(&mut self, keys: &mut [u64], payloads: &mut [u64]) -> Result<()>;

    /// The peak memory in bytes for sorting `count` items, beside the items themselves.
    ///
    /// Engines keep this memory for the next call, separately for every kind of items.
    #[doc(hidden)]
    fn scratch_bytes(&self, items: Items, count: u64) -> u64;

    /// Lets calls end early once `progress` is cancelled; the slices then hold no useful items. An engine may ignore this
    /// and always finish its calls.
    fn follow(&mut self, _progress: &Progress) {}

    /// The most items that can be sorted in one call.
    #[doc(hidden)]
    fn most_items(&self, _items: Items) -> u64 {
        u64::MAX
    }
}

/// The kind of items that are sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Items {
    /// Keys of 32 bits.
    Keys32,
    /// Keys of 64 bits.
    Keys64,
    /// Keys of 32 bits, each with a payload of 32.
    Pairs32,
    /// Keys of 64 bits, each with a payload of 64.
    Pairs64,
}

impl Items {
    /// The bytes of an item.
    pub const fn bytes(self) -> u64 {
        match self {
            Items::Keys32 => 4,
            Items::Keys64 | Items::Pairs32 => 8,
            Items::Pairs64 => 16,
        }
    }
}

/// The algorithm, for engines with several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Algorithm {
    /// Radix sort, the fastest for numbers.
    #[default]
    Radix,
    /// Merge sort.
    Merge,
    /// A bitonic network.
    Bitonic,
}

impl Algorithm {
    /// All algorithms, the default first.
    pub const ALL: [Algorithm; 3] = [Algorithm::Radix, Algorithm::Merge, Algorithm::Bitonic];

    /// The name of the algorithm, as in options.
    pub const fn name(self) -> &'static str {
        match self {
            Algorithm::Radix => "radix",
            Algorithm::Merge => "merge",
            Algorithm::Bitonic => "bitonic",
        }
    }
}

/// Refuses slices of keys and payloads of different lengths.
fn same_length<T>(keys: &[T], payloads: &[T]) -> Result<()> {
    if keys.len() == payloads.len() {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "there are {} keys and {} payloads; give one payload for each key",
        keys.len(),
        payloads.len()
    )))
}
