//! Some documents, looked up in a block of a list.

use super::block::{BLOCK, PackedTfs};

/// Documents that are looked up, and what is found of them.
pub(crate) struct LookUp<'a> {
    /// The documents, ascending.
    pub documents: &'a [u32; BLOCK],
    /// Gets the tf of every document that is asked for, 0 where it is not in the list.
    pub tfs: &'a mut [u32; BLOCK],
    /// Gets the places of those that are.
    pub found: &'a mut [u8; BLOCK],
    /// Their number.
    pub count: usize,
}

impl LookUp<'_> {
    /// The document at a place, which is below 128.
    #[inline(always)]
    pub fn document(&self, place: u8) -> u32 {
        self.documents[usize::from(place) % BLOCK]
    }

    #[inline(always)]
    fn set(&mut self, place: u8, tf: u32) {
        self.tfs[usize::from(place) % BLOCK] = tf;
        // Without a branch, which would be foreseen half of the time.
        self.found[self.count % BLOCK] = place;
        self.count += usize::from(tf > 0);
    }

    /// None of these is in the list.
    pub fn none(&mut self, places: &[u8]) {
        places.iter().for_each(|&place| self.set(place, 0));
    }

    /// Those of a block of which the last is not before any that is looked up.
    #[inline(always)]
    pub fn in_block(&mut self, places: &[u8], block: &[u32; BLOCK], tf: impl Fn(usize) -> u32) {
        for &place in places {
            let document = self.document(place);
            let at = first_not_before(block, document);
            let tf = if block[at] == document { tf(at) } else { 0 };
            self.set(place, tf);
        }
    }

    /// Those of a bitmap whose first bit is for document `first`.
    #[inline(always)]
    pub fn in_bitmap(&mut self, places: &[u8], first: u32, words: &[[u8; 8]], tfs: PackedTfs<'_>) {
        // The documents before the word at hand.
        let (mut at, mut before) = (0, 0);
        for &place in places {
            let bit = self.document(place).wrapping_sub(first) as usize;
            let word = words.get(bit / 64).copied().unwrap_or_default();
            while at < (bit / 64).min(words.len()) {
                before += u64::from_le_bytes(words[at]).count_ones() as usize;
                at += 1;
            }
            let word = u64::from_le_bytes(word) >> (bit % 64);
            let tf = match word & 1 {
                1 => {
                    let whole = u64::from_le_bytes(words[bit / 64]).count_ones();
                    // The documents of a block are 128.
                    tfs.get((before + (whole - word.count_ones()) as usize) % BLOCK)
                }
                _ => 0,
            };
            self.set(place, tf);
        }
    }
}

/// The first place whose document is not before `target`, or the last of all.
///
/// The same steps for every target, without a branch: some are under way at a time.
#[inline(always)]
pub(super) fn first_not_before(documents: &[u32; BLOCK], target: u32) -> usize {
    let mut at = 0;
    let mut half = BLOCK / 2;
    while half > 0 {
        at += half * usize::from(documents[at + half - 1] < target);
        half /= 2;
    }
    at
}
