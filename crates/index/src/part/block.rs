//! A block of postings: up to 128 documents with their tfs.
//!
//! A full block holds its documents as bit-packed gaps or, if that is smaller, as a bitmap. The
//! tfs less one follow, bit-packed. Other blocks are varints, and so is the first block of a piece
//! whose list begins in another share.

use bitpacking::{BitPacker, BitPacker4x};
use bytemuck::{Pod, Zeroable};

use super::bounds::Front;
use tokapi_storage::varint;

/// Documents in a full block.
pub(crate) const BLOCK: usize = BitPacker4x::BLOCK_LEN;

/// The form of a block of documents: a bitmap. A form up to 32 means bit-packed gaps of that many bits.
const BITMAP: u8 = 64;
/// Varints; the first gap counts from the last document of the previous block.
const VARINTS: u8 = 65;
/// Varints that do not depend on other blocks.
const ALONE: u8 = 66;

/// With gaps of at most this many bits, the gaps of a full block add up to at most 2^31.
const FEW_BITS: u8 = 24;

/// The coding of a block, and the bounds of its weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Entry {
    form: u8,
    /// The bits of a tf less one.
    tf_bits: u8,
    pub front: Front,
}

/// A bitmap: the document of its first bit, and its words.
pub(crate) type Bitmap<'a> = (u32, &'a [[u8; 8]]);

/// The last document before a block; -1 if there is none.
pub(crate) type Before = i64;

/// Adds a full block to `bytes`. Returns its entry, without the front.
pub(crate) fn encode_full(
    documents: &[u32; BLOCK],
    tfs: &[u32; BLOCK],
    before: Before,
    bytes: &mut Vec<u8>,
) -> Entry {
    let packer = BitPacker4x::new();
    // -1 stands for no document.
    let initial = u32::try_from(before).ok();
    let bits = packer.num_bits_strictly_sorted(initial, documents);
    let (first, words) = bitmap_words(before, documents[BLOCK - 1]);
    let start = bytes.len();
    let form = if 8 * words <= BitPacker4x::compressed_block_size(bits) && bits > 0 {
        bytes.resize(start + 8 * words, 0);
        for document in documents {
            let bit = (document - first) as usize;
            bytes[start + bit / 8] |= 1 << (bit % 8);
        }
        BITMAP
    } else {
        bytes.resize(start + BitPacker4x::compressed_block_size(bits), 0);
        packer.compress_strictly_sorted(initial, documents, &mut bytes[start..], bits);
        bits
    };
    let less_one = tfs.map(|tf| tf - 1);
    let tf_bits = packer.num_bits(&less_one);
    let start = bytes.len();
    bytes.resize(start + BitPacker4x::compressed_block_size(tf_bits), 0);
    packer.compress(&less_one, &mut bytes[start..], tf_bits);
    Entry {
        form,
        tf_bits,
        front: Front::default(),
    }
}

/// Adds up to 128 postings as varints, in whole words of four bytes.
pub(crate) fn encode_varints(
    documents: &[u32],
    tfs: &[u32],
    before: Option<Before>,
    bytes: &mut Vec<u8>,
) -> Entry {
    varint::push(documents.len() as u64, bytes);
    push_postings(documents, tfs, before.unwrap_or(-1), bytes);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    Entry {
        form: if before.is_some() { VARINTS } else { ALONE },
        tf_bits: 0,
        front: Front::default(),
    }
}

/// Adds postings. A posting is twice the gap, plus one if its tf is 1; otherwise the tf follows.
pub(crate) fn push_postings(documents: &[u32], tfs: &[u32], before: Before, bytes: &mut Vec<u8>) {
    let mut before = before;
    for (&document, &tf) in documents.iter().zip(tfs) {
        let document = i64::from(document);
        // Documents ascend.
        let gap = (document - before - 1) as u64;
        before = document;
        varint::push(gap << 1 | u64::from(tf == 1), bytes);
        if tf != 1 {
            varint::push(tf.into(), bytes);
        }
    }
}

/// Decodes as many postings as fit.
pub(crate) fn take_postings(
    mut bytes: &[u8],
    before: Before,
    documents: &mut [u32],
    tfs: &mut [u32],
) -> Option<()> {
    let mut before = before;
    for (document, tf) in documents.iter_mut().zip(tfs) {
        let gap = varint::take(&mut bytes)?;
        before = before.checked_add_unsigned(gap >> 1)?.checked_add(1)?;
        *document = u32::try_from(before).ok()?;
        *tf = match gap & 1 {
            1 => 1,
            _ => u32::try_from(varint::take(&mut bytes)?)
                .ok()
                .filter(|&tf| tf > 0)?,
        };
    }
    Some(())
}

