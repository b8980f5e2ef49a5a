//! The option that puts the documents of an index in another order.

use clap::ValueEnum;
use tokapi::index::Reorder;

/// An order of documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Which {
    /// Documents that share terms are neighbours, by recursive graph bisection
    Graph,
    /// By id, as bytes: for URLs
    Id,
}

impl From<Which> for Reorder {
    fn from(which: Which) -> Self {
        match which {
            Which::Graph => Reorder::Graph,
            Which::Id => Reorder::Id,
        }
    }
}
