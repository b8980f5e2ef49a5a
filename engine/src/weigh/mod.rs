//! From postings and statistics to weights.

mod formula;
mod prune;

pub(crate) use formula::UsePart;
pub use formula::{Bm25, Formula};
pub use prune::Prune;
pub(crate) use prune::by_document;
