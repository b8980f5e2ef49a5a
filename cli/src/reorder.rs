//! The orders of documents that `--reorder` names.

use clap::ValueEnum;
use tokapi::Memory;
use tokapi::index::{Reorder, ReorderProgress, Reordering};

/// An order of documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Which {
    /// Documents that share terms next to each other, by recursive graph bisection
    Graph,
    /// By the bytes of the ids: good for URLs
    Id,
}

impl Which {
    /// The same for the library.
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
