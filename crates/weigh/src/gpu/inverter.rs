//! The options of a device in the form of the kernels.

use tokapi_kernels::{Algorithm, Build, Classes, Inverter, Options, TfPart, Trie, TrieArrays};

use super::{GpuOptions, Method, PairSort};
use crate::dictionary::Dictionary;
use crate::formula::{Bm25, Formula, Statistics};
use tokapi_storage::error::Result;
use tokapi_text::analyze::Analyzer;

impl GpuOptions {
    /// The build of the kernels.
    pub(super) fn build(&self) -> Result<Build> {
        match self.host {
            true => Ok(Build::Host),
            #[cfg(feature = "cuda")]
            false => Ok(Build::Cuda),
            #[cfg(not(feature = "cuda"))]
            false => Err(super::without_cuda()),
        }
    }

    /// An inverter on the device, which cuts terms like `analyzer`.
    pub(super) fn inverter(&self, analyzer: &Analyzer) -> Result<Inverter> {
        self.check()?;
        let options = Options {
            device: self.device,
            method: self.method.into(),
            unknown_one: self.unknown_one,
            classes: classes(analyzer),
            hash_mask: self.hash_mask,
            fail_after: self.fail_after,
            timed: self.timed,
            sort: self.sort.into(),
        };
        let trie = self.dictionary.as_deref().map(trie);
        Ok(Inverter::new(self.build()?, &options, trie.as_ref())?)
    }
}

impl From<Method> for tokapi_kernels::Method {
    fn from(method: Method) -> Self {
        match method {
            Method::Hash => Self::Hash,
            Method::Pp => Self::Pp,
            Method::Ppd => Self::Ppd,
            Method::Mars => Self::Mars,
        }
    }
}

impl From<PairSort> for Algorithm {
    fn from(sort: PairSort) -> Self {
        match sort {
            PairSort::Radix => Self::Radix,
            PairSort::Merge => Self::Merge,
            PairSort::Bitonic => Self::Bitonic,
        }
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
