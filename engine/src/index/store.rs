//! Documents kept for display: a record each, in compressed blocks.
//!
//! A block holds whole records, each behind its length, as one Zstandard frame; a table at the end of the
//! file says which document is the first of every block, so that a record costs the decompression of one
//! block. What is in a record is for `document.rs` to say.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;

use super::file::{PageFile, PageWriter};
use super::layout::{STORE, StoreBlock};
use super::manifest::PartNote;
use super::part::{open_file, trailer};
use super::window::Window;
use crate::error::{Error, Result};
use crate::varint;

/// A block ends when it has so many bytes, uncompressed. Measured on SciFact, parts of the raw size and time
/// to fetch a document: 16 KiB 0.416 and 27 us, 32 KiB 0.397 and 43 us, 64 KiB 0.380 and 67 us.
const BLOCK_BYTES: usize = 32 << 10;
/// A record that would make a block larger than this begins a new one.
const MOST_BYTES: usize = 2 * BLOCK_BYTES;
/// Bytes that are compressed at a time, on all threads.
const GROUP_BYTES: usize = 4 << 20;
/// The level of compression. On 873,000 generated passages, level 1 takes 2% more room and 9% less time, level
/// 6 takes 1% less room and 2.5 times as long.
const LEVEL: i32 = 3;
/// What a block of a Zstandard frame holds at most, and the bytes that it takes at least.
const FRAME_BLOCK: (usize, usize) = (128 << 10, 4);

/// A store being written. Blocks are compressed by the pool of threads that it is used in.
pub(crate) struct StoreWriter {
    file: PageWriter,
    blocks: Vec<StoreBlock>,
    /// Blocks that are whole, each with its first document.
    whole: Vec<(u64, Vec<u8>)>,
    whole_bytes: usize,
    /// The block that is being filled, and its first document.
    open: Vec<u8>,
    first: u64,
    count: u64,
}

impl StoreWriter {
    /// Begins the file in `folder`.
    pub fn create(folder: &Path) -> Result<Self> {
        Ok(StoreWriter {
            file: PageWriter::create(folder.join(STORE.name))?,
            blocks: Vec::new(),
            whole: Vec::new(),
            whole_bytes: 0,
            open: Vec::new(),
            first: 0,
            count: 0,
        })
    }

    /// Adds the record of the next document, given in pieces.
    pub fn push(&mut self, record: &[&[u8]]) -> Result<()> {
        let bytes: usize = record.iter().map(|piece| piece.len()).sum();
        if !self.open.is_empty() && self.open.len().saturating_add(bytes) > MOST_BYTES {
            self.end_block()?;
        }
        varint::push(bytes as u64, &mut self.open);
        self.open.reserve(bytes);
        for piece in record {
            self.open.extend_from_slice(piece);
        }
        self.count += 1;
        match self.open.len() < BLOCK_BYTES {
            true => Ok(()),
            false => self.end_block(),
        }
    }

    fn end_block(&mut self) -> Result<()> {
        let block = std::mem::replace(&mut self.open, Vec::with_capacity(BLOCK_BYTES));
        self.whole_bytes += block.len();
        self.whole.push((self.first, block));
        self.first = self.count;
        match self.whole_bytes < GROUP_BYTES {
            true => Ok(()),
            false => self.write_whole(),
        }
    }

    /// Compresses and writes the blocks that are whole.
    fn write_whole(&mut self) -> Result<()> {
        let whole = std::mem::take(&mut self.whole);
        self.whole_bytes = 0;
        let compress = |(first, block): &(u64, Vec<u8>)| {
            let compressed = zstd::bulk::compress(block, LEVEL);
            let compressed = compressed.map_err(|error| {
                Error::Limit(format!("a block of documents is not compressed: {error}"))
            });
            compressed.map(|compressed| (*first, block.len() as u64, compressed))
        };
        let compressed: Vec<_> = whole.par_iter().map(compress).collect::<Result<_>>()?;
        for (first, raw_bytes, compressed) in compressed {
            self.blocks.push(StoreBlock {
                first,
                at: self.file.at(),
                bytes: compressed.len() as u64,
                raw_bytes,
            });
            self.file.write(&compressed)?;
        }
        Ok(())
    }

    /// Ends the file.
    pub fn finish(mut self, note: &mut PartNote) -> Result<()> {
        if !self.open.is_empty() {
            self.end_block()?;
        }
        self.write_whole()?;
        self.file.align(8)?;
        let table_at = self.file.at();
        self.file.write(bytemuck::cast_slice(&self.blocks))?;
        let count = self.blocks.len() as u64;
        self.file.write(bytemuck::bytes_of(&[table_at, count]))?;
        let written = self.file.finish(STORE.kind)?;
        note.files.insert(STORE.name.into(), written);
        Ok(())
    }
}

/// A store, opened.
pub(crate) struct Store {
    file: Arc<PageFile>,
    /// Where the table of the blocks stands, and their number.
    table: (usize, usize),
    documents: u64,
}

impl Store {
    /// Opens the store of the part in `folder`.
    pub fn open(folder: &Path, note: &PartNote, window: &Window) -> Result<Self> {
        let file = open_file(folder, note, STORE, window)?;
        Ok(Store {
            table: trailer(&file)?,
            documents: note.documents,
            file,
        })
    }

