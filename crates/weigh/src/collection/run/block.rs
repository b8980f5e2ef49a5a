//! A block of a run: some consecutive terms with their postings, in one frame.
//!
//! Terms are front-coded: the length of the prefix shared with the previous term, then the rest. Other numbers are
//! [`varint`]s. Documents and tfs are [`bits`] of one width for the whole block. Lists are short in a run, so gaps of
//! varying width would take no fewer bytes and are decoded five times slower. A tf that does not fit is stored apart.
//! Blocks are independent: the first term is complete.

use std::ops::Range;

use tokapi_storage::bits;
use tokapi_storage::strings::Strings;
use tokapi_storage::varint;

/// The most postings of a block, of about two bytes each. A merge holds a block of every run, so blocks are small;
/// larger ones are not merged faster.
const BLOCK_POSTINGS: usize = 32 << 10;
/// A block is full when the names of its terms have this many bytes.
const BLOCK_NAME_BYTES: usize = 64 << 10;
/// The most terms of a block. The limit bounds the bytes of a block with few postings per term too.
const BLOCK_TERMS: u64 = 4 << 10;

/// The flag of a term whose df is stored: other postings of it are in other blocks, or were pruned.
const SPLIT: u64 = 1;

/// A decoded block. Postings are decoded only on demand.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Block {
    /// The terms, ascending.
    pub terms: Strings,
    /// The postings of term `t` here are `offsets[t]..offsets[t + 1]`, counted from the first one.
    offsets: Vec<u32>,
    /// The number of documents of the run with the term. It exceeds the number of postings here if others are in other
    /// blocks, or were pruned.
    pub df: Vec<u32>,
    /// The bit widths of a document and of a tf.
    widths: [u32; 2],
    /// The postings with a tf that does not fit, ascending, and those tfs.
    large: Vec<(u32, u32)>,
    /// All documents, then from `tfs_at` on all tfs less one, then padding.
    bytes: Vec<u8>,
    tfs_at: usize,
    /// Whether the last term's postings continue in the next block.
    pub continues: bool,
}

/// The padding after the last number, so that it can be read as a whole word.
const PADDING: [u8; 8] = [0; 8];

/// Cuts a run's postings into blocks.
pub(super) struct Encoder {
    /// The terms so far, front-coded, with their numbers.
    head: Vec<u8>,
    documents: Vec<u32>,
    tfs: Vec<u32>,
    terms: u64,
    /// The bytes of all names, without front coding.
    name_bytes: usize,
    last: Vec<u8>,
}

impl Encoder {
    pub(super) fn new() -> Self {
        Encoder {
            head: Vec::new(),
            documents: Vec::new(),
            tfs: Vec::new(),
            terms: 0,
            name_bytes: 0,
            last: Vec::new(),
        }
    }

    /// Adds a term with its postings. `df` is the number of its postings in the run before pruning. Full blocks go to
    /// `take`. With `continues`, the next call adds more postings of the same term.
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
            // Only a term that fills a block by itself is split, because merges want all postings of a term in one
            // block.
            let to = documents.len().min(from + BLOCK_POSTINGS);
            self.documents.extend_from_slice(&documents[from..to]);
            self.tfs.extend_from_slice(&tfs[from..to]);
            let count = (to - from) as u64;
            self.push_term(name, count, (count != df).then_some(df));
            from = to;
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

    /// Passes the last block, if any, to `take`.
    pub(super) fn finish(&mut self, mut take: impl FnMut(&Encoder, bool)) {
        if self.terms > 0 {
            take(self, false);
            self.clear();
        }
    }

    fn is_full(&self) -> bool {
        self.documents.len() >= BLOCK_POSTINGS
            || self.name_bytes >= BLOCK_NAME_BYTES
            || self.terms == BLOCK_TERMS
    }

    fn push_term(&mut self, name: &[u8], count: u64, df: Option<u64>) {
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
        self.last.truncate(shared);
        self.last.extend_from_slice(&name[shared..]);
        self.terms += 1;
        self.name_bytes += name.len();
    }

