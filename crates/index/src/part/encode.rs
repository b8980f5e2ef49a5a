//! The encoder: one thread codes the postings of consecutive terms, a share of the collection.
//!
//! Shares are cut by the number of postings alone, so the bytes of an index depend on neither
//! threads nor memory. A share may begin and end within a term's list.

use super::block::{self, BLOCK, Before, Entry};
use super::bounds::{Front, FrontFinder, LengthCodes, Point, tf_code};
use tokapi_storage::error::Result;
use tokapi_storage::strings::Strings;
use tokapi_storage::{bits, varint};
use tokapi_weigh::dictionary::Dictionary;
use tokapi_weigh::formula::Statistics;

/// Postings of a share.
pub(crate) const SHARE_POSTINGS: usize = 1 << 20;
/// Maximum number of terms in a shard.
const SHARD_TERMS: usize = 1 << 14;

/// The postings of a share, by term, then by document.
pub(crate) struct Share<'a> {
    pub terms: &'a Strings,
    /// The terms of the share, as a range of `terms`.
    pub range: std::ops::Range<usize>,
    /// The df of all `terms` in the whole collection.
    pub df: &'a [u64],
    /// The start of each term's postings in the share; one entry more than there are terms.
    pub offsets: &'a [u64],
    pub documents: &'a [u32],
    pub tfs: &'a [u32],
    /// Whether the list of the first term begins in an earlier share.
    pub goes_on: bool,
}

/// A coded share.
#[derive(Default)]
pub(crate) struct Encoded {
    /// Blocks, one after the other.
    pub postings: Vec<u8>,
    /// The last document of every block.
    pub lasts: Vec<u32>,
    /// The start of every block in `postings`, in words of four bytes.
    pub starts: Vec<u32>,
    pub entries: Vec<Entry>,
    pub lists: Vec<Piece>,
    pub shards: Vec<Shard>,
    /// The number of lists that begin in this share.
    pub terms: u64,
    /// The number of all postings.
    pub posting_count: u64,
}

/// A piece, in this share, of a list in blocks.
pub(crate) struct Piece {
    /// Whether the list begins here.
    pub begins: bool,
    pub df: u64,
    pub postings: u64,
    /// The end of its blocks in the share's blocks.
    pub blocks_end: usize,
    pub front: Front,
}

/// A shard: the trie of some terms, and a record for each.
pub(crate) struct Shard {
    pub first_term: Vec<u8>,
    pub trie: Vec<u64>,
    /// The start of every id's record.
    pub offsets: Vec<u32>,
    pub records: Vec<u8>,
    /// The number of lists in blocks that begin in the shard.
    pub lists: u64,
}

/// The facts about all documents that the encoder needs.
pub(crate) struct DocumentLengths<'a> {
    pub codes: &'a LengthCodes,
    /// The code of every document's length.
    pub lengths: &'a [u8],
    pub statistics: Statistics,
}

/// Codes shares, and reuses its buffers.
pub(crate) struct Encoder<'a> {
    documents: &'a DocumentLengths<'a>,
    finder: FrontFinder,
}

impl<'a> Encoder<'a> {
    pub fn new(documents: &'a DocumentLengths<'a>) -> Self {
        Encoder {
            documents,
            finder: FrontFinder::new(documents.codes, &documents.statistics),
        }
    }

    /// Codes a share.
    ///
    /// # Errors
    /// More terms than a trie can hold.
    pub fn encode(&mut self, share: &Share<'_>) -> Result<Encoded> {
        let mut encoded = Encoded {
            posting_count: share.documents.len() as u64,
            ..Encoded::default()
        };
        let mut open = OpenShard::default();
        for (place, term) in share.range.clone().enumerate() {
            // They are in memory, so the count fits.
            let range = share.offsets[place] as usize..share.offsets[place + 1] as usize;
            let (documents, tfs) = (&share.documents[range.clone()], &share.tfs[range]);
            let begins = place > 0 || !share.goes_on;
            let df = share.df[term];
            let is_short = begins && documents.len() as u64 == df && documents.len() < BLOCK;
            if begins {
                open.push(share.terms.get(term), |record| match is_short {
                    true => {
                        varint::push(df << 1, record);
                        block::push_postings(documents, tfs, -1, record);
                        0
                    }
                    false => {
                        varint::push(df << 1 | 1, record);
                        1
                    }
                });
            }
            if !is_short {
                self.encode_blocks(documents, tfs, begins, &mut encoded);
                let front = self.front_of_list(&encoded);
                encoded.lists.push(Piece {
                    begins,
                    df,
                    postings: documents.len() as u64,
                    blocks_end: encoded.entries.len(),
                    front,
                });
            }
            if open.terms.len() == SHARD_TERMS {
                encoded.end_shard(&mut open)?;
            }
        }
        encoded.end_shard(&mut open)?;
        Ok(encoded)
    }

