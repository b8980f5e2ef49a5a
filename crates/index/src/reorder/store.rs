//! Writes the store of a part in a new order of documents.
//!
//! Records are stored in compressed blocks of many documents each.

use std::path::Path;

use rayon::prelude::*;

use super::gather::{InOrder, Records, Visit};
use super::permutation::Permutation;
use crate::part::note::PartNote;
use crate::part::store::{Record, Store, StoreWriter};
use tokapi_storage::error::{Error, Result};
use tokapi_storage::progress::Progress;
use tokapi_storage::varint;

/// Blocks decompressed together, on all threads.
const BLOCKS: usize = 128;

/// Writes the records of `store` in the new order, with at most `most_bytes` of them in memory, on
/// the current thread pool.
pub(super) fn write(
    store: &Store,
    permutation: &Permutation,
    most_bytes: u64,
    folder: &Path,
    note: &mut PartNote,
    progress: &Progress,
) -> Result<()> {
    let mut writer = StoreWriter::create(folder)?;
    let mut records = InOrder::new(store, &permutation.places, most_bytes, progress)?;
    while let Some(record) = records.next()? {
        writer.push(split(record).ok_or_else(|| store.damaged())?)?;
    }
    writer.finish(note)
}

/// Joins the two parts of a record: the length of the values, the values, the text.
fn join(record: Record<'_>, joined: &mut Vec<u8>) {
    joined.clear();
    varint::push(record.values.len() as u64, joined);
    joined.extend_from_slice(record.values);
    joined.extend_from_slice(record.text);
}

/// Splits a record written by [`join`].
fn split(mut joined: &[u8]) -> Option<Record<'_>> {
    let length = usize::try_from(varint::take(&mut joined)?).ok()?;
    let (values, text) = joined.split_at_checked(length)?;
    Some(Record { values, text })
}

impl Records for &Store {
    fn each(&self, progress: &Progress, visit: &mut Visit<'_>) -> Result<()> {
        let mut joined = Vec::new();
        let blocks: Vec<usize> = (0..self.block_count()).collect();
        for batch in blocks.chunks(BLOCKS) {
            progress.check()?;
            let read = batch.par_iter().map(|&block| self.block(block));
            for block in read.collect::<Result<Vec<_>>>()? {
                let mut records = block.records();
                for document in block.documents() {
                    let record = records.next().ok_or_else(|| Store::damaged(self))?;
                    join(record, &mut joined);
                    // A part has fewer than 2^32.
                    let visited = visit(document as usize, &joined);
                    visited.ok_or_else(|| Store::damaged(self))?;
                }
            }
        }
        Ok(())
    }

    fn bytes(&self) -> Result<u64> {
        self.raw_bytes()
    }

    fn damaged(&self) -> Error {
        Store::damaged(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::layout::STORE;
    use crate::part::window::Window;

    #[test]
    fn memory_does_not_matter() {
        let folder = tempfile::tempdir().unwrap();
        let count = 3000u32;
        let record = |document: u32| vec![document as u8; (document * 37 % 501) as usize];
        let mut note = PartNote {
            documents: count.into(),
            ..PartNote::default()
        };
        let mut writer = StoreWriter::create(folder.path()).unwrap();
        for document in 0..count {
            let record = record(document);
            let (values, text) = record.split_at(record.len() / 5);
            writer.push(Record { values, text }).unwrap();
        }
        writer.finish(&mut note).unwrap();
        let store = Store::open(folder.path(), &note, STORE, &Window::default()).unwrap();
        // 7 and 3000 have no factor in common.
        let order: Vec<u32> = (0..count).map(|place| place * 7 % count).collect();
        let mut places = vec![0; order.len()];
        for (place, &document) in (0..).zip(&order) {
            places[document as usize] = place;
        }
        let permutation = Permutation { order, places };
        for most_bytes in [1000, 100_000, 1 << 30] {
            let folder = tempfile::tempdir().unwrap();
            let mut note = note.clone();
            let (folder, progress) = (folder.path(), Progress::new());
            write(
                &store,
                &permutation,
                most_bytes,
                folder,
                &mut note,
                &progress,
            )
            .unwrap();
            let written = Store::open(folder, &note, STORE, &Window::default()).unwrap();
            let mut records = written.records();
            for &document in &permutation.order {
                let record = record(document);
                let (values, text) = record.split_at(record.len() / 5);
                assert!(records.next().unwrap() == Some(Record { values, text }));
            }
            assert!(records.next().unwrap().is_none());
        }
    }
}
