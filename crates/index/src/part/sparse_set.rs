//! A table from documents to places in a block; it replaces a search.

use super::block::BLOCK;

/// Maximum range of documents of a block with a table.
const SPAN: usize = 4096;

/// Minimum number of documents to look up that pays for the table. Measured on 120,000 documents,
/// counts of all words: 25.4 us without, 21.2 us with 8 or 16, 21.7 us with 32, 23.0 us with 64.
const MANY: usize = 16;

/// The places of a block's documents, indexed by the documents' low bits: a sparse set (Briggs and
/// Torczon, 1993). Old entries need not be cleared: a place counts only if the block has the
/// document there.
#[derive(Default)]
pub(crate) struct SparseSet {
    /// The block of the table.
    block: Option<usize>,
    places: Option<Box<Places>>,
}

/// The place of every document of the block, at the index that [`place`] reads.
pub(crate) type Places = [u8; SPAN];

/// The place of `document` in the block, if it is there.
#[inline(always)]
pub(crate) fn place(places: &Places, document: u32) -> usize {
    usize::from(places[document as usize % SPAN]) % BLOCK
}

impl SparseSet {
    /// The places in block `block` of a list, whose documents are `documents`, if a table is
    /// faster than searches for `sought` documents.
    #[inline]
    pub fn of(&mut self, block: usize, documents: &[u32], sought: usize) -> Option<&Places> {
        if self.block != Some(block) {
            let (first, last) = (documents.first()?, documents.last()?);
            if sought < MANY || last.wrapping_sub(*first) >= SPAN as u32 {
                return None;
            }
            let places = self.places.get_or_insert_with(|| Box::new([0; SPAN]));
            for (place, &document) in documents.iter().enumerate() {
                // Below 128.
                places[document as usize % SPAN] = place as u8;
            }
            self.block = Some(block);
        }
        self.places.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_found_as_a_search_finds_them() {
        let mut set = SparseSet::default();
        for (number, gap) in [(0, 1), (7, 32), (8, 3)] {
            let block: [u32; BLOCK] = std::array::from_fn(|place| 100_000 + gap * place as u32);
            let places = set.of(number, &block, MANY).unwrap();
            for document in 99_000..106_000 {
                let is_here = block[place(places, document)] == document;
                assert_eq!(is_here, block.binary_search(&document).is_ok());
            }
            // The table exists now, even for a single lookup.
            assert!(set.of(number, &block, 1).is_some());
        }
    }

    #[test]
    fn few_documents_and_wide_blocks_are_searched() {
        let mut set = SparseSet::default();
        assert!(set.of(0, &[1, 2, 3], MANY - 1).is_none());
        assert!(set.of(0, &[1, 2, 4097], BLOCK).is_none());
        assert!(set.of(0, &[1, 2, 4096], BLOCK).is_some());
    }
}
