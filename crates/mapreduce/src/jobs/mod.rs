//! Jobs, one a file: the examples of the framework, and the jobs of `tokapi mapreduce`.

mod average_length;
mod between;
mod bm25;
mod cooccurrence;
mod counts;
mod duplicates;
mod frequencies;
mod inverted_index;
mod names;
mod pagerank;
mod rows;
mod sort;
mod standard;
mod store;
mod table;
mod tsv;
mod two_pass;
mod weighed;
mod wordcount;

pub use average_length::{AverageLength, Lengths};
pub use between::{local_files, open_global, write_local};
pub use bm25::WeighOnePass;
pub use cooccurrence::Cooccurrence;
pub use duplicates::{Duplicate, Duplicates};
pub use inverted_index::InvertedIndex;
pub use pagerank::{PageRank, Ranks};
pub use sort::SortLines;
pub use standard::{JobInput, StandardJob};
pub use table::DocumentNotes;
pub use two_pass::{DocumentFrequencies, DocumentFrequency, GlobalPass, LocalPass, LocalPosting};
pub use weighed::Weighed;
pub use wordcount::WordCount;

use super::Registry;

/// All jobs of this folder, for workers.
pub fn registry() -> Registry {
    Registry::default()
        .text::<AverageLength>()
        .text::<Cooccurrence>()
        .text::<DocumentFrequencies>()
        .text::<GlobalPass>()
        .text::<InvertedIndex>()
        .text::<LocalPass>()
        .text::<SortLines>()
        .text::<WeighOnePass>()
        .text::<WordCount>()
        .list::<duplicates::Distinct>()
        .list::<duplicates::Identical>()
        .list::<duplicates::Near>()
        .list::<pagerank::BlockIteration>()
        .list::<pagerank::Iteration>()
        .list::<pagerank::Links>()
}
