//! The change of lists from one state of an index to the next.

use crate::{DeviceLists, boundary};

/// What becomes of the documents of lists in the next state of their index, and of which lists postings are added.
#[derive(Debug, Clone, Copy)]
pub struct Renewal<'a> {
    /// The number of every document in the next state. Those of documents that stay ascend; that of one that goes is
    /// not out of their order.
    pub numbers: &'a [u32],
    /// A bit for every document that stays, in words of 32.
    pub stays: &'a [u32],
    /// The number of each added list in the next state: that of a list before, or a new one.
    pub added_lists: &'a [u32],
    /// The number of lists in the next state.
    pub lists: usize,
    /// The length of every document in the next state.
    pub lengths: &'a [u32],
}

impl Renewal<'_> {
    /// For the boundary, checked.
    pub(crate) fn raw(&self, before: &DeviceLists) -> boundary::Renewal {
        let documents = before.documents() as usize;
        assert_eq!(self.numbers.len(), documents, "a number for every document");
        assert_eq!(
            self.stays.len(),
            documents.div_ceil(32),
            "a bit for every document"
        );
        assert!(self.numbers.is_sorted(), "numbers in order");
        let most = self.numbers.last().map_or(0, |&most| most as usize + 1);
        assert!(
            most <= self.lengths.len().max(1),
            "numbers of the next state"
        );
        assert!(
            (before.len()..=u32::MAX as usize).contains(&self.lists),
            "no list goes"
        );
        let mut is_added = vec![false; self.lists];
        for &list in self.added_lists {
            let before = std::mem::replace(&mut is_added[list as usize], true);
            assert!(!before, "distinct lists");
        }
        boundary::Renewal {
            documents_before: documents as u32,
            numbers: self.numbers.as_ptr(),
            stays: self.stays.as_ptr(),
            added_lists: self.added_lists.as_ptr(),
            lists: self.lists as u64,
            documents: self.lengths.len() as u32,
            lengths: self.lengths.as_ptr(),
        }
    }
}
