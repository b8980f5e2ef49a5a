//! Reads the store of a part.

use std::cell::RefCell;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use zstd::bulk::Decompressor;

use super::super::file::PageFile;
use super::super::layout::{FormerStoreBlock, FrameBytes, PartFile, STORE, StoreBlock};
use super::super::note::PartNote;
use super::super::window::Window;
use super::block::Record;
use super::block::{Block, Place, Raw};
use tokapi_storage::error::{Error, Result};

/// Maximum size of the content of a Zstandard block, and minimum size of its compressed form.
const FRAME_BLOCK: (usize, usize) = (128 << 10, 4);

/// An open store.
pub(crate) struct Store {
    kind: PartFile,
    file: Arc<PageFile>,
    /// The offset of the block table, and the number of blocks.
    table: (usize, usize),
    documents: u64,
}

impl Store {
    /// Opens the store of the part in `folder`: a [`STORE`], or that of a former version.
    pub fn open(folder: &Path, note: &PartNote, kind: PartFile, window: &Window) -> Result<Self> {
        let file = note.open(folder, kind, window)?;
        Ok(Store {
            kind,
            table: file.trailer()?,
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

    /// The error that a record is damaged.
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

    /// The block that has a document.
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
            at: Place::default(),
        }
    }

    /// The number of blocks.
    pub fn block_count(&self) -> usize {
        self.table.1
    }

    /// The total size of the blocks in bytes, decompressed.
    pub fn raw_bytes(&self) -> Result<u64> {
        let sum = |sum: u64, block| {
            let entry = self.entry(block)?;
            let raw = entry.values.raw.saturating_add(entry.texts.raw);
            Ok(sum.saturating_add(raw))
        };
        (0..self.table.1).try_fold(0, sum)
    }

    /// The entry of a block in the table.
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

    /// The position of a block, and its documents.
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
        // No offset exceeds 2^64.
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
        // The memory is bounded by the maximum content of a frame of this size.
        let most = (bytes.len() / FRAME_BLOCK.1 + 1).saturating_mul(FRAME_BLOCK.0);
        if raw_bytes > most {
            return Err(self.damaged());
        }
        // Making a context takes longer than decompressing a frame of values.
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

/// The records of a store, one after the other.
pub(crate) struct Records<'a> {
    store: &'a Store,
    /// The next block.
    next: usize,
    /// The current block, with the documents still to come.
    block: Block,
    at: Place,
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
            self.at = Place::default();
            self.next += 1;
        }
        self.block.documents.start += 1;
        let record = self.at.take(&self.block.raw);
        record.map(Some).ok_or_else(|| self.store.damaged())
    }
}
