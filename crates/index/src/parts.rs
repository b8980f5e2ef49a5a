//! The parts of an index and their lists, for those that copy them elsewhere: several threads read different ranges of
//! terms, and a part that is there already is not read again.

use crate::part::Part;
use crate::part::note::PartNote;
use crate::walk::{PostingSource, Renumbered, Walk};
use crate::{Index, ListPiece};
use tokapi_storage::error::{Error, Result};

pub use crate::walk::TermRange;

/// A part of an index.
#[derive(Debug, Clone)]
pub struct PartDocuments {
    note: PartNote,
    /// The number of its first document in the index.
    pub first: u64,
    /// The number of its documents, deleted ones included.
    pub documents: u64,
}

impl PartDocuments {
    /// Whether this is the same part in another state of the index: its postings are equal, and other documents may be
    /// deleted.
    pub fn is_same(&self, other: &PartDocuments) -> bool {
        self.note.is_same_part(&other.note)
    }
}

/// The parts of `index`, in the order of their documents.
pub fn parts_of(index: &Index) -> Vec<PartDocuments> {
    let mut first = 0;
    let parts = index.parts().iter().map(|part| {
        let documents = part.note.documents;
        first += documents;
        PartDocuments {
            note: part.note.clone(),
            first: first - documents,
            documents,
        }
    });
    parts.collect()
}

/// The number of postings of `index`, those of deleted documents included.
pub fn postings_of(index: &Index) -> u64 {
    let parts = index.parts().iter();
    parts.map(|part| part.note.postings).sum()
}

/// The numbers of the deleted documents of part `number` of `index`, counted from the first of the part, ascending.
///
/// # Errors
/// The index is damaged.
///
/// # Panics
/// If there is no such part.
pub fn deleted_in(index: &Index, number: usize) -> Result<Vec<u32>> {
    index.parts()[number].deleted_documents()
}

/// The lists of some parts of an index as those of one.
pub struct PartLists<'a> {
    parts: Vec<&'a Part>,
    numbers: Vec<Renumbered>,
}

impl<'a> PartLists<'a> {
    /// The lists of the parts of `index` whose numbers `wants` returns true for. Documents have their numbers in the
    /// index.
    ///
    /// # Errors
    /// The index is damaged.
    pub fn of(index: &'a Index, wants: impl Fn(usize) -> bool) -> Result<Self> {
        let numbers = Renumbered::as_in_index(index.parts())?;
        let all = index.parts().iter().zip(numbers).enumerate();
        let wanted = all.filter(|(number, _)| wants(*number));
        let (parts, numbers) = wanted.map(|(_, part)| part).unzip();
        Ok(PartLists { parts, numbers })
    }

    /// Cuts the terms into at most `most` ranges of about equal numbers of terms, in order.
    ///
    /// # Errors
    /// The index is damaged.
    pub fn ranges(&self, most: usize) -> Result<Vec<TermRange>> {
        let mut ranges = vec![TermRange::default()];
        let lists = self.parts.iter().map(|part| &part.lists);
        let Some(longest) = lists.max_by_key(|lists| lists.shard_count()) else {
            return Ok(ranges);
        };
        let shards = longest.shard_count();
        let count = most.clamp(1, shards.max(1));
        for number in 1..count {
            let term = longest.first_term(number * shards / count)?.to_vec();
            if let Some(last) = ranges.last_mut() {
                last.to = Some(term.clone());
            }
            ranges.push(TermRange {
                from: term,
                to: None,
            });
        }
        Ok(ranges)
    }

    /// Passes every term of the range with at least one document, ascending, and its df to `each`.
    ///
    /// # Errors
    /// The index is damaged.
    pub fn each_term(&self, range: &TermRange, mut each: impl FnMut(&[u8], u64)) -> Result<()> {
        let mut walk = Walk::of_parts(self.parts.iter().copied(), &self.numbers, range)?;
        let mut term = Vec::new();
        while let Some(df) = walk.next_term(&mut term)? {
            each(&term, df);
        }
        Ok(())
    }

    /// Calls `wants` with every term of the range, ascending, and its df. If `wants` returns true, passes the
    /// postings of the term to `each` in pieces of at most `room`.
    ///
    /// # Errors
    /// The index is damaged; an error of `each`.
    pub fn each_list<E: From<Error>>(
        &self,
        range: &TermRange,
        room: usize,
        mut wants: impl FnMut(&[u8], u64) -> bool,
        mut each: impl FnMut(ListPiece<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut walk = Walk::of_parts(self.parts.iter().copied(), &self.numbers, range)?;
        let (mut term, mut documents, mut tfs) = (Vec::new(), Vec::new(), Vec::new());
        while let Some(df) = walk.next_term(&mut term)? {
            if !wants(&term, df) {
                continue;
            }
            let mut left = df;
            while left > 0 {
                documents.clear();
                tfs.clear();
                // At most `room`.
                let now = left.min(room as u64) as usize;
                walk.take(now, &mut documents, &mut tfs)?;
                left -= documents.len() as u64;
                each(ListPiece {
                    term: &term,
                    documents: &documents,
                    tfs: &tfs,
                    is_last: left == 0,
                })?;
            }
        }
        Ok(())
    }
}
