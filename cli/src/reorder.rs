//! The orders of documents that `--reorder` names.

use clap::ValueEnum;
use tokapi::Reorder;

/// An order of documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Which {
    /// Documents that share terms next to each other, by recursive graph bisection
    Graph,
    /// By the bytes of the ids: good for URLs
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
