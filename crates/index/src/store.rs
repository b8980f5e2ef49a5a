//! Documents kept for display: a record each, in compressed blocks.
//!
//! A record has two parts: the values of fields, and the text. A block holds the records of some documents as two
//! Zstandard frames, one of their values and one of their texts, each behind its length. So fields are read without
//! unpacking texts. A table at the end of the file names the first document of every block, and a record costs the
//! decompression of one block. `document.rs` defines the bytes of values.
//!
//! Former versions compressed both in one frame. There a record is all values, and the text stands behind them:
//! readers take both parts one after the other, so that it makes no difference to them.

use std::cell::RefCell;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;
use zstd::bulk::Decompressor;

use super::file::{PageFile, PageWriter};
use super::layout::{FormerStoreBlock, FrameBytes, PartFile, STORE, StoreBlock};
use super::manifest::PartNote;
use super::part::{open_file, trailer};
use super::window::Window;
use tokapi_storage::error::{Error, Result};
use tokapi_storage::varint;

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

/// The values of a document's fields, and its text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Record<'a> {
    pub values: &'a [u8],
    pub text: &'a [u8],
}

impl Record<'_> {
    fn bytes(&self) -> usize {
        self.values.len().saturating_add(self.text.len())
    }
}

/// The records of some documents, uncompressed: each part behind its length.
#[derive(Default)]
struct Raw {
    values: Vec<u8>,
    texts: Vec<u8>,
}

impl Raw {
    fn bytes(&self) -> usize {
        self.values.len() + self.texts.len()
    }

    fn push(&mut self, record: Record<'_>) {
        let parts = [
            (&mut self.values, record.values),
            (&mut self.texts, record.text),
        ];
        for (bytes, part) in parts {
            varint::push(part.len() as u64, bytes);
            bytes.extend_from_slice(part);
        }
    }
}