/// The first document of a bitmap, and its words.
#[inline(always)]
fn bitmap_words(before: Before, last: u32) -> (u32, usize) {
    // -1 is the least.
    let first = (before + 1) as u32 & !63;
    (first, (last.wrapping_sub(first) / 64) as usize + 1)
}

/// The decoded documents and tfs of a block.
pub(crate) struct Decoded {
    pub documents: [u32; BLOCK],
    pub tfs: [u32; BLOCK],
    /// The number of postings.
    pub count: usize,
    pub has_tfs: bool,
}

impl Default for Decoded {
    fn default() -> Self {
        Decoded {
            documents: [0; BLOCK],
            tfs: [0; BLOCK],
            count: 0,
            has_tfs: false,
        }
    }
}

impl Decoded {
    /// Sets the number of postings to `count`. Searches ignore the places behind it.
    pub fn end_at(&mut self, count: usize) {
        self.count = count;
        self.has_tfs = true;
        self.documents[count..].fill(u32::MAX);
    }
}

impl Entry {
    /// Whether the documents are a bitmap.
    #[inline(always)]
    pub fn is_bitmap(&self) -> bool {
        self.form == BITMAP
    }
}

/// A coded block.
#[derive(Clone, Copy)]
pub(crate) struct Coded<'a> {
    pub entry: Entry,
    pub bytes: &'a [u8],
    /// The last document before the block.
    pub before: Before,
    /// The last document of the block.
    pub last: u32,
}

impl<'a> Coded<'a> {
    /// Decodes the documents, and the tfs if the form interleaves them. None if the block is
    /// damaged.
    pub fn decode_documents(&self, into: &mut Decoded) -> Option<()> {
        let Coded {
            entry,
            bytes,
            before,
            last,
        } = *self;
        into.has_tfs = false;
        into.count = BLOCK;
        match entry.form {
            bits @ 0..=32 => {
                let packed = bytes.get(..BitPacker4x::compressed_block_size(bits))?;
                let initial = u32::try_from(before).ok();
                let documents = &mut into.documents;
                BitPacker4x::new().decompress_strictly_sorted(initial, packed, documents, bits);
                // The gaps add up to less than 2^32. So if the last document is right, all
                // documents ascend.
                let ascend = bits <= FEW_BITS && i64::from(last) > before;
                if !ascend && documents.iter().copied().max() != Some(last) {
                    return None;
                }
            }
            BITMAP => {
                let (first, words) = bitmap_words(before, last);
                let (words, _) = bytes.get(..8 * words)?.as_chunks::<8>();
                let mut count = 0;
                for (place, word) in words.iter().enumerate() {
                    // The words end with that of the last document.
                    let base = first.wrapping_add(64 * place as u32);
                    let mut word = u64::from_le_bytes(*word);
                    while word != 0 {
                        *into.documents.get_mut(count)? = base | word.trailing_zeros();
                        count += 1;
                        word &= word - 1;
                    }
                }
                if count != BLOCK {
                    return None;
                }
            }
            VARINTS | ALONE => {
                let mut bytes = bytes;
                let count = usize::try_from(varint::take(&mut bytes)?).ok()?;
                let documents = into.documents.get_mut(..count)?;
                let before = if entry.form == ALONE { -1 } else { before };
                take_postings(bytes, before, documents, &mut into.tfs[..count])?;
                into.end_at(count);
            }
            _ => return None,
        }
        (into.count > 0 && into.documents[into.count - 1] == last).then_some(())
    }

    /// Decodes the tfs, after the documents.
    pub fn decode_tfs(&self, into: &mut Decoded) -> Option<()> {
        if !into.has_tfs {
            let tf_bits = self.entry.tf_bits;
            BitPacker4x::new().decompress(self.packed_tfs()?, &mut into.tfs, tf_bits);
            // A tf less one is below 2^32 - 1.
            into.tfs.iter_mut().for_each(|tf| *tf = tf.wrapping_add(1));
            if tf_bits == 32 && into.tfs.contains(&0) {
                return None;
            }
            into.has_tfs = true;
        }
        Some(())
    }

