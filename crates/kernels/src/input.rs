//! The inputs of a device: text, the options of tokenization, and the formula.

use crate::{Algorithm, boundary};

/// The method that maps terms to integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u32)]
pub enum Method {
    /// A hash table on the device compares terms as strings.
    #[default]
    Hash,
    /// Data-parallel primitives sort occurrences as strings.
    Pp,
    /// Data-parallel primitives with a dictionary: a succinct trie maps terms to integers.
    Ppd,
    /// MapReduce in the way of Mars, for comparison: documents are mapped to pairs, and pairs are
    /// sorted as strings.
    Mars,
}

/// The characters that belong to terms. The space does not.
#[derive(Debug, Clone)]
pub struct Classes {
    /// Bit b is set if the ASCII character b belongs to terms.
    pub ascii: [u32; 4],
    /// Bit c is set if the Unicode character c does: 0x110000 bits. With `None`, all characters
    /// beyond ASCII belong to terms.
    pub beyond_ascii: Option<Vec<u32>>,
    /// Whether ASCII letters are converted to lower case.
    pub fold: bool,
}

/// The arrays of a dictionary, as `tokapi_weigh::dictionary::Arrays` describes them.
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

/// A dictionary whose arrays are safe to walk.
#[derive(Debug, Clone, Copy)]
pub struct Trie<'a>(TrieArrays<'a>);

impl<'a> Trie<'a> {
    /// Wraps the arrays without a check.
    ///
    /// # Safety
    /// They come from `tokapi_weigh::dictionary::Dictionary`, which has checked them. A walk through
    /// other arrays may read out of bounds.
    pub unsafe fn new(arrays: TrieArrays<'a>) -> Self {
        Trie(arrays)
    }

    pub(crate) fn raw(&self) -> boundary::Trie {
        let Trie(arrays) = self;
        boundary::Trie {
            arrays: boundary::Dictionary {
                nodes: arrays.nodes.as_ptr(),
                labels: arrays.labels.as_ptr(),
                leaves: arrays.leaves.as_ptr(),
                tails: arrays.tails.as_ptr(),
                shortcuts: arrays.shortcuts.as_ptr(),
                codes: arrays.codes.as_ptr(),
                node_count: arrays.node_count,
                shortcut_depth: arrays.shortcut_depth,
                alphabet_size: arrays.alphabet_size,
            },
            node_words: arrays.nodes.len() as u64,
            label_words: arrays.labels.len() as u64,
            leaf_words: arrays.leaves.len() as u64,
            tail_bytes: arrays.tails.len() as u64,
            shortcut_count: arrays.shortcuts.len() as u64,
            code_count: arrays.codes.len() as u64,
            terms: arrays.terms,
        }
    }
}

/// Options of an [`Inverter`](crate::Inverter).
#[derive(Debug, Clone)]
pub struct Options {
    /// The device, counted from 0.
    pub device: u32,
    /// The method.
    pub method: Method,
    /// Whether terms outside the dictionary count as one term, whose spelling is empty.
    pub unknown_one: bool,
    /// The characters of terms.
    pub classes: Classes,
    /// The bits in which hashes may differ: all, except in tests.
    pub hash_mask: u64,
    /// For tests: chunks after which the device is lost.
    pub fail_after: Option<u64>,
    /// Whether to wait after every stage, so that stages can be timed.
    pub timed: bool,
    /// The sort algorithm of [`Method::Mars`].
    pub sort: Algorithm,
}

/// Text with its documents. Document d begins at `starts[d]`; bytes outside documents belong to no
/// term.
#[derive(Clone, Copy)]
pub struct Text<'a> {
    bytes: &'a [u8],
    starts: &'a [u64],
}

impl<'a> Text<'a> {
    /// `bytes` are valid UTF-8 in every document; otherwise postings may be wrong, with no other
    /// harm.
    ///
    /// # Panics
    /// Panics if `starts` do not ascend or exceed the text.
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

    /// Whether there are no documents.
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

/// The tf part of a formula, by the names of its variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum TfPart {
    /// tf / (tf + k1 L).
    Saturated,
    /// (k1 + 1) tf / (k1 L + tf).
    Scaled,
    /// (k1 + 1) (c + delta) / (k1 + c + delta), with c = tf / L.
    Bm25L,
    /// (k1 + 1) tf / (k1 L + tf) + delta.
    Bm25Plus,
    /// tf.
    Plain,
}

/// A formula with its parameters.
#[derive(Debug, Clone)]
pub struct Formula<'a> {
    /// The part of the formula that depends on tf.
    pub tf_part: TfPart,
    /// Saturation.
    pub k1: f64,
    /// The influence of the length.
    pub b: f64,
    /// The lower bound.
    pub delta: f64,
    /// The average length.
    pub avdl: f64,
    /// The idf for each of [`Collected::df_values`](crate::Collected::df_values), or for each list
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