    /// The file.
    pub fn file(&self) -> &PageFile {
        &self.file
    }

    /// The error that a record is not what was written.
    #[cold]
    pub fn damaged(&self) -> Error {
        self.file.damaged("a document is not what was written")
    }

    /// The record of a document.
    pub fn record(&self, document: u32) -> Result<Vec<u8>> {
        let document = u64::from(document);
        let (mut low, mut high) = (0, self.table.1);
        while low < high {
            let middle = low.midpoint(high);
            match self.place(middle)?.first <= document {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        let block = low.checked_sub(1).ok_or_else(|| self.damaged())?;
        let (documents, bytes) = self.block(block)?;
        if !documents.contains(&document) {
            return Err(self.damaged());
        }
        let mut rest = &bytes[..];
        let mut record = None;
        for _ in documents.start..=document {
            record = take_record(&mut rest);
        }
        record.map(<[u8]>::to_vec).ok_or_else(|| self.damaged())
    }

    /// The records of all documents, in order.
    pub fn records(&self) -> Records<'_> {
        Records {
            store: self,
            block: 0,
            left: 0,
            bytes: Vec::new(),
            at: 0,
        }
    }

    /// The number of blocks.
    pub fn block_count(&self) -> usize {
        self.table.1
    }

    /// The bytes of all blocks, uncompressed.
    pub fn raw_bytes(&self) -> Result<u64> {
        let sum = |sum: u64, block| Ok(sum.saturating_add(self.place(block)?.raw_bytes));
        (0..self.table.1).try_fold(0, sum)
    }

    fn place(&self, block: usize) -> Result<StoreBlock> {
        let at = self.table.0 + size_of::<StoreBlock>() * block;
        Ok(self.file.slice::<StoreBlock>(at, 1)?[0])
    }

    /// The documents of a block, and their records behind their lengths.
    pub fn block(&self, block: usize) -> Result<(Range<u64>, Vec<u8>)> {
        let place = self.place(block)?;
        let next = match block + 1 < self.table.1 {
            true => self.place(block + 1)?.first,
            false => self.documents,
        };
        // No place is beyond 2^64.
        let end = place.at.saturating_add(place.bytes) as usize;
        let bytes = self.file.bytes(place.at as usize..end)?;
        let raw_bytes = usize::try_from(place.raw_bytes).unwrap_or(usize::MAX);
        // No more memory than so many bytes can stand for.
        let most = (bytes.len() / FRAME_BLOCK.1 + 1).saturating_mul(FRAME_BLOCK.0);
        if place.first >= next || raw_bytes > most {
            return Err(self.damaged());
        }
        let raw = zstd::bulk::decompress(bytes, raw_bytes).map_err(|_| self.damaged())?;
        match raw.len() == raw_bytes {
            true => Ok((place.first..next, raw)),
            false => Err(self.damaged()),
        }
    }
}

/// Takes a record off a block.
pub(super) fn take_record<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(varint::take(bytes)?).ok()?;
    let (record, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(record)
}

/// The records of a store, one after the other.
pub(crate) struct Records<'a> {
    store: &'a Store,
    /// The next block.
    block: usize,
    /// Records of the block at hand that are still to come.
    left: u64,
    bytes: Vec<u8>,
    at: usize,
}

impl Records<'_> {
    /// The next record; none at the end.
    pub fn next(&mut self) -> Result<Option<&[u8]>> {
        if self.left == 0 {
            if self.at != self.bytes.len() {
                return Err(self.store.damaged());
            }
            if self.block == self.store.table.1 {
                return Ok(None);
            }
            let (documents, bytes) = self.store.block(self.block)?;
            self.left = documents.end - documents.start;
            (self.bytes, self.at) = (bytes, 0);
            self.block += 1;
        }
        let mut rest = &self.bytes[self.at..];
        let record = take_record(&mut rest).ok_or_else(|| self.store.damaged())?;
        self.at = self.bytes.len() - rest.len();
        self.left -= 1;
        Ok(Some(record))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let record = |number: usize| -> Vec<u8> {
            let bytes = match number % 1000 {
                999 => 5 << 20,
                998 => MOST_BYTES,
                997 => BLOCK_BYTES,
                small => small % 97,
            };
            (0..bytes).map(|at| ((at * number) >> 7) as u8).collect()
        };
        for count in [0, 1, 997, 3500] {
            let folder = folder.path().join(count.to_string());
            std::fs::create_dir(&folder).unwrap();
            let mut note = PartNote {
                documents: count as u64,
                ..PartNote::default()
            };
            let mut writer = StoreWriter::create(&folder).unwrap();
            for number in 0..count {
                let record = record(number);
                let (head, tail) = record.split_at(record.len() / 3);
                writer.push(&[head, tail]).unwrap();
            }
            writer.finish(&mut note).unwrap();
            let store = Store::open(&folder, &note, &Window::default()).unwrap();
            let mut records = store.records();
            for number in 0..count {
                let expected = record(number);
                assert!(records.next().unwrap() == Some(&expected[..]), "{number}");
                if number % 7 == 0 {
                    assert!(store.record(number as u32).unwrap() == expected, "{number}");
                }
            }
            assert!(records.next().unwrap().is_none());
            assert!(store.record(count as u32).is_err());
        }
    }
}
