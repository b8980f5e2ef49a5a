//! Answers that are kept, bounded by their bytes. Equal searches at the same time are computed once.

use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::problem::Problem;

/// The bytes of an entry beside its key and its answer.
const ENTRY_BYTES: usize = 128;

/// The assumed size of an answer, to size the table.
const USUAL_BYTES: u64 = 4096;

#[derive(Clone)]
struct ByBytes;

impl Weighter<Vec<u8>, Bytes> for ByBytes {
    fn weight(&self, key: &Vec<u8>, answer: &Bytes) -> u64 {
        (key.len() + answer.len() + ENTRY_BYTES) as u64
    }
}

/// The answers to searches, by the bytes that name them.
pub struct AnswerCache {
    answers: Cache<Vec<u8>, Bytes, ByBytes>,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// The use of a cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheUse {
    /// Answers found.
    pub hits: u64,
    /// Answers computed.
    pub misses: u64,
    /// Answers kept.
    pub answers: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl AnswerCache {
    /// A cache of at most `bytes` bytes.
    pub fn new(bytes: u64) -> Self {
        let answers = usize::try_from(bytes / USUAL_BYTES).unwrap_or(usize::MAX);
        AnswerCache {
            answers: Cache::with_weighter(answers.max(64), bytes, ByBytes),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    /// The answer of a key; computes it unless it is there or another request computes it.
    ///
    /// # Errors
    /// Those of `compute`, which are not kept.
    pub async fn get(
        &self,
        key: &Vec<u8>,
        compute: impl Future<Output = Result<Bytes, Problem>>,
    ) -> Result<Bytes, Problem> {
        let guard = match self.answers.get_value_or_guard_async(key).await {
            Ok(answer) => {
                self.hits.fetch_add(1, Ordering::Relaxed);
                return Ok(answer);
            }
            Err(guard) => guard,
        };
        self.misses.fetch_add(1, Ordering::Relaxed);
        let answer = compute.await?;
        // It fails if the answer is too large to be kept.
        let _ = guard.insert(answer.clone());
        Ok(answer)
    }

    /// Its use so far.
    pub fn used(&self) -> CacheUse {
        CacheUse {
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            answers: self.answers.len() as u64,
            bytes: self.answers.weight(),
        }
    }
}
