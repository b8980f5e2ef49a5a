//! The statistics of a collection that weights depend on, beside df.

/// The statistics of a collection that weights depend on, beside df.
///
/// ```
/// # use tokapi_weigh::formula::Statistics;
/// let statistics = Statistics { documents: 2, total_length: 8 };
/// assert_eq!(statistics.average_length(), 4.0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statistics {
    /// N, the number of documents.
    pub documents: u64,
    /// The total length of all documents.
    pub total_length: u64,
}

impl Statistics {
    /// avdl, the average length of a document.
    pub fn average_length(&self) -> f64 {
        // Exact up to 2^53 terms.
        self.total_length as f64 / self.documents as f64
    }
}
