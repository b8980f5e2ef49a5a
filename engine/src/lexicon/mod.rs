//! Terms to integers and back: within a chunk ([`interner`]), and over the collection ([`merge`]).

pub(crate) mod interner;
mod merge;

pub use merge::Lexicon;
pub(crate) use merge::PartTerms;
