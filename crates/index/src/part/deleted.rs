//! The deleted documents of a part: a list in the form of a term's list, in its own file.
//!
//! A part never changes. A deletion writes a new file. The next state of the index names it in
//! place of the previous one.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::block::{BLOCK, Entry};
use super::bounds::LengthCodes;
use super::cursor::Cursor;
use super::encode::{DocumentLengths, Encoded, Encoder};
use super::file::{self, PageFile, PageWriter};
use super::layout::{DELETED, DeletedHeader};
use super::lists::{Blocks, Found, List, Lists};
use super::note::DeletedNote;
use super::window::Window;
use tokapi_storage::error::Result;

/// The deleted documents, opened.
pub(crate) struct Deleted {
    file: Arc<PageFile>,
    /// The number of the part's documents.
    documents: u32,
    count: u64,
    /// For every list in blocks, the number of remaining documents plus one; 0 until it is
    /// counted.
    left: Box<[AtomicU32]>,
}

impl Deleted {
    /// Opens the file that `note` describes.
    pub fn open(
        folder: &Path,
        note: &DeletedNote,
        documents: u32,
        lists: &Lists,
        window: &Window,
    ) -> Result<Self> {
        if Path::new(&note.name).file_name() != Some(note.name.as_ref()) {
            return Err(file::damaged(folder, "the name of a file is none"));
        }
        let file = PageFile::open(folder.join(&note.name), DELETED.kind, &note.file, window)?;
        Ok(Deleted {
            file,
            documents,
            count: note.documents,
            left: bytemuck::zeroed_slice_box(lists.block_lists()),
        })
    }

    /// The file.
    pub fn file(&self) -> &PageFile {
        &self.file
    }

    /// The list, in the form of a term's list.
    pub fn found(&self) -> Result<Found<'_>> {
        let file = &self.file;
        let header = file.slice::<DeletedHeader>(0, 1)?[0];
        let blocks = usize::try_from(header.blocks).unwrap_or(usize::MAX);
        if blocks == 0 || blocks > file.len() || header.documents != self.count {
            return Err(file.damaged("it tells of other documents than the manifest"));
        }
        let entries_at = size_of::<DeletedHeader>();
        let lasts_at = entries_at + blocks * size_of::<Entry>();
        let starts_at = lasts_at + 4 * blocks;
        let begin = (starts_at + 4 * blocks).next_multiple_of(8);
        Ok(Found {
            df: header.documents,
            list: List::Blocks(Blocks {
                entries: file.slice(entries_at, blocks)?,
                lasts: file.slice(lasts_at, blocks)?,
                starts: file.slice(starts_at, blocks)?,
                front: Default::default(),
                begin,
                end: file.len(),
                number: 0,
            }),
            file,
            documents: self.documents,
        })
    }
}

impl Deleted {
    /// The number of documents of a list of the part that are not deleted.
    pub fn left_of(&self, found: &Found<'_>) -> Result<u64> {
        let counted = match &found.list {
            List::Blocks(blocks) => self.left.get(blocks.number),
            List::Short(..) => None,
        };
        match counted.map_or(0, |counted| counted.load(Ordering::Relaxed)) {
            0 => {}
            counted => return Ok(u64::from(counted) - 1),
        }
        let (mut some, mut all) = (Cursor::new(&self.found()?)?, Cursor::new(found)?);
        if some.df > all.df {
            std::mem::swap(&mut some, &mut all);
        }
        let (mut both, mut documents) = (0, Vec::with_capacity(BLOCK));
        for block in 0..some.block_count() {
            some.go_to_block(block);
            some.decode()?;
            documents.clear();
            documents.extend_from_slice(some.documents());
            all.intersect(&mut documents)?;
            both += documents.len() as u64;
        }
        let left = found.df - both;
        if let Some(counted) = counted {
            // Fewer than 2^32. A sum that wraps to 0 is counted again.
            counted.store((left as u32).wrapping_add(1), Ordering::Relaxed);
        }
        Ok(left)
    }
}

/// Writes the list of deleted `documents` to the file `name` in the folder of a part. They ascend,
/// are not empty, and have this length together.
pub(super) fn write(
    folder: &Path,
    name: String,
    codes: &LengthCodes,
    documents: &[u32],
    total_length: u64,
) -> Result<DeletedNote> {
    // A list of deleted documents needs no bounds.
    let of_none = DocumentLengths {
        codes,
        lengths: &vec![0; documents[documents.len() - 1] as usize + 1],
        statistics: Default::default(),
    };
    let mut encoded = Encoded::default();
    let tfs = vec![1; documents.len()];
    Encoder::new(&of_none).encode_blocks(documents, &tfs, true, &mut encoded);
    let mut writer = PageWriter::create(folder.join(&name))?;
    writer.write(bytemuck::bytes_of(&DeletedHeader {
        documents: documents.len() as u64,
        blocks: encoded.entries.len() as u64,
    }))?;
    writer.write(bytemuck::cast_slice(&encoded.entries))?;
    writer.write(bytemuck::cast_slice(&encoded.lasts))?;
    writer.write(bytemuck::cast_slice(&encoded.starts))?;
    writer.align(8)?;
    writer.write(&encoded.postings)?;
    Ok(DeletedNote {
        name,
        file: writer.finish(DELETED.kind)?,
        documents: documents.len() as u64,
        total_length,
    })
}