/// A store being written. Blocks are compressed by the pool of threads that it is used in.
pub(crate) struct StoreWriter {
    file: PageWriter,
    blocks: Vec<StoreBlock>,
    /// Blocks that are whole, each with its first document.
    whole: Vec<(u64, Raw)>,
    whole_bytes: usize,
    /// The block that is being filled, and its first document.
    open: Raw,
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
            open: Raw::default(),
            first: 0,
            count: 0,
        })
    }

    /// Adds the record of the next document.
    pub fn push(&mut self, record: Record<'_>) -> Result<()> {
        let bytes = self.open.bytes();
        if bytes > 0 && bytes.saturating_add(record.bytes()) > MOST_BYTES {
            self.end_block()?;
        }
        self.open.push(record);
        self.count += 1;
        match self.open.bytes() < BLOCK_BYTES {
            true => Ok(()),
            false => self.end_block(),
        }
    }

    fn end_block(&mut self) -> Result<()> {
        let block = std::mem::take(&mut self.open);
        self.whole_bytes += block.bytes();
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
        let compress = |(first, block): &(u64, Raw)| {
            let values = compress(&block.values)?;
            let texts = compress(&block.texts)?;
            let place = StoreBlock {
                first: *first,
                at: 0,
                values: FrameBytes {
                    stored: values.len() as u64,
                    raw: block.values.len() as u64,
                },
                texts: FrameBytes {
                    stored: texts.len() as u64,
                    raw: block.texts.len() as u64,
                },
            };
            Ok((place, values, texts))
        };
        let compressed: Vec<_> = whole.par_iter().map(compress).collect::<Result<_>>()?;
        for (place, values, texts) in compressed {
            self.blocks.push(StoreBlock {
                at: self.file.at(),
                ..place
            });
            self.file.write(&values)?;
            self.file.write(&texts)?;
        }
        Ok(())
    }

    /// Ends the file.
    pub fn finish(mut self, note: &mut PartNote) -> Result<()> {
        if self.open.bytes() > 0 {
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

fn compress(bytes: &[u8]) -> Result<Vec<u8>> {
    zstd::bulk::compress(bytes, LEVEL)
        .map_err(|error| Error::Limit(format!("a block of documents is not compressed: {error}")))
}

/// A store, opened.
pub(crate) struct Store {
    kind: PartFile,
    file: Arc<PageFile>,
    /// Where the table of the blocks stands, and their number.
    table: (usize, usize),
    documents: u64,
}

impl Store {
    /// Opens the store of the part in `folder`: a [`STORE`], or that of a former version.
    pub fn open(folder: &Path, note: &PartNote, kind: PartFile, window: &Window) -> Result<Self> {
        let file = open_file(folder, note, kind, window)?;
        Ok(Store {
            kind,
            table: trailer(&file)?,
            documents: note.documents,
            file,
        })
    }

    /// The name of the file.
    pub fn name(&self) -> &'static str {
        self.kind.name
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

    /// The record of a document: its values, followed by its text.
    pub fn record(&self, document: u32) -> Result<Vec<u8>> {
        let block = self.block(self.block_of(document)?)?;
        let record = block
            .record(document.into())
            .ok_or_else(|| self.damaged())?;
        Ok([record.values, record.text].concat())
    }

    /// The values of a document; in a store of a former version its text follows.
    pub fn values(&self, document: u32) -> Result<Vec<u8>> {
        let (place, documents) = self.place(self.block_of(document)?)?;
        let values = self.unpack(place.at, place.values)?;
        let block = Block {
            documents,
            raw: Raw {
                values,
                texts: Vec::new(),
            },
        };
        let values = block.part(&block.raw.values, document.into());
        values.map(<[u8]>::to_vec).ok_or_else(|| self.damaged())
    }

    /// The block that a document is in.
    fn block_of(&self, document: u32) -> Result<usize> {
        let (mut low, mut high) = (0, self.table.1);
        while low < high {
            let middle = low.midpoint(high);
            match self.entry(middle)?.first <= u64::from(document) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low.checked_sub(1).ok_or_else(|| self.damaged())
    }

    /// The records of all documents, in order.
    pub fn records(&self) -> Records<'_> {
        Records {
            store: self,
            next: 0,
            block: Block::default(),
            at: Cursor::default(),
        }
    }

    /// The number of blocks.
    pub fn block_count(&self) -> usize {
        self.table.1
    }

    /// The bytes of all blocks, uncompressed.
    pub fn raw_bytes(&self) -> Result<u64> {
        let sum = |sum: u64, block| {
            let entry = self.entry(block)?;
            let raw = entry.values.raw.saturating_add(entry.texts.raw);
            Ok(sum.saturating_add(raw))
        };
        (0..self.table.1).try_fold(0, sum)
    }

    /// What the table says of a block.
    fn entry(&self, block: usize) -> Result<StoreBlock> {
        if self.kind.name == STORE.name {
            let at = self.table.0 + size_of::<StoreBlock>() * block;
            return Ok(self.file.slice::<StoreBlock>(at, 1)?[0]);
        }
        let at = self.table.0 + size_of::<FormerStoreBlock>() * block;
        let former = self.file.slice::<FormerStoreBlock>(at, 1)?[0];
        Ok(StoreBlock {
            first: former.first,
            at: former.at,
            values: former.records,
            texts: FrameBytes::default(),
        })
    }

    /// Where a block stands, and the documents in it.
    fn place(&self, block: usize) -> Result<(StoreBlock, Range<u64>)> {
        let place = self.entry(block)?;
        let next = match block + 1 < self.table.1 {
            true => self.entry(block + 1)?.first,
            false => self.documents,
        };
        match place.first < next {
            true => Ok((place, place.first..next)),
            false => Err(self.damaged()),
        }
    }

    /// The records of a block.
    pub fn block(&self, block: usize) -> Result<Block> {
        let (place, documents) = self.place(block)?;
        // No place is beyond 2^64.
        let texts_at = place.at.saturating_add(place.values.stored);
        let raw = Raw {
            values: self.unpack(place.at, place.values)?,
            texts: self.unpack(texts_at, place.texts)?,
        };
        Ok(Block { documents, raw })
    }

    /// The bytes of a frame.
    fn unpack(&self, at: u64, frame: FrameBytes) -> Result<Vec<u8>> {
        if frame.stored == 0 && frame.raw == 0 {
            return Ok(Vec::new());
        }
        let end = at.saturating_add(frame.stored) as usize;
        let bytes = self.file.bytes(at as usize..end)?;
        let raw_bytes = usize::try_from(frame.raw).unwrap_or(usize::MAX);
        // No more memory than so many bytes can stand for.
        let most = (bytes.len() / FRAME_BLOCK.1 + 1).saturating_mul(FRAME_BLOCK.0);
        if raw_bytes > most {
            return Err(self.damaged());
        }
        // A context takes longer to make than a frame of values to decompress.
        thread_local! {
            static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
        }
        let raw = DECOMPRESSOR.with_borrow_mut(|kept| {
            let decompressor = match kept {
                Some(decompressor) => decompressor,
                none => none.insert(Decompressor::new()?),
            };
            decompressor.decompress(bytes, raw_bytes)
        });
        let raw = raw.map_err(|_| self.damaged())?;
        match raw.len() == raw_bytes {
            true => Ok(raw),
            false => Err(self.damaged()),
        }
    }
}

/// A block of records, unpacked.
#[derive(Default)]
pub(crate) struct Block {
    documents: Range<u64>,
    raw: Raw,
}

impl Block {
    /// Its documents.
    pub fn documents(&self) -> Range<u64> {
        self.documents.clone()
    }

    /// Its records, in order; a missing one ends them.
    pub fn records(&self) -> impl Iterator<Item = Record<'_>> {
        let mut at = Cursor::default();
        self.documents().map_while(move |_| at.take(&self.raw))
    }

    fn record(&self, document: u64) -> Option<Record<'_>> {
        let values = self.part(&self.raw.values, document)?;
        let text = match self.raw.texts[..] {
            [] => &[],
            _ => self.part(&self.raw.texts, document)?,
        };
        Some(Record { values, text })
    }

    /// What a document has in `bytes`.
    fn part<'a>(&self, mut bytes: &'a [u8], document: u64) -> Option<&'a [u8]> {
        let place = document.checked_sub(self.documents.start)?;
        if document >= self.documents.end {
            return None;
        }
        (0..place).try_for_each(|_| take_part(&mut bytes).map(drop))?;
        take_part(&mut bytes)
    }
}

