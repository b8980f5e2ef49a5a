//! Writes the lists of a part with renumbered documents.

use std::vec::IntoIter;

use rayon::ThreadPool;
use rayon::prelude::*;

use crate::part::cursor::Cursor;
use crate::part::lists::{Found, Lists};
use crate::walk::PostingSource;
use tokapi_storage::error::Result;
use tokapi_storage::progress::Progress;
use tokapi_storage::quicksort;

/// Minimum number of postings of a list that several threads sort.
const LONG: usize = 1 << 16;

/// The renumbered lists of a part. Shard by shard, all threads read, renumber and sort them.
/// Memory: the 2^20 postings of a shard and its last list, 8 bytes each.
pub(super) struct ReorderedLists<'a> {
    lists: &'a Lists,
    places: &'a [u32],
    pool: &'a ThreadPool,
    progress: &'a Progress,
    /// The next shard.
    shard: usize,
    terms: IntoIter<(Vec<u8>, Vec<u64>)>,
    /// The rest of the current term.
    rest: IntoIter<u64>,
}

impl<'a> ReorderedLists<'a> {
    /// Renumbers the documents of `lists` by `places`.
    pub fn new(
        lists: &'a Lists,
        places: &'a [u32],
        pool: &'a ThreadPool,
        progress: &'a Progress,
    ) -> Self {
        ReorderedLists {
            lists,
            places,
            pool,
            progress,
            shard: 0,
            terms: Vec::new().into_iter(),
            rest: Vec::new().into_iter(),
        }
    }

    fn read_shard(&self, shard: usize) -> Result<Vec<(Vec<u8>, Vec<u64>)>> {
        let terms = self.lists.terms_of_shard(shard)?;
        let postings = |(term, found)| Ok((term, self.postings(&found)?));
        self.pool
            .install(|| terms.into_par_iter().map(postings).collect())
    }

    /// The postings of a list, sorted by new document number. The number is the high half of a
    /// word, the tf the low half.
    fn postings(&self, found: &Found<'_>) -> Result<Vec<u64>> {
        let mut postings = Vec::new();
        let mut cursor = Cursor::new(found)?;
        for block in 0..cursor.block_count() {
            self.progress.check()?;
            cursor.go_to_block(block);
            let (documents, tfs) = cursor.postings()?;
            for (&document, &tf) in documents.iter().zip(tfs) {
                let place = self.places.get(document as usize);
                let place = *place.ok_or_else(|| self.damaged())?;
                postings.push(u64::from(place) << 32 | u64::from(tf));
            }
        }
        match postings.len() > LONG {
            true => quicksort::par_sort_by(&mut postings, &Ord::cmp, self.progress)?,
            false => postings.sort_unstable(),
        }
        let ascend = postings
            .windows(2)
            .all(|pair| pair[0] >> 32 < pair[1] >> 32);
        match ascend && !postings.is_empty() && postings.len() as u64 == found.df {
            true => Ok(postings),
            false => Err(self.damaged()),
        }
    }

    #[cold]
    fn damaged(&self) -> tokapi_storage::error::Error {
        self.lists.damaged("a list is not what was written")
    }
}

impl PostingSource for ReorderedLists<'_> {
    fn next_term(&mut self, term: &mut Vec<u8>) -> Result<Option<u64>> {
        loop {
            if let Some((next, postings)) = self.terms.next() {
                *term = next;
                self.rest = postings.into_iter();
                return Ok(Some(self.rest.len() as u64));
            }
            if self.shard == self.lists.shard_count() {
                return Ok(None);
            }
            self.terms = self.read_shard(self.shard)?.into_iter();
            self.shard += 1;
        }
    }

    fn take(&mut self, room: usize, documents: &mut Vec<u32>, tfs: &mut Vec<u32>) -> Result<()> {
        for posting in self.rest.by_ref().take(room) {
            // The high half and the low one.
            documents.push((posting >> 32) as u32);
            tfs.push(posting as u32);
        }
        Ok(())
    }
}
