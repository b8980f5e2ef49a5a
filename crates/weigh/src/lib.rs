//! From documents to BM25 weights: postings, lexicon, formulas, collections in memory and on scratch, outputs.

pub mod collection;
pub mod dictionary;
pub mod formula;
pub mod gpu;
pub mod invert;
pub mod lexicon;
mod limit;
pub mod output;
pub mod postings;

#[cfg(test)]
mod scratch_tests;
