//! A part of an index, opened: terms to lists, documents to lengths and ids.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::block::{self, BLOCK, Entry};
use super::bounds::{Front, LengthCodes};
use super::file::{FileNote, PageFile};
use super::layout::{self, GROUP_IDS, ListPlace, PartFile, ShardHeader};
use super::manifest::PartNote;
use crate::dictionary::Dictionary;
use crate::error::Result;
use crate::{bits, varint};

/// A part of an index.
pub(crate) struct Part {
    pub note: PartNote,
    terms: PageFile,
    lists: PageFile,
    pub(super) postings: PageFile,
    lengths: PageFile,
    ids: PageFile,
    /// Where the directory of the shards stands, and their number.
    directory: (usize, usize),
    /// Where the places of the lists stand, and their number.
    places: (usize, usize),
    /// Where the groups of ids stand.
    groups: usize,
    codes: LengthCodes,
    /// A bit for every shard whose trie has been checked.
    checked: Box<[AtomicU64]>,
}

/// The list of a term.
pub(crate) enum List<'a> {
    /// Postings that are read as a whole: their number, and the bytes.
    Short(usize, &'a [u8]),
    /// Postings in blocks.
    Blocks(Blocks<'a>),
}

/// A list in blocks.
#[derive(Clone, Copy)]
pub(crate) struct Blocks<'a> {
    pub entries: &'a [Entry],
    /// The last document of every block.
    pub lasts: &'a [u32],
    /// Where every block begins, in words of four bytes.
    pub starts: &'a [u32],
    pub front: Front,
    begin: usize,
    end: usize,
}

/// What the dictionary says of a term.
pub(crate) struct Found<'a> {
    pub df: u64,
    pub list: List<'a>,
}

impl Part {
    /// Opens the part in `folder`.
    pub fn open(folder: &Path, note: &PartNote) -> Result<Self> {
        let open = |file: PartFile| {
            let missing = FileNote { bytes: 0, stamp: 0 };
            let known = note.files.get(file.name).unwrap_or(&missing);
            PageFile::open(folder.join(file.name), file.kind, known)
        };
        let (terms, lists) = (open(layout::TERMS)?, open(layout::LISTS)?);
        let (lengths, ids) = (open(layout::LENGTHS)?, open(layout::IDS)?);
        let documents = u32::try_from(note.documents)
            .map_err(|_| lengths.damaged("a part has fewer than 2^32 documents"))?;
        let codes_at = (4 * documents as usize).next_multiple_of(8);
        let codes = LengthCodes::of_starts(lengths.slice(codes_at, 256)?);
        let codes = codes.ok_or_else(|| lengths.damaged("its codes do not ascend"))?;
        let directory = trailer(&terms)?;
        let [groups] = tail::<1>(&ids)?;
        if groups > ids.len() {
            return Err(ids.damaged("a place in it is beyond its end"));
        }
        let shards = directory.1;
        Ok(Part {
            note: note.clone(),
            places: trailer(&lists)?,
            directory,
            groups,
            codes,
            checked: (0..shards.div_ceil(64))
                .map(|_| AtomicU64::new(0))
                .collect(),
            postings: open(layout::POSTINGS)?,
            terms,
            lists,
            lengths,
            ids,
        })
    }

    /// The number of documents.
    pub fn documents(&self) -> u32 {
        // A part has fewer than 2^32.
        self.note.documents as u32
    }

    /// The lengths that codes stand for.
    pub fn codes(&self) -> &LengthCodes {
        &self.codes
    }

    /// The length of a document.
    #[inline]
    pub fn length(&self, document: u32) -> Result<u32> {
        Ok(self.lengths.slice::<u32>(4 * document as usize, 1)?[0])
    }

    /// Writes the lengths of `documents`, of which there are at most as many as there is room for.
    #[inline]
    pub fn lengths(&self, documents: &[u32], lengths: &mut [u32]) -> Result<()> {
        match self.lengths.checked_as_a_whole() {
            Some(bytes) => {
                let all: &[u32] = bytemuck::cast_slice(&bytes[..4 * self.note.documents as usize]);
                for (length, &document) in lengths.iter_mut().zip(documents) {
                    *length = all[document as usize];
                }
            }
            None => {
                for (length, &document) in lengths.iter_mut().zip(documents) {
                    *length = self.length(document)?;
                }
            }
        }
        Ok(())
    }

