//! The open lists of a part: they find the entry of a term.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::block::{BLOCK, Entry};
use super::bounds::Front;
use super::file::PageFile;
use super::layout::{ListFiles, ListPlace, ShardHeader};
use super::note::PartNote;
use super::window::Window;
use tokapi_storage::error::Result;
use tokapi_storage::{bits, varint};
use tokapi_weigh::dictionary::Dictionary;

/// Terms with their lists.
pub struct Lists {
    terms: Arc<PageFile>,
    lists: Arc<PageFile>,
    postings: Arc<PageFile>,
    /// The number of the part's documents.
    documents: u32,
    /// The offset of the shard directory, and the number of shards.
    directory: (usize, usize),
    /// The offset of the list table, and the number of lists.
    places: (usize, usize),
    /// A bit for every shard whose trie has been checked.
    checked: Box<[AtomicU64]>,
}

/// The dictionary entry of a term.
pub(crate) struct Found<'a> {
    pub df: u64,
    pub list: List<'a>,
    /// The postings file.
    pub file: &'a PageFile,
    /// The number of the part's documents.
    pub documents: u32,
}

/// The list of a term.
pub(crate) enum List<'a> {
    /// A short list: its number of postings, and their bytes.
    Short(usize, &'a [u8]),
    /// A list in blocks.
    Blocks(Blocks<'a>),
}

/// A list in blocks.
#[derive(Clone, Copy)]
pub(crate) struct Blocks<'a> {
    pub entries: &'a [Entry],
    /// The last document of every block.
    pub lasts: &'a [u32],
    /// The start of every block, in words of four bytes.
    pub starts: &'a [u32],
    pub front: Front,
    /// The start of the first block and the end of the last.
    pub begin: usize,
    pub end: usize,
    /// The number of the list among those in blocks.
    pub number: usize,
}

impl Lists {
    /// Opens the lists of the part in `folder`.
    pub fn open(
        folder: &Path,
        note: &PartNote,
        files: &ListFiles,
        documents: u32,
        window: &Window,
    ) -> Result<Self> {
        let terms = note.open(folder, files.terms, window)?;
        let lists = note.open(folder, files.lists, window)?;
        let directory = terms.trailer()?;
        Ok(Lists {
            documents,
            directory,
            places: lists.trailer()?,
            checked: (0..directory.1.div_ceil(64))
                .map(|_| AtomicU64::new(0))
                .collect(),
            postings: note.open(folder, files.postings, window)?,
            terms,
            lists,
        })
    }

    /// The number of lists in blocks.
    pub fn block_lists(&self) -> usize {
        self.places.1
    }

    /// The files, in the order of [`ListFiles::all`].
    pub fn files(&self) -> [&PageFile; 3] {
        [&self.terms, &self.lists, &self.postings]
    }

    /// The error that a list is damaged.
    #[cold]
    pub fn damaged(&self, what: &str) -> tokapi_storage::error::Error {
        self.postings.damaged(what)
    }

    /// The entry of `term`.
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

    /// The shard of a term, and the term's number in the shard.
    pub fn place(&self, term: &[u8]) -> Result<Option<(usize, u32)>> {
        let Some(number) = self.shard_of(term)? else {
            return Ok(None);
        };
        let id = self.shard(number)?.trie.lookup(term);
        Ok(id.map(|id| (number, id)))
    }

    /// Every term of a shard, by its number.
    pub fn names_of_shard(&self, number: usize) -> Result<Vec<(u32, Vec<u8>)>> {
        let shard = self.shard(number)?;
        let ids = 0..shard.header.terms;
        Ok(ids.map(|id| (id, shard.trie.term(id))).collect())
    }

    /// The entry of every term of a shard, by its number.
    pub fn lists_of_shard(&self, number: usize) -> Result<Vec<Found<'_>>> {
        let shard = self.shard(number)?;
        let ids = 0..shard.header.terms;
        ids.map(|id| self.record(&shard, id)).collect()
    }

    /// The df of every term of a shard.
    pub fn dfs_of_shard(&self, number: usize) -> Result<Vec<u64>> {
        let shard = self.shard(number)?;
        let ids = 0..shard.header.terms;
        ids.map(|id| Ok(self.record(&shard, id)?.df)).collect()
    }

    /// The number of shards.
    pub fn shard_count(&self) -> usize {
        self.directory.1
    }

    /// The terms of a shard, ascending, each with its entry.
    pub fn terms_of_shard(&self, number: usize) -> Result<Vec<(Vec<u8>, Found<'_>)>> {
        let shard = self.shard(number)?;
        let mut terms = Vec::with_capacity(shard.header.terms as usize);
        for id in 0..shard.header.terms {
            terms.push((shard.trie.term(id), self.record(&shard, id)?));
        }
        terms.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        Ok(terms)
    }

    /// The last shard whose first term is at most `term`.
    pub fn shard_of(&self, term: &[u8]) -> Result<Option<usize>> {
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

    /// The first term of a shard, read from the directory.
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

    pub(super) fn shard(&self, number: usize) -> Result<ShardView<'_>> {
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

    pub(super) fn record<'a>(&'a self, shard: &ShardView<'a>, id: u32) -> Result<Found<'a>> {
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
        let (list, file) = match first & 1 {
            0 if df > 0 && df < BLOCK as u64 => (List::Short(df as usize, record), &self.terms),
            1 if df <= u64::from(self.documents) => {
                let number = varint::take(&mut record).ok_or_else(damaged)?;
                let number = number.checked_add(shard.header.first_list);
                let blocks = self.blocks(number.ok_or_else(damaged)?)?;
                (List::Blocks(blocks), &self.postings)
            }
            _ => return Err(damaged()),
        };
        Ok(Found {
            df,
            list,
            file,
            documents: self.documents,
        })
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
            number,
        })
    }
}

impl<'a> Blocks<'a> {
    /// The bytes of block `number`.
    #[inline]
    pub fn bytes(&self, file: &'a PageFile, number: usize) -> Result<&'a [u8]> {
        let place = |start: u32| self.begin + 4 * start as usize;
        let end = self
            .starts
            .get(number + 1)
            .map_or(self.end, |&start| place(start));
        file.bytes(place(self.starts[number])..end)
    }

    /// Prefetches block `number`, if it exists.
    #[inline]
    pub fn prefetch(&self, file: &PageFile, number: usize) {
        if let Some(&start) = self.starts.get(number) {
            let place = self.begin + 4 * start as usize;
            // Most blocks fit in three cache lines.
            (0..3).for_each(|line| file.prefetch(place + 64 * line));
        }
    }
}

/// A shard of the dictionary.
pub(super) struct ShardView<'a> {
    header: ShardHeader,
    pub(super) trie: tokapi_weigh::dictionary::Arrays<'a>,
    offsets: &'a [u8],
    records: &'a [u8],
}