    /// The tfs of a full block, for random access.
    #[inline]
    pub fn tfs(&self) -> Option<PackedTfs<'a>> {
        let (words, _) = self.packed_tfs()?.as_chunks();
        Some(PackedTfs {
            words,
            bits: self.entry.tf_bits.into(),
        })
    }

    /// The words of a bitmap and the document of its first bit; none if the block is not a bitmap.
    #[inline(always)]
    pub fn bitmap(&self) -> Option<Bitmap<'a>> {
        if !self.entry.is_bitmap() {
            return None;
        }
        let (first, words) = bitmap_words(self.before, self.last);
        Some((first, self.bytes.get(..8 * words)?.as_chunks::<8>().0))
    }

    fn packed_tfs(&self) -> Option<&'a [u8]> {
        let documents = match self.entry.form {
            bits @ 0..=32 => BitPacker4x::compressed_block_size(bits),
            BITMAP => 8 * bitmap_words(self.before, self.last).1,
            _ => return None,
        };
        if self.entry.tf_bits > 32 {
            return None;
        }
        self.bytes
            .get(documents..)?
            .get(..BitPacker4x::compressed_block_size(self.entry.tf_bits))
    }
}

/// The tfs of a full block: four lanes, each of 32 values one after the other.
#[derive(Clone, Copy)]
pub(crate) struct PackedTfs<'a> {
    words: &'a [[u8; 4]],
    bits: usize,
}

impl PackedTfs<'_> {
    /// The tf of posting `place`.
    #[inline(always)]
    pub fn get(&self, place: usize) -> u32 {
        if self.bits == 0 {
            return 1;
        }
        let (lane, bit) = (place % 4, place / 4 * self.bits);
        let word = |word: usize| {
            let word = self.words.get(4 * word + lane).copied();
            u64::from(u32::from_le_bytes(word.unwrap_or_default()))
        };
        // The second word adds nothing if the tf ends within the first. A test for this would take
        // longer.
        let value = (word(bit / 32) | word(bit / 32 + 1) << 32) >> (bit % 32);
        // The low bits: at most 32.
        ((value & ((1 << self.bits) - 1)) as u32).wrapping_add(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn comes_back(documents: &[u32], tfs: &[u32], before: Before) {
        let mut bytes = Vec::new();
        let entry = match (documents.try_into(), tfs.try_into()) {
            (Ok(documents), Ok(tfs)) => encode_full(documents, tfs, before, &mut bytes),
            _ => encode_varints(documents, tfs, Some(before), &mut bytes),
        };
        let coded = Coded {
            entry,
            bytes: &bytes,
            before,
            last: documents[documents.len() - 1],
        };
        let mut decoded = Decoded::default();
        coded.decode_documents(&mut decoded).unwrap();
        assert_eq!(&decoded.documents[..decoded.count], documents);
        coded.decode_tfs(&mut decoded).unwrap();
        assert_eq!(&decoded.tfs[..decoded.count], tfs);
        if let Some(packed) = coded.tfs() {
            let told = (0..tfs.len()).map(|place| packed.get(place));
            assert!(told.eq(tfs.iter().copied()));
        }
        if let Some((first, words)) = coded.bitmap() {
            let bits: u32 = words
                .iter()
                .map(|word| u64::from_le_bytes(*word).count_ones())
                .sum();
            assert_eq!(bits as usize, documents.len());
            assert!(first <= documents[0]);
        }
        // A truncated or damaged block gives an error, or at least no access out of bounds.
        for cut in 0..bytes.len() {
            let mut decoded = Decoded::default();
            let coded = Coded {
                bytes: &bytes[..cut],
                ..coded
            };
            let found = coded.decode_documents(&mut decoded);
            found.and_then(|()| coded.decode_tfs(&mut decoded));
        }
    }

    proptest! {
        #[test]
        fn blocks_come_back(
            gaps in prop::collection::vec(prop_oneof![Just(0u32), 0..3u32, 0..1000u32, 0..20_000_000u32], 1..=BLOCK),
            scale in 0..3u32,
            tfs in prop::collection::vec(prop_oneof![Just(1u32), 1..5u32, 1..u32::MAX], BLOCK),
            before in -1i64..100,
        ) {
            let mut document = before;
            let documents: Vec<u32> = gaps.iter().cycle().take(if scale == 0 { gaps.len() } else { BLOCK }).map(|&gap| {
                document += 1 + i64::from(if scale == 2 { gap % 4 } else { gap });
                document as u32
            }).collect();
            comes_back(&documents, &tfs[..documents.len()], before);
        }
    }

    #[test]
    fn neighbours_and_extremes_come_back() {
        let neighbours: Vec<u32> = (5..5 + BLOCK as u32).collect();
        comes_back(&neighbours, &[1; BLOCK], 4);
        comes_back(&neighbours, &[u32::MAX; BLOCK], -1);
        comes_back(&[0], &[1], -1);
        comes_back(&[u32::MAX], &[u32::MAX], -1);
    }
}
