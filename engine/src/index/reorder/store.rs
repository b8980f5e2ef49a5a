//! The store of a part with its documents in another order.
//!
//! Records stand in compressed blocks of which each holds many documents, so they are not fetched one by one:
//! the whole store is read from the beginning, and the records of as many places as there is memory for are
//! kept and written; then it is read again for the next.

use std::ops::Range;
use std::path::Path;

use rayon::prelude::*;

use super::super::manifest::PartNote;
use super::super::store::{Store, StoreWriter, take_record};
use super::permutation::Permutation;
use crate::error::Result;

/// Blocks that are decompressed at a time, on all threads.
const BLOCKS: usize = 128;
/// What a record takes besides its bytes.
const PLACE_BYTES: u64 = size_of::<Range<usize>>() as u64;

/// Writes the records of `store`, at most `most_bytes` of them at a time, on the threads of the pool that this
/// is called in.
pub(super) fn write(
    store: &Store,
    permutation: &Permutation,
    most_bytes: u64,
    folder: &Path,
    note: &mut PartNote,
) -> Result<()> {
    let mut writer = StoreWriter::create(folder)?;
    for group in groups(store, &permutation.places, most_bytes)? {
        let gathered = Gathered::new(store, &permutation.places, group)?;
        for place in &gathered.places {
            writer.push(&[&gathered.bytes[place.clone()]])?;
        }
    }
    writer.finish(note)
}

/// Places whose records take `most_bytes` together, or the one record that takes more.
fn groups(store: &Store, places: &[u32], most_bytes: u64) -> Result<Vec<Range<usize>>> {
    let all = store.raw_bytes()? + PLACE_BYTES * places.len() as u64;
    let mut groups = Vec::new();
    if all <= most_bytes {
        groups.push(0..places.len());
        return Ok(groups);
    }
    let mut sizes = vec![0; places.len()];
    each_record(store, |document, record| {
        let place = *places.get(document)? as usize;
        // So large a record is a group by itself.
        sizes[place] = u32::try_from(record.len()).unwrap_or(u32::MAX);
        Some(())
    })?;
    let (mut from, mut sum) = (0, 0);
    for (place, &size) in sizes.iter().enumerate() {
        let bytes = PLACE_BYTES + u64::from(size);
        if place > from && sum + bytes > most_bytes {
            groups.push(from..place);
            (from, sum) = (place, 0);
        }
        sum += bytes;
    }
    groups.push(from..sizes.len());
    Ok(groups)
}

/// The records of a group.
struct Gathered {
    bytes: Vec<u8>,
    /// Where that of each place stands.
    places: Vec<Range<usize>>,
}

impl Gathered {
    fn new(store: &Store, places: &[u32], group: Range<usize>) -> Result<Self> {
        let mut gathered = Gathered {
            bytes: Vec::new(),
            places: vec![0..0; group.len()],
        };
        let mut count = 0;
        each_record(store, |document, record| {
            let place = *places.get(document)? as usize;
            if group.contains(&place) {
                let start = gathered.bytes.len();
                gathered.bytes.extend_from_slice(record);
                gathered.places[place - group.start] = start..gathered.bytes.len();
                count += 1;
            }
            Some(())
        })?;
        match count == group.len() {
            true => Ok(gathered),
            false => Err(store.damaged()),
        }
    }
}

/// Gives every document and its record to `visit`, which gives none where there can be no such document.
fn each_record(store: &Store, mut visit: impl FnMut(usize, &[u8]) -> Option<()>) -> Result<()> {
    let blocks: Vec<usize> = (0..store.block_count()).collect();
    for batch in blocks.chunks(BLOCKS) {
        let read = batch.par_iter().map(|&block| store.block(block));
        for (documents, bytes) in read.collect::<Result<Vec<_>>>()? {
            let mut rest = &bytes[..];
            for document in documents {
                let record = take_record(&mut rest);
                // A part has fewer than 2^32.
                let visited = record.and_then(|record| visit(document as usize, record));
                visited.ok_or_else(|| store.damaged())?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

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
            writer.push(&[&record(document)]).unwrap();
        }
        writer.finish(&mut note).unwrap();
        let store = Store::open(folder.path(), &note).unwrap();
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
            write(&store, &permutation, most_bytes, folder.path(), &mut note).unwrap();
            let written = Store::open(folder.path(), &note).unwrap();
            let mut records = written.records();
            for &document in &permutation.order {
                assert!(records.next().unwrap() == Some(&record(document)[..]));
            }
            assert!(records.next().unwrap().is_none());
        }
    }
}
