//! Synthetic collections of any size, as used in the literature on inversion on GPUs: document lengths are log-normal,
//! and terms are drawn independently from the vocabulary of the web.
//!
//! The input is a set of options, the output a collection in any [`Format`]. The same options give the same bytes with
//! any number of threads, because a document depends on the seed and its number alone.
//!
//! In `.terms`, the built-in vocabulary gives collections like the published ones (sizes in units of 10^6 bytes):
//!
//! | size | words | documents | distinct (term, document) | distinct terms |
//! |---|---|---|---|---|
//! | 100 MB | 17,881,505 | 24,411 | 11,029,756 | 447,663 |
//! | 200 MB | 35,767,202 | 48,725 | 22,074,419 | 687,255 |
//! | 300 MB | 53,651,412 | 73,163 | 33,119,396 | 882,477 |
//! | 400 MB | 71,532,437 | 97,683 | 44,123,823 | 1,051,534 |
//! | 500 MB | 89,409,102 | 122,178 | 55,165,752 | 1,203,716 |

mod block;
mod destination;
mod format;
mod law;
mod pipeline;
mod random;
mod sampler;
mod sink;
mod vocabulary;
mod words;

pub use destination::{to_path, to_stream};
pub use format::of_name;
pub use vocabulary::{RANKS, Vocabulary};

use crate::corpus::Format;
use tokapi_storage::compress::Compression;

/// Parameters of the log-normal document length, in words: 739 on average by default.
const LENGTH_MU: f64 = 6.0;
const LENGTH_SIGMA: f64 = 1.1;

/// The extent of a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// After the document that reaches this many bytes of uncompressed output (in Parquet: of ids and contents).
    Bytes(u64),
    /// After this many documents.
    Documents(u64),
}

impl Extent {
    fn reached(self, total: &Summary) -> bool {
        match self {
            Self::Bytes(bytes) => total.bytes >= bytes,
            Self::Documents(documents) => total.documents >= documents,
        }
    }
}

/// The options of a generated collection.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// The extent of the collection.
    pub extent: Extent,
    /// The seed. Other seeds give other documents of the same kind.
    pub seed: u64,
    /// The average number of words per document; 739 by default.
    pub words: Option<f64>,
    /// The terms.
    pub vocabulary: Vocabulary,
    /// The format.
    pub format: Format,
    /// The compression; only [`Compression::None`] for [`Format::Text`], and for [`Format::Parquet`], which
    /// compresses its pages itself.
    pub compression: Compression,
    /// The number of threads; 0 counts as 1. The result does not depend on it.
    pub threads: usize,
}

impl Options {
    /// A collection of the built-in vocabulary, of one thread.
    pub fn new(extent: Extent, format: Format) -> Self {
        Options {
            extent,
            seed: 1,
            words: None,
            vocabulary: Vocabulary::default(),
            format,
            compression: Compression::None,
            threads: 1,
        }
    }

    tokapi_storage::setters! {
        seed: u64, words: impl Into<Option<f64>>, vocabulary: Vocabulary, compression: Compression,
        threads: usize,
    }
}

/// The size of a generated collection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    /// Documents.
    pub documents: u64,
    /// Words, repetitions included.
    pub words: u64,
    /// Bytes of uncompressed output, counted as for [`Extent::Bytes`].
    pub bytes: u64,
}

impl Summary {
    fn of(block: &block::Block) -> Self {
        let mut summary = Self::default();
        for document in &block.documents {
            summary.documents += 1;
            summary.words += document.words;
            summary.bytes += document.bytes;
        }
        summary
    }

    fn add(&mut self, other: &Self) {
        self.documents += other.documents;
        self.words += other.words;
        self.bytes += other.bytes;
    }
}

#[cfg(test)]
mod tests;
