//! Tokapi: BM25 weights of whole collections, exact, fast and in parallel.

pub mod analyze;
pub mod collection;
mod compress;
pub mod corpus;
mod error;
pub mod generate;
pub mod invert;
pub mod lexicon;
pub mod output;
pub mod postings;
mod strings;
pub mod weigh;

pub use collection::{BuildOptions, Collection};
pub use compress::Compression;
pub use corpus::{Corpus, CorpusOptions};
pub use error::{Error, Place, Position, Result};
pub use strings::Strings;
pub use weigh::Bm25;
