//! The inputs of a device: text, the way it is cut, and the way it is weighed.

use crate::{Algorithm, boundary};

/// How terms become integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u32)]
pub enum Method {
    /// A hash table on the device; terms are compared as strings there.
    #[default]
    Hash = 0,
    /// Data-parallel primitives: occurrences sorted as strings.
    Pp = 1,
    /// Primitives with a dictionary: a succinct trie gives the integers.
    Ppd = 2,
    /// MapReduce as Mars does it, for comparison: documents mapped to pairs, pairs sorted as strings.
    Mars = 3,
}

/// Which characters belong to terms. The space does not.
#[derive(Debug, Clone)]
pub struct Classes {
    /// Bit b: whether the ASCII character b does.
    pub ascii: [u32; 4],
    /// Bit c: whether the character c does, for all of Unicode, 0x110000 bits; where `None`, all
    /// beyond ASCII do.
    pub beyond_ascii: Option<Vec<u32>>,
    /// Whether ASCII letters are lower-cased.
    pub fold: bool,
}

/// The arrays of a dictionary: those of `tokapi_weigh::dictionary::Arrays`, where they are described.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs, reason = "described there")]
pub struct TrieArrays<'a> {
    pub nodes: &'a [u64],
    pub labels: &'a [u64],
    pub leaves: &'a [u64],
    pub tails: &'a [u8],
    pub shortcuts: &'a [u32],
    pub codes: &'a [u8],
    pub terms: u64,
    pub node_count: u64,
    pub shortcut_depth: u64,
    pub alphabet_size: u64,
}

/// A dictionary whose arrays can be walked.
#[derive(Debug, Clone, Copy)]
pub struct Trie<'a>(TrieArrays<'a>);

impl<'a> Trie<'a> {
    /// Takes the arrays as they are.
    ///
    /// # Safety
    /// They come from `tokapi_weigh::dictionary::Dictionary`, which has checked them: a walk through other
    /// arrays may leave them.
    pub unsafe fn new(arrays: TrieArrays<'a>) -> Self {
        Trie(arrays)
    }

    pub(crate) fn raw(&self) -> boundary::Trie {
        let Trie(arrays) = self;
        boundary::Trie {
            nodes: arrays.nodes.as_ptr(),
            labels: arrays.labels.as_ptr(),
            leaves: arrays.leaves.as_ptr(),
            tails: arrays.tails.as_ptr(),
            shortcuts: arrays.shortcuts.as_ptr(),
            codes: arrays.codes.as_ptr(),
            node_words: arrays.nodes.len() as u64,
            label_words: arrays.labels.len() as u64,
            leaf_words: arrays.leaves.len() as u64,
            tail_bytes: arrays.tails.len() as u64,
            shortcut_count: arrays.shortcuts.len() as u64,
            code_count: arrays.codes.len() as u64,
            terms: arrays.terms,
            node_count: arrays.node_count,
            shortcut_depth: arrays.shortcut_depth,
            alphabet_size: arrays.alphabet_size,
        }
    }
}

/// How an [`Inverter`](crate::Inverter) works.
#[derive(Debug, Clone)]
pub struct Options {
    /// The device, counted from 0.
    pub device: u32,
    /// The method.
    pub method: Method,
    /// Whether terms outside of the dictionary count as one, which is spelled as no bytes at all.
    pub unknown_one: bool,
    /// How text is cut.
    pub classes: Classes,
    /// Bits in which hashes may differ: all, but in tests.
    pub hash_mask: u64,
    /// Chunks after which the device is lost, for tests.
    pub fail_after: Option<u64>,
    /// Whether to wait after every stage, so that its time can be told.
    pub timed: bool,
    /// How [`Method::Mars`] sorts.
    pub sort: Algorithm,
}

/// Text with its documents. Document d begins at `starts[d]`; what stands between documents
/// belongs to no term.
#[derive(Clone, Copy)]
pub struct Text<'a> {
    bytes: &'a [u8],
    starts: &'a [u64],
}

impl<'a> Text<'a> {
    /// `bytes` are valid UTF-8 in every document; others may give wrong postings, nothing worse.
    ///
    /// # Panics
    /// When `starts` do not ascend or lie beyond the text.
    pub fn new(bytes: &'a [u8], starts: &'a [u64]) -> Self {
        assert!(starts.is_sorted(), "documents ascend");
        assert!(
            last(starts) <= bytes.len() as u64,
            "documents lie within the text"
        );
        Text { bytes, starts }
    }

    /// The number of documents.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }
}

impl Text<'_> {
    pub(crate) fn raw(&self) -> boundary::Text {
        boundary::Text {
            bytes: self.bytes.as_ptr(),
            length: self.bytes.len() as u64,
            starts: self.starts.as_ptr(),
            documents: self.starts.len() as u64,
        }
    }
}

/// What a formula makes of tf; the names are those of its variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum TfPart {
    /// tf / (tf + k1 L).
    Saturated = 0,
    /// (k1 + 1) tf / (k1 L + tf).
    Scaled = 1,
    /// (k1 + 1) (c + delta) / (k1 + c + delta), c = tf / L.
    Bm25L = 2,
    /// The second plus delta.
    Bm25Plus = 3,
    /// tf.
    Plain = 4,
}

/// A formula with its parameters.
#[derive(Debug, Clone)]
pub struct Formula<'a> {
    /// The part of the formula that depends on tf.
    pub tf_part: TfPart,
    /// Saturation.
    pub k1: f64,
    /// How much the length counts.
    pub b: f64,
    /// The lower bound.
    pub delta: f64,
    /// The average length.
    pub avdl: f64,
    /// The idf for every one of [`Collected::df_values`](crate::Collected::df_values), or of every list
    /// of [`DeviceLists`](crate::DeviceLists).
    pub idf: &'a [f64],
}

impl Formula<'_> {
    pub(crate) fn raw(&self) -> boundary::Formula {
        boundary::Formula {
            tf_part: self.tf_part as u32,
            k1: self.k1,
            b: self.b,
            delta: self.delta,
            avdl: self.avdl,
            idf: self.idf.as_ptr(),
        }
    }
}

pub(crate) fn last(offsets: &[u64]) -> u64 {
    offsets.last().copied().unwrap_or(0)
}