    /// The id of a document.
    pub fn id(&self, document: u32) -> Result<&[u8]> {
        let (group, place) = (
            u64::from(document) / GROUP_IDS,
            u64::from(document) % GROUP_IDS,
        );
        let at = self.groups + 8 * group as usize;
        let mut at = self.ids.slice::<u64>(at, 1)?[0] as usize;
        let damaged = || self.ids.damaged("an id is not what was written");
        for left in (0..=place).rev() {
            // A length takes ten bytes at most.
            let bytes = self
                .ids
                .bytes(at..self.groups.min(at.saturating_add(10)).max(at))?;
            let mut rest = bytes;
            let length = varint::take(&mut rest).ok_or_else(damaged)?;
            let length = usize::try_from(length).map_err(|_| damaged())?;
            at += bytes.len() - rest.len();
            let end = at.checked_add(length).ok_or_else(damaged)?;
            if left == 0 {
                return self.ids.bytes(at..end);
            }
            at = end;
        }
        Err(damaged())
    }

    /// What the part has of `term`.
    pub fn find(&self, term: &[u8]) -> Result<Option<Found<'_>>> {
        let Some(shard) = self.shard_of(term)? else {
            return Ok(None);
        };
        let shard = self.shard(shard)?;
        match shard.trie.lookup(term) {
            Some(id) => self.record(&shard, id).map(Some),
            None => Ok(None),
        }
    }

    /// The number of shards.
    pub fn shard_count(&self) -> usize {
        self.directory.1
    }

    /// The terms of a shard, ascending, each with what the part has of it.
    pub fn terms_of_shard(&self, number: usize) -> Result<Vec<(Vec<u8>, Found<'_>)>> {
        let shard = self.shard(number)?;
        let mut terms = Vec::with_capacity(shard.header.terms as usize);
        for id in 0..shard.header.terms {
            terms.push((shard.trie.term(id), self.record(&shard, id)?));
        }
        terms.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        Ok(terms)
    }

    /// The last shard whose first term is not above `term`.
    fn shard_of(&self, term: &[u8]) -> Result<Option<usize>> {
        let (mut low, mut high) = (0, self.directory.1);
        while low < high {
            let middle = low.midpoint(high);
            match self.first_term(middle)? <= term {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        Ok(low.checked_sub(1))
    }

    /// The first term of a shard, as the directory has it.
    pub fn first_term(&self, shard: usize) -> Result<&[u8]> {
        let (at, count) = self.directory;
        let ends = at + 8 * count;
        let bytes = ends + 8 * count;
        let start = match shard {
            0 => 0,
            _ => self.terms.slice::<u64>(ends + 8 * (shard - 1), 1)?[0],
        };
        let end = self.terms.slice::<u64>(ends + 8 * shard, 1)?[0];
        self.terms
            .bytes(bytes.saturating_add(start as usize)..bytes.saturating_add(end as usize))
    }

    fn shard(&self, number: usize) -> Result<ShardView<'_>> {
        let at = self.terms.slice::<u64>(self.directory.0 + 8 * number, 1)?[0] as usize;
        let header = self.terms.slice::<ShardHeader>(at, 1)?[0];
        let trie_at = at + size_of::<ShardHeader>();
        let words = self
            .terms
            .slice::<u64>(trie_at, header.trie_words as usize)?;
        let bit = 1 << (number % 64);
        if self.checked[number / 64].load(Ordering::Relaxed) & bit == 0 {
            Dictionary::check(words).map_err(|what| self.terms.damaged(&what))?;
            self.checked[number / 64].fetch_or(bit, Ordering::Relaxed);
        }
        let trie = Dictionary::checked_arrays(words)
            .filter(|(_, terms)| *terms == u64::from(header.terms))
            .map(|(trie, _)| trie);
        let offsets_at = trie_at + 8 * header.trie_words as usize;
        let records_at = offsets_at + header.offset_bytes as usize;
        let end = records_at + header.record_bytes as usize;
        Ok(ShardView {
            header,
            trie: trie.ok_or_else(|| self.terms.damaged("a trie is not what was written"))?,
            offsets: self.terms.bytes(offsets_at..records_at)?,
            records: self.terms.bytes(records_at..end)?,
        })
    }

    fn record<'a>(&'a self, shard: &ShardView<'a>, id: u32) -> Result<Found<'a>> {
        let damaged = || self.terms.damaged("a record is not what was written");
        let (bit_count, place) = (shard.header.offset_bits, id as usize);
        let enough = bits::byte_count(place + 1, bit_count) + 7;
        if id >= shard.header.terms
            || !(1..=32).contains(&bit_count)
            || enough > shard.offsets.len()
        {
            return Err(damaged());
        }
        let at = bits::get(shard.offsets, bit_count, place);
        let mut record = shard.records.get(at as usize..).ok_or_else(damaged)?;
        let first = varint::take(&mut record).ok_or_else(damaged)?;
        let df = first >> 1;
        let list = match first & 1 {
            0 if df > 0 && df < BLOCK as u64 => List::Short(df as usize, record),
            1 if df <= self.note.documents => {
                let number = varint::take(&mut record).ok_or_else(damaged)?;
                let number = number.checked_add(shard.header.first_list);
                List::Blocks(self.blocks(number.ok_or_else(damaged)?)?)
            }
            _ => return Err(damaged()),
        };
        Ok(Found { df, list })
    }

    fn blocks(&self, number: u64) -> Result<Blocks<'_>> {
        let damaged = || self.lists.damaged("a list is not where it was written");
        let number = usize::try_from(number).map_err(|_| damaged())?;
        if number >= self.places.1 {
            return Err(damaged());
        }
        let at = self.places.0 + size_of::<ListPlace>() * number;
        let place = self.lists.slice::<ListPlace>(at, 1)?[0];
        let count = place.blocks as usize;
        let (begin, end) = (place.begin as usize, place.end as usize);
        if count == 0 || begin > end || end > self.postings.len() {
            return Err(damaged());
        }
        let entries_at = place.table as usize;
        let lasts_at = entries_at.saturating_add(count * size_of::<Entry>());
        Ok(Blocks {
            entries: self.lists.slice(entries_at, count)?,
            lasts: self.lists.slice(lasts_at, count)?,
            starts: self
                .lists
                .slice(lasts_at.saturating_add(4 * count), count)?,
            front: place.front,
            begin,
            end,
        })
    }

    /// The bytes of block `number` of a list.
    #[inline]
    pub fn block_bytes(&self, blocks: &Blocks<'_>, number: usize) -> Result<&[u8]> {
        let place = |start: u32| blocks.begin + 4 * start as usize;
        let end = blocks
            .starts
            .get(number + 1)
            .map_or(blocks.end, |&start| place(start));
        self.postings.bytes(place(blocks.starts[number])..end)
    }

    /// The error that a block is not what was written.
    #[cold]
    pub fn damaged_block(&self) -> crate::Error {
        self.postings.damaged("a block is not what was written")
    }

    /// The bytes of every file, by its name.
    pub fn file_bytes(&self) -> [(&'static str, u64); 5] {
        [
            (layout::TERMS.name, self.terms.file_bytes()),
            (layout::LISTS.name, self.lists.file_bytes()),
            (layout::POSTINGS.name, self.postings.file_bytes()),
            (layout::LENGTHS.name, self.lengths.file_bytes()),
            (layout::IDS.name, self.ids.file_bytes()),
        ]
    }

    /// Checks every page of every file.
    pub fn check_pages(&self) -> Result<()> {
        for file in [
            &self.terms,
            &self.lists,
            &self.postings,
            &self.lengths,
            &self.ids,
        ] {
            file.bytes(0..file.len())?;
        }
        Ok(())
    }

    /// Decodes the postings of a short list.
    pub fn decode_short(
        &self,
        count: usize,
        bytes: &[u8],
        into: &mut block::Decoded,
    ) -> Result<()> {
        let documents = &mut into.documents[..count];
        let taken = block::take_postings(bytes, -1, documents, &mut into.tfs[..count]);
        into.end_at(count);
        let last = into.documents[count - 1];
        match taken {
            Some(()) if last < self.documents() => Ok(()),
            _ => Err(self.terms.damaged("a list is not what was written")),
        }
    }
}

/// A shard of the dictionary.
struct ShardView<'a> {
    header: ShardHeader,
    trie: crate::dictionary::Arrays<'a>,
    offsets: &'a [u8],
    records: &'a [u8],
}

/// The last words of a file.
fn tail<const COUNT: usize>(file: &PageFile) -> Result<[usize; COUNT]> {
    let at = file.len().checked_sub(8 * COUNT);
    let at = at.ok_or_else(|| file.damaged("it is too short"))?;
    let words = file.slice::<u64>(at, COUNT)?;
    Ok(std::array::from_fn(|place| words[place] as usize))
}

/// A place and a number of things there, at the end of a file.
fn trailer(file: &PageFile) -> Result<(usize, usize)> {
    let [at, count] = tail::<2>(file)?;
    match at <= file.len() && count <= file.len() {
        true => Ok((at, count)),
        false => Err(file.damaged("a place in it is beyond its end")),
    }
}
