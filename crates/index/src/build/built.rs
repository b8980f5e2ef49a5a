//! The statistics of the documents that an index was built from.

use tokapi_storage::pipeline::StageTimes;
use tokapi_text::corpus::Skipped;
use tokapi_weigh::collection::Stored;
use tokapi_weigh::formula::Statistics;

/// Statistics of the documents read for an index, and the time of each step.
///
/// [`IndexBuilder`](crate::IndexBuilder) has an example.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Built {
    /// The number of documents and their total length.
    pub statistics: Statistics,
    /// Distinct (term, document) pairs.
    pub postings: u64,
    /// The bytes of text read, decompressed.
    pub bytes: u64,
    /// The documents that were left out.
    pub skipped: Skipped,
    /// The reason why the CPU took over from a GPU, if it did.
    pub fallback: Option<String>,
    /// Time to read and invert.
    pub read: StageTimes,
    /// Time to code and write the lists.
    pub written: StageTimes,
}

impl Built {
    /// The statistics of `stored`, which is not written yet.
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
