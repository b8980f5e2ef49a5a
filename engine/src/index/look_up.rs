//! Some documents, looked up in a block of a list.

use super::block::{BLOCK, PackedTfs};

/// Documents that are looked up, and what is found of them.
pub(crate) struct LookUp<'a> {
    /// The documents, ascending.
    pub documents: &'a [u32; BLOCK],
    /// Gets the tf of every document that is asked for, 0 where it is not in the list.
    pub tfs: &'a mut [u32; BLOCK],
    /// Gets the places of those that are.
    pub found: &'a mut Vec<u8>,
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
        if tf > 0 {
            self.found.push(place);
        }
    }

    /// None of these is in the list.
    pub fn none(&mut self, places: &[u8]) {
        places.iter().for_each(|&place| self.set(place, 0));
    }

    /// Those of a block of which the last is not before any that is looked up.
    #[inline(always)]
    pub fn in_block(&mut self, places: &[u8], block: &[u32; BLOCK], tf: impl Fn(usize) -> u32) {
        let mut at = 0;
        for &place in places {
            let document = self.document(place);
            at = first_not_before(block, at, document);
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

/// The first place from `from` on whose document is not before `target`, which there is.
#[inline(always)]
pub(super) fn first_not_before(documents: &[u32; BLOCK], from: usize, target: u32) -> usize {
    const STEP: usize = 16;
    let mut at = from;
    while at + STEP <= BLOCK && documents[at + STEP - 1] < target {
        at += STEP;
    }
    while at < BLOCK - 1 && documents[at] < target {
        at += 1;
    }
    at
}
