//! A block of a run: some consecutive terms with their postings, in one frame.
//!
//! Terms are front-coded: the bytes shared with the term before, then the rest. A posting is its
//! document's distance from the one before, with one bit more that says whether a tf above 1
//! follows. Everything is a [`varint`]. Blocks stand for themselves: the first term is whole, and so
//! is the first document of every list.

use std::ops::Range;

use crate::strings::Strings;
use crate::varint;

/// A block is full when its postings have so many bytes. Small, because a merge holds a block of
/// every run; larger ones than this are not merged faster.
const BLOCK_BYTES: usize = 64 << 10;
/// A block has no more terms than this, and so no more than about as many bytes.
const BLOCK_TERMS: u64 = 4 << 10;

/// What a term of a block may have beside its postings here.
const SPLIT: u64 = 1;

/// A decoded block. Postings stay as they are until they are asked for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Block {
    /// The terms, ascending.
    pub terms: Strings,
    /// The postings of term `t` here are `offsets[t]..offsets[t + 1]`, counted from the first.
    offsets: Vec<u32>,
    /// The documents of the run that have the term: more than it has postings here where others
    /// stand in other blocks, or were left out.
    pub df: Vec<u32>,
    /// The bytes of the postings of term `t` are `ends[t]..ends[t + 1]`.
    ends: Vec<u32>,
    bytes: Vec<u8>,
    /// Whether the last term's postings go on in the next block.
    pub continues: bool,
}

/// Cuts a run's postings into blocks.
pub(super) struct Encoder {
    /// The terms so far, front-coded, with the numbers of each.
    head: Vec<u8>,
    postings: Vec<u8>,
    terms: u64,
    /// The bytes of all names, decoded.
    name_bytes: usize,
    last: Vec<u8>,
}

impl Encoder {
    pub(super) fn new() -> Self {
        Encoder {
            head: Vec::new(),
            postings: Vec::new(),
            terms: 0,
            name_bytes: 0,
            last: Vec::new(),
        }
    }

    /// Adds a term with its postings, `df` of which the run has, or had before some were left out.
    /// Blocks that are full go to `take`; where `continues`, postings of the term follow that are
    /// added next.
    pub(super) fn push(
        &mut self,
        name: &[u8],
        df: u64,
        documents: &[u32],
        tfs: &[u32],
        continues: bool,
        mut take: impl FnMut(&Encoder, bool),
    ) {
        let mut from = 0;
        loop {
            let start = self.postings.len();
            let taken = self.push_postings(&documents[from..], &tfs[from..]);
            from += taken;
            let differs = taken as u64 != df;
            self.push_term(name, taken as u64, differs.then_some(df), start);
            let more = from < documents.len();
            if more || continues || self.is_full() {
                take(self, more || continues);
                self.clear();
            }
            if !more {
                break;
            }
        }
    }

    /// Gives the last block, if there is one, to `take`.
    pub(super) fn finish(&mut self, mut take: impl FnMut(&Encoder, bool)) {
        if self.terms > 0 {
            take(self, false);
            self.clear();
        }
    }

    fn is_full(&self) -> bool {
        self.postings.len() >= BLOCK_BYTES
            || self.name_bytes >= BLOCK_BYTES
            || self.terms == BLOCK_TERMS
    }

    /// Adds postings until those of this term fill a block by themselves: whoever merges blocks wants
    /// all postings of a term in one. Gives how many.
    fn push_postings(&mut self, documents: &[u32], tfs: &[u32]) -> usize {
        let full = self.postings.len() + BLOCK_BYTES;
        let mut before = 0;
        for (place, (&document, &tf)) in documents.iter().zip(tfs).enumerate() {
            if self.postings.len() >= full {
                return place;
            }
            let gap = u64::from(document - before);
            before = document;
            varint::push(gap << 1 | u64::from(tf > 1), &mut self.postings);
            if tf > 1 {
                varint::push(u64::from(tf), &mut self.postings);
            }
        }
        documents.len()
    }

