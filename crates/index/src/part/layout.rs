//! The files of a part, and the fixed-size records in them. All numbers are little-endian.
//!
//! | file | data |
//! |---|---|
//! | `terms` | shards of terms, each a [`ShardHeader`], its trie, the offsets and the records; then where they begin, where their first terms end, and these; then where that stands, and the number of shards |
//! | `lists` | of every list in blocks its entries, last documents and starts; then a [`ListPlace`] each; then where these stand, and their number |
//! | `postings` | the blocks |
//! | `lengths` | the length of every document; then those that the 256 codes stand for |
//! | `ids` | the id of every document behind its length; then where every 64th begins; then where that stands |
//! | `id-table` | where the documents of each bucket of ids begin, and where the last ends; these documents; a byte of the hash of each id |
//! | `sequences` | the distance of each document's sequence number from the first of the part; only if there are gaps |
//! | `field-terms`, `field-lists`, `field-postings` | the same three files for the values of fields; a term is a field, a zero byte and a value |
//! | `records` | blocks of documents, each the compressed values of fields and the compressed texts; then a [`StoreBlock`] each; then where these stand, and their number |
//! | `store` | the same of former versions, values and texts compressed together; then a [`FormerStoreBlock`] each |
//! | `deleted-N` | the documents that are no more, as a list: a [`DeletedHeader`], entries, last documents, starts and blocks |
//! | `ranks` | the rank of every term, shard by shard; then the terms before every shard; then where that stands, and their number |
//! | `tokens` | the terms of every document in order, coded by their ranks |
//! | `token-ends` | where every document ends in `tokens` |
//!
//! A term's record is a varint, twice its df, and then its postings; or twice its df and one, and the
//! number of its list in blocks, counted from the first of the shard.

use bytemuck::{Pod, Zeroable};

use super::bounds::Front;
use super::file::Kind;

/// A file of a part.
#[derive(Clone, Copy)]
pub(crate) struct PartFile {
    pub name: &'static str,
    pub kind: Kind,
}

const fn file(name: &'static str, kind: &Kind) -> PartFile {
    PartFile { name, kind: *kind }
}

/// The files of lists.
pub(crate) struct ListFiles {
    pub terms: PartFile,
    pub lists: PartFile,
    pub postings: PartFile,
}

impl ListFiles {
    /// All of them.
    pub fn all(&self) -> [PartFile; 3] {
        [self.terms, self.lists, self.postings]
    }
}

/// The lists of the terms of the text.
pub(crate) const TEXT: ListFiles = ListFiles {
    terms: file("terms", b"term"),
    lists: file("lists", b"list"),
    postings: file("postings", b"post"),
};
/// The lists of the values of fields.
pub(crate) const FIELDS: ListFiles = ListFiles {
    terms: file("field-terms", b"fter"),
    lists: file("field-lists", b"flis"),
    postings: file("field-postings", b"fpos"),
};
pub(crate) const STORE: PartFile = file("records", b"recs");
/// The store of former versions.
pub(crate) const FORMER_STORE: PartFile = file("store", b"stor");
pub(crate) const LENGTHS: PartFile = file("lengths", b"lens");
pub(crate) const IDS: PartFile = file("ids", b"docs");
pub(crate) const ID_TABLE: PartFile = file("id-table", b"idta");
pub(crate) const SEQUENCES: PartFile = file("sequences", b"seqs");
/// There may be several, one for each state of the part: a number follows the name.
pub(crate) const DELETED: PartFile = file("deleted", b"gone");
pub(crate) const RANKS: PartFile = file("ranks", b"rank");
pub(crate) const TOKENS: PartFile = file("tokens", b"toks");
pub(crate) const TOKEN_ENDS: PartFile = file("token-ends", b"tend");

/// Ids between two whose places are kept.
pub(crate) const GROUP_IDS: u64 = 64;

/// The header of a shard of terms.
#[derive(Debug, Clone, Copy, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct ShardHeader {
    pub terms: u32,
    pub trie_words: u32,
    pub offset_bytes: u32,
    pub record_bytes: u32,
    pub offset_bits: u32,
    pub zero: u32,
    /// The number of lists in blocks before those of the shard.
    pub first_list: u64,
}

/// Where a list in blocks stands.
#[derive(Debug, Clone, Copy, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct ListPlace {
    /// Where its blocks begin and end in `postings`.
    pub begin: u64,
    pub end: u64,
    /// Where its table begins in `lists`.
    pub table: u64,
    pub blocks: u32,
    pub front: Front,
    pub zero: [u8; 2],
}

/// Where a block of documents stands.
#[derive(Debug, Clone, Copy, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct StoreBlock {
    /// Its first document.
    pub first: u64,
    /// Where its values stand; its texts follow.
    pub at: u64,
    pub values: FrameBytes,
    pub texts: FrameBytes,
}

/// The size of compressed data.
#[derive(Debug, Clone, Copy, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct FrameBytes {
    /// In the file; 0 where there is nothing to compress.
    pub stored: u64,
    /// Uncompressed.
    pub raw: u64,
}

/// Where a block of documents stands in a store of former versions.
#[derive(Debug, Clone, Copy, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct FormerStoreBlock {
    pub first: u64,
    pub at: u64,
    pub records: FrameBytes,
}

/// The header of the list of deleted documents.
#[derive(Debug, Clone, Copy, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct DeletedHeader {
    pub documents: u64,
    pub blocks: u64,
}
