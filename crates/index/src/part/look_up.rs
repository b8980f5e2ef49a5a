//! Lookup of several documents in a block of a list.

use super::block::{BLOCK, Bitmap};
use super::sparse_set::{Places, place};
use crate::wide::wide;

/// Documents to look up in a list, and the results.
pub(crate) struct LookUp<'a> {
    /// The documents, ascending.
    pub documents: &'a [u32; BLOCK],
    /// Receives the posting of every document found.
    pub postings: &'a mut [Posting; BLOCK],
    /// Receives the places of the documents found.
    pub found: &'a mut [u8; BLOCK],
    /// The number of documents found.
    pub count: usize,
}

/// A posting of a list.
#[derive(Clone, Copy, Default)]
pub(crate) struct Posting {
    pub block: u32,
    /// Its place in the block.
    pub at: u8,
}

impl LookUp<'_> {
    /// The document at a place, which is below 128.
    #[inline(always)]
    pub fn document(&self, place: u8) -> u32 {
        self.documents[usize::from(place) % BLOCK]
    }

    /// Looks up documents in block `number`; `find` returns the place of a document in the block.
    #[inline(always)]
    fn look_up(
        &mut self,
        places: &[u8],
        number: u32,
        block: &[u32; BLOCK],
        find: impl Fn(u32) -> usize,
    ) {
        for &place in places {
            let document = self.document(place);
            let at = find(document);
            let posting = Posting {
                block: number,
                // Below 128.
                at: at as u8,
            };
            self.set(place, posting, block[at] == document);
        }
    }

    #[inline(always)]
    fn set(&mut self, place: u8, posting: Posting, is_found: bool) {
        self.postings[usize::from(place) % BLOCK] = posting;
        // No branch: it would be mispredicted half of the time.
        self.found[self.count % BLOCK] = place;
        self.count += usize::from(is_found);
    }
}

wide! {
    /// Looks up documents in block `number`, whose last document is at least each of them.
    pub(crate) fn in_block(into: &mut LookUp<'_>, places: &[u8], number: u32, block: &[u32; BLOCK]) {
        into.look_up(places, number, block, |document| first_not_before(block, document));
    }
}

wide! {
    /// As above, with a table of the block's places.
    pub(crate) fn in_set(
        into: &mut LookUp<'_>,
        places: &[u8],
        number: u32,
        block: &[u32; BLOCK],
        set: &Places
    ) {
        into.look_up(places, number, block, |document| place(set, document));
    }
}

wide! {
    /// Looks up documents in block `number`, a bitmap.
    pub(crate) fn in_bitmap(into: &mut LookUp<'_>, places: &[u8], number: u32, bitmap: Bitmap<'_>) {
        let (first, words) = bitmap;
        // The number of documents before the current word.
        let (mut at, mut before) = (0, 0);
        for &place in places {
            let bit = into.document(place).wrapping_sub(first) as usize;
            let word = words.get(bit / 64).copied().unwrap_or_default();
            while at < (bit / 64).min(words.len()) {
                before += u64::from_le_bytes(words[at]).count_ones();
                at += 1;
            }
            let word = u64::from_le_bytes(word);
            let lower = word & ((1 << (bit % 64)) - 1);
            // Below 128: a block has at most 128 documents.
            let at = (before + lower.count_ones()) as u8;
            into.set(place, Posting { block: number, at }, word >> (bit % 64) & 1 == 1);
        }
    }
}

/// The first place whose document is `target` or later; the last place if there is none.
///
/// The steps are the same for every target and have no branches, so several searches overlap.
#[inline(always)]
pub(crate) fn first_not_before(documents: &[u32; BLOCK], target: u32) -> usize {
    let mut at = 0;
    let mut half = BLOCK / 2;
    while half > 0 {
        at += half * usize::from(documents[at + half - 1] < target);
        half /= 2;
    }
    at
}
