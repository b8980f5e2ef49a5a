//! Tokapi.

pub mod analyze {
    pub use tokapi_text::analyze::*;
}
pub mod collection {
    pub use tokapi_weigh::collection::*;
    pub use tokapi_weigh::formula::Statistics;
}
pub mod cooperate {
    pub use tokapi_device::cooperate::*;
}
pub mod corpus {
    pub use tokapi_text::corpus::*;
}
pub mod dictionary {
    pub use tokapi_weigh::dictionary::*;
}
pub mod eval {
    pub use tokapi_index::eval::*;
}
pub mod generate {
    pub use tokapi_text::generate::*;
}
#[cfg(feature = "kernels")]
pub mod gpu {
    pub use tokapi_device::gpu::*;
    pub use tokapi_weigh::gpu::*;
}
pub mod index {
    pub use tokapi_index::*;
}
pub mod invert {
    pub use tokapi_weigh::invert::*;
}
pub mod lexicon {
    pub use tokapi_weigh::lexicon::*;
}
pub mod mapreduce {
    pub use tokapi_mapreduce::*;
}
pub mod output {
    pub use tokapi_storage::whole::{Staged, StagedFolder, remove_unfinished};
    pub use tokapi_weigh::collection::Written;
    pub use tokapi_weigh::output::*;
}
pub mod postings {
    pub use tokapi_weigh::postings::*;
}
pub mod query {
    pub use tokapi_index::query::*;
}
pub mod scratch {
    pub use tokapi_storage::scratch::*;
}
pub mod sort {
    pub use tokapi_sort::*;
}
pub mod tune {
    pub use tokapi_storage::tune::*;
}
pub mod weigh {
    pub use tokapi_weigh::formula::*;
}

pub use tokapi_index::Index;
pub use tokapi_storage::apart::Paths;
pub use tokapi_storage::compress::Compression;
pub use tokapi_storage::error::{Error, Kept, Place, Position, Result};
#[doc(hidden)]
pub use tokapi_storage::guard::catches_panic;
pub use tokapi_storage::memory::Memory;
pub use tokapi_storage::pipeline::StageTimes;
pub use tokapi_storage::progress::{Progress, Snapshot, Stage};
pub use tokapi_storage::strings::Strings;
pub use tokapi_text::corpus::{Corpus, CorpusOptions};
pub use tokapi_weigh::collection::{BuildOptions, Collection};
pub use tokapi_weigh::dictionary::Dictionary;
pub use tokapi_weigh::formula::Bm25;
