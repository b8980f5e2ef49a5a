//! The order of documents in a ranking.

use std::cmp::Ordering;

/// The place of a document in a ranking: a higher score first, and of equal scores the document that was added first.
/// The order is total, and the same whatever parts or shards the documents are in.
///
/// ```
/// # use tokapi_index::query::Rank;
/// let (first, second) = (Rank { score: 2.5, sequence: 0 }, Rank { score: 2.5, sequence: 7 });
/// assert!(first.order(&second).is_lt());
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rank {
    /// The score.
    pub score: f32,
    /// The sequence number of the document.
    pub sequence: u64,
}

impl Rank {
    /// Orders the better place first.
    #[inline]
    pub fn order(&self, other: &Rank) -> Ordering {
        let by_score = other.score.total_cmp(&self.score);
        by_score.then(self.sequence.cmp(&other.sequence))
    }

    /// Whether this place is behind `other`.
    #[inline]
    pub fn is_behind(&self, other: &Rank) -> bool {
        self.order(other).is_gt()
    }
}