/// Takes a part of a record off the parts of a block.
fn take_part<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(varint::take(bytes)?).ok()?;
    let (part, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(part)
}

/// A place in a block.
#[derive(Default)]
struct Cursor {
    values: usize,
    texts: usize,
}

impl Cursor {
    /// The record that stands there, and moves on.
    fn take<'a>(&mut self, raw: &'a Raw) -> Option<Record<'a>> {
        let mut values = &raw.values[self.values..];
        let mut texts = &raw.texts[self.texts..];
        let record = Record {
            values: take_part(&mut values)?,
            // Former versions have no texts.
            text: match raw.texts[..] {
                [] => &[],
                _ => take_part(&mut texts)?,
            },
        };
        self.values = raw.values.len() - values.len();
        self.texts = raw.texts.len() - texts.len();
        Some(record)
    }

    fn is_at_end(&self, raw: &Raw) -> bool {
        self.values == raw.values.len() && self.texts == raw.texts.len()
    }
}

/// The records of a store, one after the other.
pub(crate) struct Records<'a> {
    store: &'a Store,
    /// The next block.
    next: usize,
    /// The block at hand; its documents are those still to come.
    block: Block,
    at: Cursor,
}

impl Records<'_> {
    /// The next record; none at the end.
    pub fn next(&mut self) -> Result<Option<Record<'_>>> {
        if self.block.documents.is_empty() {
            if !self.at.is_at_end(&self.block.raw) {
                return Err(self.store.damaged());
            }
            if self.next == self.store.table.1 {
                return Ok(None);
            }
            self.block = self.store.block(self.next)?;
            self.at = Cursor::default();
            self.next += 1;
        }
        self.block.documents.start += 1;
        let record = self.at.take(&self.block.raw);
        record.map(Some).ok_or_else(|| self.store.damaged())
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
                let (values, text) = record.split_at(record.len() / 3);
                writer.push(Record { values, text }).unwrap();
            }
            writer.finish(&mut note).unwrap();
            let store = Store::open(&folder, &note, STORE, &Window::default()).unwrap();
            let mut records = store.records();
            for number in 0..count {
                let expected = record(number);
                let (values, text) = expected.split_at(expected.len() / 3);
                let next = records.next().unwrap();
                assert!(next == Some(Record { values, text }), "{number}");
                if number % 7 == 0 {
                    assert!(store.record(number as u32).unwrap() == expected, "{number}");
                    assert!(store.values(number as u32).unwrap() == values, "{number}");
                }
            }
            assert!(records.next().unwrap().is_none());
            assert!(store.record(count as u32).is_err());
            assert!(store.values(count as u32).is_err());
        }
    }
}
