//! Filters documents by membership in a list.

use std::ops::Range;

use super::block::Decoded;
use super::cursor::Cursor;
use super::look_up::first_not_before;
use super::sparse_set::place;
use tokapi_storage::error::Result;

impl Cursor<'_> {
    /// Keeps the `documents`, ascending, that are in the list.
    pub fn intersect(&mut self, documents: &mut Vec<u32>) -> Result<()> {
        self.retain(documents, true)
    }

    /// Keeps the `documents`, ascending, that are not in the list.
    pub fn subtract(&mut self, documents: &mut Vec<u32>) -> Result<()> {
        self.retain(documents, false)
    }

    fn retain(&mut self, documents: &mut Vec<u32>, present: bool) -> Result<()> {
        let (mut from, mut kept) = (0, 0);
        let mut block = self.block_of(documents.first().copied().unwrap_or(0), self.block);
        while from < documents.len() {
            self.block = block;
            if self.block >= self.block_count() {
                break;
            }
            let last = self.last(self.block);
            let end = from + documents[from..].partition_point(|&document| document <= last);
            if let Some(&document) = documents.get(end) {
                block = self.block_of(document, self.block);
                self.prefetch(block);
            }
            let range = from..end;
            if let Some((first, words)) = self.bitmap(self.block)? {
                kept += keep(documents, range, kept, |document| {
                    let bit = document.wrapping_sub(first);
                    let word = words.get(bit as usize / 64).copied().unwrap_or_default();
                    (u64::from_le_bytes(word) >> (bit % 64) & 1 == 1) == present
                });
            } else {
                self.decode()?;
                let Decoded {
                    documents: here,
                    count,
                    ..
                } = &*self.decoded;
                kept += match self.set.of(self.block, &here[..*count], range.len()) {
                    Some(set) => keep(documents, range, kept, |document| {
                        (here[place(set, document)] == document) == present
                    }),
                    None => keep(documents, range, kept, |document| {
                        (here[first_not_before(here, document)] == document) == present
                    }),
                };
            }
            from = end;
        }
        if !present {
            documents.copy_within(from.., kept);
            kept += documents.len() - from;
        }
        documents.truncate(kept);
        Ok(())
    }
}

/// Moves the wanted `documents` of a range to place `to` and behind, without a branch. Returns
/// their number.
#[inline(always)]
fn keep(
    documents: &mut [u32],
    range: Range<usize>,
    to: usize,
    is_wanted: impl Fn(u32) -> bool,
) -> usize {
    let mut kept = to;
    for place in range {
        let document = documents[place];
        documents[kept] = document;
        kept += usize::from(is_wanted(document));
    }
    kept - to
}