    /// Appends the encoded block to `bytes`.
    pub(super) fn write(&self, continues: bool, bytes: &mut Vec<u8>) {
        let most = self.documents.iter().copied().max().unwrap_or(0);
        let widths = [bits::width(most), tf_width(&self.tfs)];
        varint::push(self.terms << 1 | u64::from(continues), bytes);
        bytes.extend(widths.map(|width| width as u8));
        bytes.extend_from_slice(&self.head);
        let escape = escape(widths[1]);
        let large = |place: usize| (place, self.tfs[place]);
        let large = (0..self.tfs.len()).map(large);
        let large: Vec<_> = large.filter(|&(_, tf)| tf > escape).collect();
        varint::push(large.len() as u64, bytes);
        for (place, tf) in large {
            varint::push(place as u64, bytes);
            varint::push(u64::from(tf), bytes);
        }
        bits::push(self.documents.iter().copied(), widths[0], bytes);
        let tfs = self.tfs.iter().map(|tf| (tf - 1).min(escape));
        bits::push(tfs, widths[1], bytes);
    }

    fn clear(&mut self) {
        self.head.clear();
        self.documents.clear();
        self.tfs.clear();
        self.last.clear();
        self.terms = 0;
        self.name_bytes = 0;
    }
}

/// The escape value for a tf that does not fit into `width` bits.
fn escape(width: u32) -> u32 {
    u32::MAX >> (u32::BITS - width)
}

/// The width at which `tfs` take the fewest bits, including those stored apart.
fn tf_width(tfs: &[u32]) -> u32 {
    // They take about forty bits, and time.
    const APART_BITS: usize = 80;
    const MOST: u32 = 8;
    let mut counts = [0; MOST as usize + 1];
    for tf in tfs {
        // The least width that fits it.
        counts[bits::width(*tf).min(MOST + 1) as usize - 1] += 1;
    }
    let cost = |width: u32| {
        let apart: usize = counts[width as usize..].iter().sum();
        width as usize * tfs.len() + APART_BITS * apart
    };
    (1..=MOST).min_by_key(|&width| cost(width)).unwrap_or(1)
}

impl Block {
    /// Decodes a block from [`Encoder::write`]; none for any other bytes.
    pub(crate) fn decode(mut bytes: &[u8]) -> Option<Block> {
        let bytes = &mut bytes;
        let terms = varint::take(bytes)?;
        let continues = terms & 1 == 1;
        let terms = usize::try_from(terms >> 1).ok()?;
        let widths = bytes.split_off(..2)?;
        let widths = [widths[0], widths[1]].map(u32::from);
        // A term takes at least three bytes.
        if terms > bytes.len() || widths.iter().any(|width| !(1..=32).contains(width)) {
            return None;
        }
        let mut block = Block {
            terms: Strings::with_capacity(terms, 8 * terms),
            offsets: Vec::with_capacity(terms + 1),
            df: Vec::with_capacity(terms),
            widths,
            large: Vec::new(),
            bytes: Vec::new(),
            tfs_at: 0,
            continues,
        };
        block.offsets.push(0);
        let (mut name, mut offset) = (Vec::new(), 0u32);
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
            // A block has far fewer than 2^32 postings, and a run fewer documents.
            offset = offset.checked_add(u32::try_from(count >> 1).ok()?)?;
            block.df.push(u32::try_from(df).ok()?);
            block.offsets.push(offset);
        }
        for _ in 0..varint::take(bytes)? {
            let place = u32::try_from(varint::take(bytes)?).ok()?;
            let tf = u32::try_from(varint::take(bytes)?).ok()?;
            block.large.push((place, tf));
        }
        let [documents, tfs] = widths.map(|width| bits::byte_count(offset as usize, width));
        if documents + tfs != bytes.len() {
            return None;
        }
        block.tfs_at = documents;
        block.bytes.reserve_exact(bytes.len() + PADDING.len());
        block.bytes.extend_from_slice(bytes);
        block.bytes.extend_from_slice(&PADDING);
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

    /// Writes the postings of `term` over the fronts of `documents` and `tfs`. The run's first document has the number
    /// `first`. None if the block is damaged.
    pub(crate) fn postings(
        &self,
        term: usize,
        first: u32,
        documents: &mut [u32],
        tfs: &mut [u32],
    ) -> Option<()> {
        let start = self.offsets[term] as usize;
        let packed_tfs = &self.bytes[self.tfs_at..];
        let escape = escape(self.widths[1]);
        for (place, (document, tf)) in (start..).zip(documents.iter_mut().zip(tfs)) {
            *document = first.wrapping_add(bits::get(&self.bytes, self.widths[0], place));
            let packed = bits::get(packed_tfs, self.widths[1], place);
            *tf = match packed == escape {
                false => packed + 1,
                true => self.large_tf(place)?,
            };
        }
        Some(())
    }

    #[cold]
    fn large_tf(&self, place: usize) -> Option<u32> {
        let place = self
            .large
            .binary_search_by_key(&place, |large| large.0 as usize);
        place.ok().map(|place| self.large[place].1)
    }
}
