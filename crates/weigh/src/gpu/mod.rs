//! The GPU engine: its options, and its devices.
//!
//! The kernels (crate `tokapi-kernels`) have two builds: one for GPUs, and one for the host, which is slow and meant
//! for tests. [`Gpu`](crate::invert::Gpu) inverts chunk after chunk, like every engine. [`Resident`] keeps a whole
//! collection on the device, from its text to its weights. [`Sorter`] sorts integers.

mod lanes;
mod resident;

pub use lanes::Lanes;
pub use resident::{Resident, ResidentWeights};
pub use tokapi_kernels::{
    Algorithm, Bandwidth, Build, Device, MOST_RANKED, Method, Pair, Pinned, Record, Scheme,
    SortTimes, Sorter, SorterOptions, Text, Times,
};

use std::sync::Arc;

use tokapi_kernels::{Classes, Options, TfPart, Trie, TrieArrays};

use crate::dictionary::Dictionary;
use crate::formula::Statistics;
use crate::formula::{Bm25, Formula};
use tokapi_storage::error::{Error, Result};
use tokapi_text::analyze::Analyzer;

/// The treatment of terms that are not in the dictionary of [`Method::Ppd`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unknown {
    /// They are distinct terms like all others.
    #[default]
    Exact,
    /// They count as one term with an empty spelling.
    One,
}

/// The options of a device.
#[derive(Clone)]
pub struct GpuOptions {
    /// The build of the kernels.
    pub build: Build,
    /// The device, counted from 0.
    pub device: u32,
    /// The method that maps terms to integers.
    pub method: Method,
    /// The dictionary of [`Method::Ppd`].
    pub dictionary: Option<Arc<Dictionary>>,
    /// The treatment of terms that are not in the dictionary.
    pub unknown: Unknown,
    /// The most device memory to use; all free memory if `None`.
    pub memory_bytes: Option<u64>,
    /// The bits in which hashes may differ, for tests of collisions.
    #[doc(hidden)]
    pub hash_mask: u64,
    /// The number of chunks after which the device fails, for tests of that.
    #[doc(hidden)]
    pub fail_after: Option<u64>,
    /// Whether to wait after every stage, to measure its time.
    pub timed: bool,
    /// The sorting algorithm of [`Method::Mars`].
    pub sort: Algorithm,
}

impl GpuOptions {
    /// The first device, method `hash`.
    pub fn new(build: Build) -> Self {
        GpuOptions {
            build,
            device: 0,
            method: Method::default(),
            dictionary: None,
            unknown: Unknown::default(),
            memory_bytes: None,
            hash_mask: u64::MAX,
            fail_after: None,
            timed: false,
            sort: Algorithm::default(),
        }
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

    /// An inverter on the device, which cuts terms like `analyzer`.
    fn inverter(&self, analyzer: &Analyzer) -> Result<tokapi_kernels::Inverter> {
        self.check()?;
        let options = Options {
            device: self.device,
            method: self.method,
            unknown_one: self.unknown == Unknown::One,
            classes: classes(analyzer),
            hash_mask: self.hash_mask,
            fail_after: self.fail_after,
            timed: self.timed,
            sort: self.sort,
        };
        let trie = self.dictionary.as_deref().map(trie);
        Ok(tokapi_kernels::Inverter::new(
            self.build,
            &options,
            trie.as_ref(),
        )?)
    }
}

/// The arrays of a dictionary in the form for the device.
fn trie(dictionary: &Dictionary) -> Trie<'_> {
    let arrays = dictionary.arrays();
    let arrays = TrieArrays {
        nodes: arrays.nodes,
        labels: arrays.labels,
        leaves: arrays.leaves,
        tails: arrays.tails,
        shortcuts: arrays.shortcuts,
        codes: arrays.codes,
        terms: dictionary.len(),
        node_count: arrays.node_count,
        shortcut_depth: arrays.shortcut_depth,
        alphabet_size: arrays.alphabet_size,
    };
    // SAFETY: they are a dictionary's, checked when it was built or opened.
    unsafe { Trie::new(arrays) }
}

/// A formula in the form for the device.
pub fn formula<'a>(
    bm25: &Bm25,
    statistics: &Statistics,
    idf: &'a [f64],
) -> tokapi_kernels::Formula<'a> {
    let (tf_part, delta) = match bm25.formula {
        Formula::Lucene => (TfPart::Saturated, 0.0),
        Formula::Robertson | Formula::Smoothed | Formula::Atire => (TfPart::Scaled, 0.0),
        Formula::Bm25L => (TfPart::Bm25L, bm25.delta_of_bm25l()),
        Formula::Bm25Plus => (TfPart::Bm25Plus, bm25.delta_of_bm25plus()),
        Formula::TfIdf => (TfPart::Plain, 0.0),
    };
    tokapi_kernels::Formula {
        tf_part,
        k1: bm25.k1,
        b: bm25.b,
        delta,
        avdl: bm25.average_length(statistics),
        idf,
    }
}

/// The character classes of `analyzer`, by which it cuts.
fn classes(analyzer: &Analyzer) -> Classes {
    let mut ascii = [0; 4];
    for byte in 0..128u8 {
        let bit = u32::from(analyzer.is_term_char(char::from(byte)));
        ascii[usize::from(byte / 32)] |= bit << (byte % 32);
    }
    let beyond_ascii = (!analyzer.keeps_all_beyond_ascii()).then(|| {
        let mut bits = vec![0; 0x110000 / 32];
        for char in ('\u{80}'..=char::MAX).filter(|&char| analyzer.is_term_char(char)) {
            bits[char as usize / 32] |= 1 << (char as u32 % 32);
        }
        bits
    });
    Classes {
        ascii,
        beyond_ascii,
        fold: analyzer.folds_ascii(),
    }
}
