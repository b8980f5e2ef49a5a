//! The option that puts the documents of an index in another order.

use clap::ValueEnum;
use tokapi::Memory;
use tokapi::index::{Reorder, ReorderProgress, Reordering};

/// An order of documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Which {
    /// Documents that share terms are neighbours, by recursive graph bisection
    Graph,
    /// By id, as bytes: for URLs
    Id,
}

impl Which {
    /// As the library has it.
    pub fn reordering(
        self,
        memory: Memory,
        threads: usize,
        progress: &ReorderProgress,
    ) -> Reordering<'_> {
        Reordering {
            by: match self {
                Which::Graph => Reorder::Graph,
                Which::Id => Reorder::Id,
            },
            memory,
            threads,
            progress,
        }
    }
}
