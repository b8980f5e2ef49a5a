//! The figures of documents that an index was made of.

use tokapi_storage::pipeline::StageTimes;
use tokapi_text::corpus::Skipped;
use tokapi_weigh::collection::Stored;
use tokapi_weigh::formula::Statistics;

/// The documents that have been read for an index, and where the time went.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Built {
    /// The number of documents and their total length.
    pub statistics: Statistics,
    /// Distinct (term, document) pairs.
    pub postings: u64,
    /// The bytes of text that were read, decompressed.
    pub bytes: u64,
    /// The documents that were left out.
    pub skipped: Skipped,
    /// Why the CPU took over from a GPU, if it did.
    pub fallback: Option<String>,
    /// The time of reading and inverting.
    pub read: StageTimes,
    /// The time of coding and writing lists.
    pub written: StageTimes,
}

impl Built {
    /// The figures of `stored`, which is not written yet.
    pub(crate) fn of(stored: &Stored) -> Self {
        Built {
            statistics: stored.statistics(),
            postings: stored.postings_count(),
            bytes: stored.bytes(),
            skipped: stored.skipped().clone(),
            fallback: stored.fallback().map(str::to_owned),
            read: stored.local_times(),
            written: StageTimes::default(),
        }
    }
}
