//! Tokapi: the BM25 weight of every term in every document of a collection, exact, fast and in
//! parallel.
//!
//! Read a corpus, invert it, weigh it:
//!
//! ```
//! use tokapi::{Bm25, BuildOptions, Collection, Corpus, CorpusOptions, analyze::Analyzer};
//!
//! # fn main() -> tokapi::Result<()> {
//! # let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../data/cranfield/docs.jsonl.zst");
//! let corpus = Corpus::open(&[docs], CorpusOptions::default())?;
//! let collection = Collection::build(corpus, &Analyzer::default(), &BuildOptions::default())?;
//! let weights = collection.weigh(&Bm25::default())?;
//!
//! let heaviest = weights.iter().max_by(|a, b| a.3.total_cmp(&b.3)).unwrap();
//! assert_eq!(heaviest.0, b"aerothermoelastic");
//! # Ok(())
//! # }
//! ```
//!
//! or write it to a file that other tools open:
//!
//! ```
//! use tokapi::output::{Output, Target};
//! # use tokapi::{Bm25, BuildOptions, Collection, Corpus, CorpusOptions, analyze::Analyzer};
//!
//! # fn main() -> tokapi::Result<()> {
//! # let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../data/cranfield/docs.jsonl.zst");
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("weights.parquet");
//! # let corpus = Corpus::open(&[docs], CorpusOptions::default())?;
//! # let collection = Collection::build(corpus, &Analyzer::default(), &BuildOptions::default())?;
//! let output = Output { path, target: Target::Parquet, tables: false, order: Default::default(), };
//! output.write(collection, &Bm25 { k1: 0.9, b: 0.4, ..Bm25::default() })?;
//! # Ok(())
//! # }
//! ```
//!
//! Modules follow the path of the data: [`corpus`] reads documents into chunks, [`analyze`] cuts
//! them into terms, [`invert`] gives a chunk's [`postings`], [`lexicon`] puts the terms of all
//! chunks together, [`collection`] runs the passes, [`weigh`] has the formulas, [`output`] writes.
//! [`index`] keeps postings on disk, and [`query`] finds the best documents in them.
//! [`dictionary`] is a lexicon as a succinct trie, in a file that is mapped. [`sort`] sorts files of
//! numbers. [`mapreduce`] runs jobs of map and reduce. [`generate`] makes synthetic collections. [`tune`] finds the size of chunks. The library
//! never prints and never exits; errors say what is wrong, where, and what to do.

pub mod analyze;
mod apart;
mod bits;
pub mod collection;
mod compress;
pub mod cooperate;
pub mod corpus;
pub mod dictionary;
mod error;
pub mod eval;
mod external;
pub mod generate;
#[cfg(feature = "kernels")]
pub mod gpu;
pub mod index;
pub mod invert;
pub mod lexicon;
pub mod mapreduce;
mod memory;
pub mod output;
mod paths;
mod pipeline;
pub mod postings;
mod prefetch;
pub mod query;
mod ranks;
mod run;
pub mod scratch;
pub mod sort;
mod strings;
pub mod tune;
mod varint;
pub mod weigh;
mod wide;

pub use apart::Paths;
pub use collection::{BuildOptions, Collection};
pub use compress::Compression;
pub use corpus::{Corpus, CorpusOptions};
pub use dictionary::Dictionary;
pub use error::{Error, Place, Position, Result};
pub use index::Index;
pub use memory::Memory;
pub use pipeline::StageTimes;
pub use strings::Strings;
pub use weigh::Bm25;
