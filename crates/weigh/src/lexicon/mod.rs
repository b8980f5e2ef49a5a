//! Maps terms to integers and back: within a chunk (`interner.rs`), and over the collection (`merge.rs`).

pub(crate) mod interner;
mod merge;

pub use merge::Lexicon;
pub(crate) use merge::{Bucket, PartTerms, TermSlice};