    pub fn encode_blocks(
        &mut self,
        documents: &[u32],
        tfs: &[u32],
        begins: bool,
        encoded: &mut Encoded,
    ) {
        // A list continued from an earlier share: the document before its first block is not known
        // here.
        let mut before: Option<Before> = begins.then_some(-1);
        for (documents, tfs) in documents.chunks(BLOCK).zip(tfs.chunks(BLOCK)) {
            let bytes = &mut encoded.postings;
            encoded.starts.push((bytes.len() / 4) as u32);
            let full = (documents.try_into(), tfs.try_into(), before);
            let mut entry = match full {
                (Ok(documents), Ok(tfs), Some(before)) => {
                    block::encode_full(documents, tfs, before, bytes)
                }
                _ => block::encode_varints(documents, tfs, before, bytes),
            };
            let points = documents.iter().zip(tfs).map(|(&document, &tf)| Point {
                tf: tf_code(tf),
                length: self.documents.lengths[document as usize],
            });
            entry.front = self.finder.find(points);
            let last = documents[documents.len() - 1];
            encoded.lasts.push(last);
            encoded.entries.push(entry);
            before = Some(last.into());
        }
    }

    /// The front of the blocks since the last list.
    fn front_of_list(&mut self, encoded: &Encoded) -> Front {
        let from = encoded.lists.last().map_or(0, |piece| piece.blocks_end);
        let points = encoded.entries[from..].iter().flat_map(|entry| entry.front);
        self.finder.find(points)
    }
}

/// Joins the fronts of two pieces of a list.
pub(crate) fn join_fronts(finder: &mut FrontFinder, a: Front, b: Front) -> Front {
    finder.find(a.into_iter().chain(b))
}

#[derive(Default)]
struct OpenShard {
    terms: Strings,
    /// The start of every term's record.
    offsets: Vec<u32>,
    records: Vec<u8>,
    lists: u64,
}

impl OpenShard {
    /// Adds a term and its record; `write` returns the number of lists in blocks that the term
    /// begins.
    fn push(&mut self, term: &[u8], write: impl FnOnce(&mut Vec<u8>) -> u64) {
        // A few short lists: far below 2^32.
        self.offsets.push(self.records.len() as u32);
        self.terms.push(term);
        if write(&mut self.records) > 0 {
            varint::push(self.lists, &mut self.records);
            self.lists += 1;
        }
    }
}

impl Encoded {
    fn end_shard(&mut self, open: &mut OpenShard) -> Result<()> {
        if open.terms.is_empty() {
            return Ok(());
        }
        let open = std::mem::take(open);
        let trie = Dictionary::build(open.terms.iter())?;
        let mut offsets = vec![0; open.offsets.len()];
        for (term, offset) in open.terms.iter().zip(&open.offsets) {
            if let Some(id) = trie.lookup(term) {
                offsets[id as usize] = *offset;
            }
        }
        self.terms += open.terms.len() as u64;
        self.shards.push(Shard {
            first_term: open.terms.get(0).to_vec(),
            trie: trie.words().to_vec(),
            offsets,
            records: open.records,
            lists: open.lists,
        });
        Ok(())
    }
}

impl Shard {
    /// The bits of an offset.
    pub fn offset_bits(&self) -> u32 {
        bits::width(self.offsets.iter().copied().max().unwrap_or(0))
    }
}
