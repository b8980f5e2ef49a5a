//! From postings and statistics to weights.

mod formulas;
mod prune;
mod statistics;

pub use formulas::UsePart;
pub use formulas::{Bm25, Formula};
pub use prune::Prune;
pub(crate) use prune::by_document;
pub use statistics::Statistics;
