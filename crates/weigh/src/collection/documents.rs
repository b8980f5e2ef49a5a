//! The documents of a collection: external ids and lengths, by number.

use hashbrown::DefaultHashBuilder;
use rayon::prelude::*;
use std::hash::BuildHasher;

use crate::formula::Bm25;
use crate::formula::Statistics;
use tokapi_storage::strings::Strings;

/// Ids and lengths of all documents, in input order.
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
    pub(crate) fn repeated(&self) -> Vec<(u32, u32)> {
        if self.numbered {
            return Vec::new();
        }
        let hasher = DefaultHashBuilder::default();
        let id = |document: u32| self.ids.get(document as usize);
        // Fewer than 2^32 documents: the local pass counted them.
        let mut hashed: Vec<(u64, u32)> = (0..self.len() as u32)
            .into_par_iter()
            .map(|document| (hasher.hash_one(id(document)), document))
            .collect();
        hashed.par_sort_unstable();
        let mut repeated = Vec::new();
        for group in hashed
            .chunk_by(|a, b| a.0 == b.0)
            .filter(|group| group.len() > 1)
        {
            for (place, &(_, document)) in group.iter().enumerate() {
                let same = group[..place]
                    .iter()
                    .find(|&&(_, earlier)| id(earlier) == id(document));
                repeated.extend(same.map(|&(_, earlier)| (document, earlier)));
            }
        }
        repeated.sort_unstable();
        repeated
    }

    /// Removes the documents numbered `gone`, ascending.
    pub(crate) fn remove(&mut self, gone: &[u32]) {
        let kept = |&document: &u32| gone.binary_search(&document).is_err();
        let numbers = (0..self.len() as u32).filter(kept);
        self.ids = numbers
            .clone()
            .map(|document| self.ids.get(document as usize))
            .collect();
        self.lengths = numbers
            .map(|document| self.lengths[document as usize])
            .collect();
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
