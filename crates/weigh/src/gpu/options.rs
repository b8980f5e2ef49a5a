//! The options of a device. They exist in every build, so that a program's code is the same with and without GPUs.

use std::sync::Arc;

use crate::dictionary::Dictionary;
use tokapi_storage::error::{Error, Result};

/// The method by which a device maps terms to integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Method {
    /// A hash table on the device compares terms as strings.
    #[default]
    Hash,
    /// Data-parallel primitives sort occurrences as strings.
    Pp,
    /// Data-parallel primitives with a dictionary: a succinct trie maps terms to integers.
    Ppd,
    /// MapReduce in the way of Mars, for comparison: documents are mapped to pairs, and pairs are sorted as strings.
    Mars,
}

/// The sort algorithm of [`Method::Mars`]; all give the same order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PairSort {
    /// By radix, eight bits a pass.
    #[default]
    Radix,
    /// Merge sort.
    Merge,
    /// Batcher's bitonic network.
    Bitonic,
}

/// The options of the engine on a GPU: by default the first device, all of its free memory, the method `hash`.
///
/// ```
/// # use tokapi_weigh as tokapi;
/// use tokapi::collection::{BuildOptions, Engine};
/// use tokapi::gpu::GpuOptions;
///
/// // The CPU takes over where there is no GPU.
/// let engine = Engine::Gpu(GpuOptions::default().memory_bytes(8 << 30));
/// let options = BuildOptions::default().engine(engine).or_cpu(true);
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct GpuOptions {
    /// The device, counted from 0.
    pub device: u32,
    /// The method that maps terms to integers.
    pub method: Method,
    /// The dictionary of [`Method::Ppd`].
    pub dictionary: Option<Arc<Dictionary>>,
    /// Whether all terms outside of the dictionary count as one, with an empty spelling. Otherwise they are distinct
    /// terms like all others.
    pub unknown_one: bool,
    /// The most device memory to use; all free memory if `None`.
    pub memory_bytes: Option<u64>,
    /// Whether the kernels run on the host, slowly: for tests.
    #[doc(hidden)]
    pub host: bool,
    /// The bits in which hashes may differ, for tests of collisions.
    #[doc(hidden)]
    pub hash_mask: u64,
    /// The number of chunks after which the device fails, for tests of that.
    #[doc(hidden)]
    pub fail_after: Option<u64>,
    /// Whether to wait after every stage, to measure its time.
    #[doc(hidden)]
    pub timed: bool,
    /// The sorting algorithm of [`Method::Mars`].
    #[doc(hidden)]
    pub sort: PairSort,
}

impl Default for GpuOptions {
    fn default() -> Self {
        GpuOptions {
            device: 0,
            method: Method::default(),
            dictionary: None,
            unknown_one: false,
            memory_bytes: None,
            host: false,
            hash_mask: u64::MAX,
            fail_after: None,
            timed: false,
            sort: PairSort::default(),
        }
    }
}

impl GpuOptions {
    tokapi_storage::setters! {
        device: u32, method: Method, dictionary: impl Into<Option<Arc<Dictionary>>>,
        unknown_one: bool, memory_bytes: impl Into<Option<u64>>, #[doc(hidden)] host: bool,
        #[doc(hidden)] hash_mask: u64, #[doc(hidden)] fail_after: impl Into<Option<u64>>,
        #[doc(hidden)] timed: bool, #[doc(hidden)] sort: PairSort,
    }

    /// Refuses contradictory options.
    ///
    /// # Errors
    /// Method `ppd` without a dictionary.
    pub fn check(&self) -> Result<()> {
        if self.method == Method::Ppd && self.dictionary.is_none() {
            return Err(Error::Usage(
                "the method ppd needs a dictionary: build one by `tokapi dictionary build`, and \
                 name it with --dictionary"
                    .into(),
            ));
        }
        Ok(())
    }
}

/// The error of a program that was built without its engine for GPUs.
#[cfg(not(feature = "cuda"))]
pub fn without_cuda() -> Error {
    Error::NoDevice(
        "this program was built without its GPU engine: use the CPU, or build with `cargo build --release --features \
         cuda` (crates/kernels/fetch-nvcc fetches the compiler)"
            .into(),
    )
}
