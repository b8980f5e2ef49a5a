//! A cursor: it walks the list of a term in ascending order of documents.

use super::block::{BLOCK, Before, Bitmap, Coded, Decoded, Entry, take_postings};
use super::bounds::Front;
use super::file::PageFile;
use super::lists::{Blocks, Found, List};
use super::look_up::{LookUp, Posting, first_not_before, in_bitmap, in_block, in_set};
use super::sparse_set::SparseSet;
use tokapi_storage::error::{Error, Result};

/// A position in a list. Blocks are found by their last documents and decoded on demand.
pub(crate) struct Cursor<'a> {
    /// The postings file.
    file: &'a PageFile,
    /// The number of the part's documents.
    limit: u32,
    pub df: u64,
    blocks: Option<Blocks<'a>>,
    block_count: usize,
    /// The last document of a short list.
    short_last: u32,
    /// The current block; [`Cursor::block_count`] at the end.
    pub(crate) block: usize,
    /// The decoded block.
    decoded_block: usize,
    pub(crate) decoded: Box<Decoded>,
    /// The place in the decoded block.
    at: usize,
    /// A table from documents to places in the decoded block.
    pub(crate) set: SparseSet,
}

const NONE: usize = usize::MAX;

impl Found<'_> {
    /// Passes the documents of the list to `each`, ascending, a block at a time. Many short lists are read faster so than
    /// by cursors.
    pub fn each_documents(
        &self,
        room: &mut [[u32; BLOCK]; 2],
        mut each: impl FnMut(&[u32]),
    ) -> Result<()> {
        if let List::Short(count, bytes) = &self.list {
            let [documents, tfs] = room;
            let taken = take_postings(bytes, -1, &mut documents[..*count], &mut tfs[..*count]);
            if taken.is_none() || documents[count - 1] >= self.documents {
                return Err(self.file.damaged(DAMAGED));
            }
            each(&documents[..*count]);
            return Ok(());
        }
        let mut cursor = Cursor::new(self)?;
        for block in 0..cursor.block_count() {
            cursor.go_to_block(block);
            cursor.decode()?;
            each(cursor.documents());
        }
        Ok(())
    }
}

const DAMAGED: &str = "a list is not what was written";

impl<'a> Cursor<'a> {
    /// A cursor over the list of a term.
    pub fn new(found: &Found<'a>) -> Result<Self> {
        let mut cursor = Cursor {
            file: found.file,
            limit: found.documents,
            df: found.df,
            blocks: None,
            block_count: 1,
            short_last: 0,
            block: 0,
            decoded_block: NONE,
            decoded: Box::default(),
            at: 0,
            set: SparseSet::default(),
        };
        match &found.list {
            List::Short(count, bytes) => {
                cursor.decode_short(*count, bytes)?;
                cursor.short_last = cursor.decoded.documents[count - 1];
                cursor.decoded_block = 0;
            }
            List::Blocks(blocks) => {
                cursor.block_count = blocks.entries.len();
                cursor.blocks = Some(*blocks);
            }
        }
        Ok(cursor)
    }

    /// Decodes the postings of a short list.
    fn decode_short(&mut self, count: usize, bytes: &[u8]) -> Result<()> {
        let Decoded { documents, tfs, .. } = &mut *self.decoded;
        let taken = take_postings(bytes, -1, &mut documents[..count], &mut tfs[..count]);
        self.decoded.end_at(count);
        let last = self.decoded.documents[count - 1];
        match taken {
            Some(()) if last < self.limit => Ok(()),
            _ => Err(self.damaged()),
        }
    }

    /// The error that the list is damaged.
    #[cold]
    fn damaged(&self) -> Error {
        self.file.damaged(DAMAGED)
    }

    /// The number of blocks.
    pub fn block_count(&self) -> usize {
        self.block_count
    }

    /// The current block.
    pub fn block(&self) -> usize {
        self.block
    }

