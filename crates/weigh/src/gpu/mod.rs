//! The GPU engine: what it is asked for, and the devices it runs on.
//!
//! The kernels (crate `tokapi-kernels`) have two builds: for GPUs, and for the host, which is slow
//! and there for tests. [`Gpu`](crate::invert::Gpu) inverts chunk after chunk, as every engine
//! does; [`Resident`] keeps a whole collection on the device, from its text to its weights.
//! [`Sorter`] sorts integers.

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

/// What becomes of terms that the dictionary of [`Method::Ppd`] does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unknown {
    /// They are told apart as any others.
    #[default]
    Exact,
    /// They count as one term, spelled as no bytes at all.
    One,
}

/// Which device, and how it works.
#[derive(Clone)]
pub struct GpuOptions {
    /// The build of the kernels.
    pub build: Build,
    /// The device, counted from 0.
    pub device: u32,
    /// How terms become integers.
    pub method: Method,
    /// The dictionary of [`Method::Ppd`].
    pub dictionary: Option<Arc<Dictionary>>,
    /// What becomes of terms outside of it.
    pub unknown: Unknown,
    /// Device memory to use at most; what is free where `None`.
    pub memory_bytes: Option<u64>,
    /// Bits in which hashes may differ, for tests of collisions.
    #[doc(hidden)]
    pub hash_mask: u64,
    /// Chunks after which the device is lost, for tests of that.
    #[doc(hidden)]
    pub fail_after: Option<u64>,
    /// Whether to wait after every stage, to tell its time.
    pub timed: bool,
    /// How [`Method::Mars`] sorts.
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

    /// Refuses what does not go together.
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

    /// An engine on the device, which cuts as `analyzer` does.
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

/// A dictionary's arrays, on their way to the device.
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

/// A formula, on its way to the device.
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

/// The classes of characters by which `analyzer` cuts.
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
