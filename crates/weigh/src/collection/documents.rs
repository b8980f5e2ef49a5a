//! The documents of a collection: external ids and lengths, by number.

use hashbrown::DefaultHashBuilder;
use rayon::prelude::*;
use std::hash::BuildHasher;

use crate::formula::Bm25;
use crate::formula::Statistics;
use tokapi_storage::error::Result;
use tokapi_storage::progress::Progress;
use tokapi_storage::quicksort;
use tokapi_storage::strings::Strings;

/// Ids and lengths of all documents, in input order.
///
/// [`Collection`](super::Collection) has an example.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Documents {
    /// The external ids.
    pub ids: Strings,
    /// The lengths, in terms.
    pub lengths: Vec<u32>,
    /// Whether no document has an id of its own, so that numbers are the ids.
    pub numbered: bool,
    /// Whether some documents have no id of their own, so that their numbers are their ids.
    pub some_numbered: bool,
}

impl Documents {
    /// No documents, with room for `count` with ids of usual length.
    pub fn with_capacity(count: usize) -> Self {
        const USUAL_ID_BYTES: usize = 8;
        Documents {
            ids: Strings::with_capacity(count, count * USUAL_ID_BYTES),
            lengths: Vec::with_capacity(count),
            numbered: false,
            some_numbered: false,
        }
    }

    /// The number of documents.
    pub fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// Adds document `number`. An empty `id` stands for the number.
    pub fn push(&mut self, number: usize, id: &[u8], length: u32) {
        match id {
            b"" => {
                self.some_numbered = true;
                self.ids.push(itoa::Buffer::new().format(number).as_bytes());
            }
            id => self.ids.push(id),
        }
        self.lengths.push(length);
    }

    /// Every document with the id of an earlier one, paired with the first document of that id, ascending.
    ///
    /// # Errors
    /// `progress` is cancelled.
    pub(crate) fn repeated(&self, progress: &Progress) -> Result<Vec<(u32, u32)>> {
        if self.numbered {
            return Ok(Vec::new());
        }
        let hasher = DefaultHashBuilder::default();
        let id = |document: u32| self.ids.get(document as usize);
        // Fewer than 2^32 documents: the local pass counted them.
        let mut hashed: Vec<(u64, u32)> = (0..self.len() as u32)
            .into_par_iter()
            .map(|document| {
                progress.check()?;
                Ok((hasher.hash_one(id(document)), document))
            })
            .collect::<Result<_>>()?;
        quicksort::par_sort_by(&mut hashed, &Ord::cmp, progress)?;
        let mut repeated = Vec::new();
        for group in hashed.chunk_by(|a, b| a.0 == b.0) {
            progress.check()?;
            for (place, &(_, document)) in group.iter().enumerate() {
                let same = group[..place]
                    .iter()
                    .find(|&&(_, earlier)| id(earlier) == id(document));
                repeated.extend(same.map(|&(_, earlier)| (document, earlier)));
            }
        }
        quicksort::sort_by(&mut repeated, &Ord::cmp, progress)?;
        Ok(repeated)
    }

    /// Removes the documents numbered `gone`, ascending.
    ///
    /// # Errors
    /// `progress` is cancelled; all documents then stay.
    pub(crate) fn remove(&mut self, gone: &[u32], progress: &Progress) -> Result<()> {
        let count = self.len() - gone.len();
        let mut ids = Strings::with_capacity(count, self.ids.byte_count());
        let mut lengths = Vec::with_capacity(count);
        let mut gone = gone.iter().peekable();
        for (document, (id, &length)) in (0u32..).zip(self.ids.iter().zip(&self.lengths)) {
            progress.check()?;
            if gone.next_if_eq(&&document).is_none() {
                ids.push(id);
                lengths.push(length);
            }
        }
        (self.ids, self.lengths) = (ids, lengths);
        Ok(())
    }

    /// L of every document, the length norm.
    pub(crate) fn norms(&self, bm25: &Bm25, statistics: &Statistics) -> Vec<f64> {
        let norm = |&length: &u32| bm25.norm(length, statistics);
        self.lengths.iter().map(norm).collect()
    }

    pub(crate) fn statistics(&self) -> Statistics {
        Statistics {
            documents: self.len() as u64,
            total_length: self.lengths.iter().map(|&length| u64::from(length)).sum(),
        }
    }
}