    /// Moves to block `block`, which may be before the current one.
    pub fn go_to_block(&mut self, block: usize) {
        self.block = block;
        self.at = 0;
    }

    /// The last document of block `block`.
    #[inline(always)]
    pub fn last(&self, block: usize) -> u32 {
        match &self.blocks {
            Some(blocks) => blocks.lasts[block],
            None => self.short_last,
        }
    }

    /// The first document that block `block` can hold.
    #[inline(always)]
    pub fn first_possible(&self, block: usize) -> u32 {
        match block {
            0 => 0,
            // The last documents of blocks ascend.
            _ => self.last(block - 1).saturating_add(1),
        }
    }

    /// The front of block `block`; none for a short list, whose postings are read directly.
    #[inline(always)]
    pub fn front(&self, block: usize) -> Option<&Front> {
        self.blocks
            .as_ref()
            .map(|blocks| &blocks.entries[block].front)
    }

    /// All blocks; none for a short list.
    pub fn entries(&self) -> &'a [Entry] {
        self.blocks.as_ref().map_or(&[], |blocks| blocks.entries)
    }

    /// The front of the whole list; none for a short list.
    pub fn list_front(&self) -> Option<&Front> {
        self.blocks.as_ref().map(|blocks| &blocks.front)
    }

    /// The first block from `from` on whose last document is `target` or later; the number of
    /// blocks if there is none.
    #[inline]
    pub fn block_of(&self, target: u32, from: usize) -> usize {
        let Some(blocks) = &self.blocks else {
            return usize::from(self.short_last < target).max(from);
        };
        let lasts = &blocks.lasts[from..];
        match lasts.first() {
            Some(&last) if last < target => {}
            _ => return from,
        }
        // Galloping search: the target is mostly near.
        let mut step = 1;
        while step < lasts.len() && lasts[step] < target {
            step *= 2;
        }
        let low = step / 2 + 1;
        let high = lasts.len().min(step);
        from + low + lasts[low.min(high)..high].partition_point(|&last| last < target)
    }

    /// Prefetches block `block`, if it exists.
    #[inline]
    pub fn prefetch(&self, block: usize) {
        if let Some(blocks) = &self.blocks {
            blocks.prefetch(self.file, block);
        }
    }

    /// Decodes the documents of the current block.
    #[inline]
    pub fn decode(&mut self) -> Result<()> {
        match self.decoded_block == self.block {
            true => Ok(()),
            false => self.decode_block(),
        }
    }

    fn decode_block(&mut self) -> Result<()> {
        let coded = self.coded(self.block)?;
        self.decoded_block = NONE;
        let decoded = coded.decode_documents(&mut self.decoded);
        if decoded.is_none() || coded.last >= self.limit {
            return Err(self.damaged());
        }
        self.decoded_block = self.block;
        self.at = 0;
        Ok(())
    }

    /// The documents of the current block, which is decoded.
    #[inline(always)]
    pub fn documents(&self) -> &[u32] {
        &self.decoded.documents[..self.decoded.count]
    }

    /// The documents and tfs of the current block.
    pub fn postings(&mut self) -> Result<(&[u32], &[u32])> {
        self.decode()?;
        if !self.decoded.has_tfs {
            let coded = self.coded(self.block)?;
            let decoded = coded.decode_tfs(&mut self.decoded);
            decoded.ok_or_else(|| self.damaged())?;
        }
        let count = self.decoded.count;
        Ok((&self.decoded.documents[..count], &self.decoded.tfs[..count]))
    }

    /// Advances to the first posting whose document is `target` or later. None at the end.
    #[inline]
    pub fn seek(&mut self, target: u32) -> Result<Option<u32>> {
        if self.block < self.block_count && self.last(self.block) < target {
            self.block = self.block_of(target, self.block);
            self.at = 0;
        }
        if self.block >= self.block_count {
            return Ok(None);
        }
        self.decode()?;
        // The last document of the block is `target` or later.
        self.at = first_not_before(&self.decoded.documents, target);
        Ok(Some(self.decoded.documents[self.at]))
    }

    /// The tf of the current posting.
    pub fn tf(&mut self) -> Result<u32> {
        let at = self.at;
        Ok(self.postings()?.1[at])
    }

    /// Finds the postings of several documents, which come after those of earlier calls.
    pub fn look_up(&mut self, places: &[u8], into: &mut LookUp<'_>) -> Result<()> {
        let Some(&first) = places.first() else {
            return Ok(());
        };
        let mut places = places;
        let mut block = self.block_of(into.document(first), self.block);
        while !places.is_empty() {
            self.block = block;
            if block >= self.block_count {
                break;
            }
            let last = self.last(block);
            let end = places.iter().position(|&place| into.document(place) > last);
            let (here, later) = places.split_at(end.unwrap_or(places.len()));
            places = later;
            if let Some(&next) = later.first() {
                block = self.block_of(into.document(next), block);
                self.prefetch(block);
            }
            self.look_up_here(here, into)?;
        }
        Ok(())
    }

    /// Finds the postings of the documents that can only be in the current block.
    fn look_up_here(&mut self, places: &[u8], into: &mut LookUp<'_>) -> Result<()> {
        // Blocks are fewer than documents.
        let number = self.block as u32;
        match self.bitmap(self.block)? {
            Some(bitmap) => in_bitmap(into, places, number, bitmap),
            None => {
                self.decode()?;
                let Decoded {
                    documents, count, ..
                } = &*self.decoded;
                match self.set.of(self.block, &documents[..*count], places.len()) {
                    Some(set) => in_set(into, places, number, documents, set),
                    None => in_block(into, places, number, documents),
                }
            }
        }
        Ok(())
    }

    /// Writes the tfs of the postings at `places`. Postings of one block are neighbours.
    pub fn tfs(
        &mut self,
        places: &[u8],
        postings: &[Posting; BLOCK],
        tfs: &mut [u32; BLOCK],
    ) -> Result<()> {
        let posting = |place: u8| postings[usize::from(place) % BLOCK];
        let mut from = 0;
        while let Some(&first) = places.get(from) {
            let block = posting(first).block;
            let here = places[from..].iter();
            let here = here.take_while(|&&place| posting(place).block == block);
            let tfs = tfs[from..].iter_mut();
            let number = block as usize;
            let coded = match self.blocks.is_some() {
                true => Some(self.coded(number)?),
                false => None,
            };
            match coded.and_then(|coded| coded.tfs()) {
                Some(packed) => {
                    for (&place, tf) in here.zip(tfs) {
                        *tf = packed.get(usize::from(posting(place).at) % BLOCK);
                        from += 1;
                    }
                }
                None => {
                    self.go_to_block(number);
                    let (_, all) = self.postings()?;
                    for (&place, tf) in here.zip(tfs) {
                        *tf = all[usize::from(posting(place).at)];
                        from += 1;
                    }
                }
            }
        }
        Ok(())
    }

    /// If block `block` is a bitmap: its words, and the document of its first bit.
    #[inline]
    pub fn bitmap(&self, block: usize) -> Result<Option<Bitmap<'a>>> {
        let Some(blocks) = &self.blocks else {
            return Ok(None);
        };
        match blocks.entries[block].is_bitmap() {
            true => Ok(self.coded(block)?.bitmap()),
            false => Ok(None),
        }
    }

    fn before(&self, block: usize) -> Before {
        match block {
            0 => -1,
            _ => self.last(block - 1).into(),
        }
    }

    /// Block `block` as it is stored.
    #[inline]
    fn coded(&self, block: usize) -> Result<Coded<'a>> {
        let Some(blocks) = &self.blocks else {
            return Err(self.damaged());
        };
        Ok(Coded {
            entry: blocks.entries[block],
            bytes: blocks.bytes(self.file, block)?,
            before: self.before(block),
            last: blocks.lasts[block],
        })
    }
}
