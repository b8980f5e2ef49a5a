//! An index in the view of an export: all parts as one, without deleted documents.

use crate::Index;
use crate::part::Part;
use crate::walk::PostingSource;
use crate::walk::{Renumbered, Walk};
use tokapi_storage::error::{Error, Result};
use tokapi_storage::progress::Progress;

/// The counts of an export.
///
/// [`ImportOptions`](crate::ImportOptions) has an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exported {
    /// Documents that are not deleted.
    pub documents: u64,
    /// Terms of documents that are not deleted.
    pub terms: u64,
    /// Their postings.
    pub postings: u64,
}

/// Documents between two tests for cancellation.
const CHECKED_DOCUMENTS: u32 = 1 << 12;

/// Postings taken at a time.
const TAKEN: u64 = 1 << 13;

/// The documents that are not deleted, numbered from 0, and their lists.
pub(crate) struct Live<'a> {
    parts: &'a [Part],
    numbers: Vec<Renumbered>,
    progress: &'a Progress,
}

/// Maximum number of documents of formats with signed numbers.
const MOST_DOCUMENTS: u64 = i32::MAX as u64;

impl<'a> Live<'a> {
    /// The live documents of `index`, for an export to `format`.
    ///
    /// # Errors
    /// There are 2^31 documents or more.
    pub fn new(index: &'a Index, format: &str, progress: &'a Progress) -> Result<Self> {
        if index.statistics().documents > MOST_DOCUMENTS {
            return Err(Error::Limit(format!(
                "the index has 2^31 or more documents, and {format} can number no more than that"
            )));
        }
        Ok(Live {
            parts: index.parts(),
            numbers: Renumbered::all(index.parts())?,
            progress,
        })
    }

    /// Their lists, by term.
    pub fn lists(&self) -> Result<LiveLists<'_>> {
        let parts = self.parts.iter().map(|part| &part.lists);
        Ok(LiveLists {
            walk: Walk::new(parts, &self.numbers)?,
            progress: self.progress,
            left: 0,
            documents: Vec::new(),
            tfs: Vec::new(),
        })
    }

    /// The number of terms.
    pub fn count_terms(&self) -> Result<u64> {
        if let [part] = self.parts
            && part.note.deleted.is_none()
        {
            return Ok(part.note.terms);
        }
        let (mut lists, mut term, mut count) = (self.lists()?, Vec::new(), 0);
        while lists.next_term(&mut term)?.is_some() {
            self.progress.check()?;
            count += 1;
        }
        Ok(count)
    }

    /// Passes the id and the length of every document to `each`, in the order of their numbers,
    /// until it is cancelled.
    pub fn each_document(&self, mut each: impl FnMut(&[u8], u32) -> Result<()>) -> Result<()> {
        for (part, numbers) in self.parts.iter().zip(&self.numbers) {
            let mut ids = part.ids(0..part.documents())?;
            while let Some((document, id)) = ids.next()? {
                if document.is_multiple_of(CHECKED_DOCUMENTS) {
                    self.progress.check()?;
                }
                if numbers.of(document).is_some() {
                    each(id, part.length(document)?)?;
                }
            }
        }
        Ok(())
    }
}

/// The lists of documents that are not deleted, by term.
pub(crate) struct LiveLists<'a> {
    walk: Walk<'a>,
    progress: &'a Progress,
    /// Postings of the current term that are still to be taken.
    left: u64,
    documents: Vec<u32>,
    tfs: Vec<u32>,
}

impl LiveLists<'_> {
    /// Advances to the next term, after all postings of the current one or none. Returns its df;
    /// none at the end.
    pub fn next_term(&mut self, term: &mut Vec<u8>) -> Result<Option<u64>> {
        let df = self.walk.next_term(term)?;
        self.left = df.unwrap_or(0);
        Ok(df)
    }

    /// The documents and tfs of the next postings of the term; none behind the last one.
    pub fn next_postings(&mut self) -> Result<Option<(&[u32], &[u32])>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.progress.check()?;
        self.documents.clear();
        self.tfs.clear();
        // At most TAKEN.
        let room = self.left.min(TAKEN) as usize;
        self.walk.take(room, &mut self.documents, &mut self.tfs)?;
        self.left -= self.documents.len() as u64;
        Ok(Some((&self.documents, &self.tfs)))
    }
}