    fn push_term(&mut self, name: &[u8], count: u64, df: Option<u64>, start: usize) {
        let shared = name.iter().zip(&self.last).take_while(|(a, b)| a == b);
        let shared = shared.count();
        varint::push(shared as u64, &mut self.head);
        varint::push((name.len() - shared) as u64, &mut self.head);
        self.head.extend_from_slice(&name[shared..]);
        let split = if df.is_some() { SPLIT } else { 0 };
        varint::push((count << 1) | split, &mut self.head);
        if let Some(df) = df {
            varint::push(df, &mut self.head);
        }
        varint::push((self.postings.len() - start) as u64, &mut self.head);
        self.last.truncate(shared);
        self.last.extend_from_slice(&name[shared..]);
        self.terms += 1;
        self.name_bytes += name.len();
    }

    /// Adds the block as it is stored to `bytes`.
    pub(super) fn write(&self, continues: bool, bytes: &mut Vec<u8>) {
        varint::push(self.terms << 1 | u64::from(continues), bytes);
        bytes.extend_from_slice(&self.head);
        bytes.extend_from_slice(&self.postings);
    }

    fn clear(&mut self) {
        self.head.clear();
        self.postings.clear();
        self.last.clear();
        self.terms = 0;
        self.name_bytes = 0;
    }
}

impl Block {
    /// Decodes what [`Encoder::write`] wrote; none where it did not write that.
    pub(crate) fn decode(mut bytes: &[u8]) -> Option<Block> {
        let bytes = &mut bytes;
        let terms = varint::take(bytes)?;
        let continues = terms & 1 == 1;
        let terms = usize::try_from(terms >> 1).ok()?;
        // A term takes at least four bytes.
        if terms > bytes.len() {
            return None;
        }
        let mut block = Block {
            terms: Strings::with_capacity(terms, 2 * terms),
            offsets: Vec::with_capacity(terms + 1),
            df: Vec::with_capacity(terms),
            ends: Vec::with_capacity(terms + 1),
            bytes: Vec::new(),
            continues,
        };
        block.offsets.push(0);
        block.ends.push(0);
        let (mut name, mut offset, mut end) = (Vec::new(), 0u32, 0u32);
        for _ in 0..terms {
            let shared = usize::try_from(varint::take(bytes)?).ok()?;
            let rest = usize::try_from(varint::take(bytes)?).ok()?;
            if shared > name.len() || rest > bytes.len() {
                return None;
            }
            name.truncate(shared);
            name.extend_from_slice(&bytes[..rest]);
            *bytes = &bytes[rest..];
            block.terms.push(&name);
            let count = varint::take(bytes)?;
            let df = match count & SPLIT {
                SPLIT => varint::take(bytes)?,
                _ => count >> 1,
            };
            // A block has far fewer than 2^32 bytes, and a run fewer documents.
            offset = offset.checked_add(u32::try_from(count >> 1).ok()?)?;
            end = end.checked_add(u32::try_from(varint::take(bytes)?).ok()?)?;
            block.df.push(u32::try_from(df).ok()?);
            block.offsets.push(offset);
            block.ends.push(end);
        }
        if end as usize != bytes.len() || offset as usize > bytes.len() {
            return None;
        }
        block.bytes = bytes.to_vec();
        Some(block)
    }

    /// The number of terms.
    pub(crate) fn len(&self) -> usize {
        self.df.len()
    }

    /// The number of postings of the terms in `terms`.
    pub(crate) fn count(&self, terms: Range<usize>) -> u64 {
        u64::from(self.offsets[terms.end] - self.offsets[terms.start])
    }

    /// Writes the postings of `term` over `documents` and `tfs`, as long as there are postings; the
    /// run's first document gets the number `first`. None where the block is not what was written.
    pub(crate) fn postings(
        &self,
        term: usize,
        first: u32,
        documents: &mut [u32],
        tfs: &mut [u32],
    ) -> Option<()> {
        let mut bytes = &self.bytes[self.ends[term] as usize..self.ends[term + 1] as usize];
        let mut document = first;
        for (into, tf) in documents.iter_mut().zip(tfs) {
            let next = varint::take(&mut bytes)?;
            document = document.wrapping_add((next >> 1) as u32);
            *into = document;
            *tf = match next & 1 {
                0 => 1,
                _ => u32::try_from(varint::take(&mut bytes)?).ok()?,
            };
        }
        bytes.is_empty().then_some(())
    }
}
