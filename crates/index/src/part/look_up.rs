//! Some documents, looked up in a block of a list.

use super::block::{BLOCK, Bitmap};
use super::sparse_set::{Places, place};
use crate::wide::wide;

/// Documents that are looked up in a list, and where they are found.
pub(crate) struct LookUp<'a> {
    /// The documents, ascending.
    pub documents: &'a [u32; BLOCK],
    /// Gets the posting of every one that is in the list.
    pub postings: &'a mut [Posting; BLOCK],
    /// Gets the places of these.
    pub found: &'a mut [u8; BLOCK],
    /// Their number.
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

    /// Looks up documents in block `number`, in which `find` tells the place of those that it has.
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
        // Without a branch, which would be foreseen half of the time.
        self.found[self.count % BLOCK] = place;
        self.count += usize::from(is_found);
    }
}

wide! {
    /// Looks up documents in block `number`, of which the last is not before any of them.
    pub(crate) fn in_block(into: &mut LookUp<'_>, places: &[u8], number: u32, block: &[u32; BLOCK]) {
        into.look_up(places, number, block, |document| first_not_before(block, document));
    }
}

wide! {
    /// The same by a table of the block's places.
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
    /// Looks up documents in block `number`, which is a bitmap.
    pub(crate) fn in_bitmap(into: &mut LookUp<'_>, places: &[u8], number: u32, bitmap: Bitmap<'_>) {
        let (first, words) = bitmap;
        // The documents before the word at hand.
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
            // Below 128, as many as the documents of a block.
            let at = (before + lower.count_ones()) as u8;
            into.set(place, Posting { block: number, at }, word >> (bit % 64) & 1 == 1);
        }
    }
}

/// The first place whose document is not before `target`, or the last of all.
///
/// The same steps for every target, without a branch: some are under way at a time.
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
