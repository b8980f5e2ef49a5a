//! The ids of the documents of a part, by document and by id.
//!
//! The table finds the document of an id. An id's hash selects a bucket; the bucket has the documents with such ids,
//! ascending, and a byte of each hash, so that seldom more than one id is compared.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::file::{PageFile, PageWriter};
use super::layout::{self, GROUP_IDS};
use super::note::PartNote;
use super::window::Window;
use tokapi_storage::error::Result;
use tokapi_storage::mix::fold;
use tokapi_storage::progress::Progress;
use tokapi_storage::varint;

/// Documents of a bucket, on average.
const BUCKET_DOCUMENTS: u64 = 4;
/// Bytes of the table that are filled in one pass over the ids: 3.3 million documents.
const PASS_BYTES: u64 = 16 << 20;

/// The ids of a part.
pub(crate) struct IdFile {
    file: Arc<PageFile>,
    /// The starts of the groups of ids.
    groups: usize,
    documents: u32,
    /// None in a part of former versions.
    table: Option<IdTable>,
}

impl IdFile {
    /// Opens the ids of the part in `folder` that `note` describes.
    pub fn open(folder: &Path, note: &PartNote, window: &Window) -> Result<Self> {
        let file = note.open(folder, layout::IDS, window)?;
        let documents = u32::try_from(note.documents)
            .map_err(|_| file.damaged("a part has fewer than 2^32 documents"))?;
        let [groups] = file.tail::<1>()?;
        if groups > file.len() {
            return Err(file.damaged("a place in it is beyond its end"));
        }
        let table = match note.files.contains_key(layout::ID_TABLE.name) {
            true => Some(IdTable::open(folder, note, documents, window)?),
            false => None,
        };
        Ok(IdFile {
            file,
            groups,
            documents,
            table,
        })
    }

    /// The files, with their names.
    pub fn files(&self) -> impl Iterator<Item = (&'static str, &PageFile)> {
        let table = self.table.as_ref();
        let table = table.map(|table| (layout::ID_TABLE.name, &*table.file));
        [(layout::IDS.name, &*self.file)].into_iter().chain(table)
    }

    /// The id of a document.
    pub fn id(&self, document: u32) -> Result<&[u8]> {
        let range = self.place_of_id(self.id_at(document)?)?;
        self.file.bytes(range)
    }

    /// The document with this id, deleted or not.
    pub fn find(&self, id: &[u8]) -> Result<Option<u32>> {
        let Some(table) = &self.table else {
            let mut ids = self.range(0..self.documents)?;
            while let Some((document, other)) = ids.next()? {
                if other == id {
                    return Ok(Some(document));
                }
            }
            return Ok(None);
        };
        let (bucket, tag) = place(id, table.buckets);
        let (documents, tags) = table.bucket(bucket)?;
        for (&document, &other) in documents.iter().zip(tags) {
            if document >= self.documents {
                return Err(table.file.damaged("a document in it is beyond the last"));
            }
            if other == tag && self.id(document)? == id {
                return Ok(Some(document));
            }
        }
        Ok(None)
    }

    /// Whether ids are found without reading all of them.
    pub fn has_table(&self) -> bool {
        self.table.is_some()
    }

    /// The offset of a document's id, at its length prefix; any offset if the document does not
    /// exist.
    fn id_at(&self, document: u32) -> Result<usize> {
        let (group, place) = (
            u64::from(document) / GROUP_IDS,
            u64::from(document) % GROUP_IDS,
        );
        if document >= self.documents {
            return Ok(0);
        }
        let at = self.groups + 8 * group as usize;
        let mut at = self.file.slice::<u64>(at, 1)?[0] as usize;
        for _ in 0..place {
            at = self.place_of_id(at)?.end;
        }
        Ok(at)
    }

    /// The offset of an id whose length prefix is at `at`.
    fn place_of_id(&self, at: usize) -> Result<Range<usize>> {
        let damaged = || self.file.damaged("an id is not what was written");
        // A length prefix takes at most ten bytes.
        let end = self.groups.min(at.saturating_add(10)).max(at);
        let bytes = self.file.bytes(at..end)?;
        let mut rest = bytes;
        let length = varint::take(&mut rest).ok_or_else(damaged)?;
        let length = usize::try_from(length).map_err(|_| damaged())?;
        let start = at + bytes.len() - rest.len();
        Ok(start..start.checked_add(length).ok_or_else(damaged)?)
    }

    /// An upper bound, close to exact, of the bytes of all ids.
    pub fn bytes(&self) -> u64 {
        self.groups as u64
    }

    /// The ids of documents, in order.
    pub fn range(&self, documents: Range<u32>) -> Result<Ids<'_>> {
        Ok(Ids {
            ids: self,
            at: self.id_at(documents.start)?,
            documents,
        })
    }
}

/// The ids of a part, in order.
pub(crate) struct Ids<'a> {
    ids: &'a IdFile,
    at: usize,
    documents: Range<u32>,
}

impl<'a> Ids<'a> {
    /// The next document and its id; none at the end.
    pub fn next(&mut self) -> Result<Option<(u32, &'a [u8])>> {
        let Some(document) = self.documents.next() else {
            return Ok(None);
        };
        let place = self.ids.place_of_id(self.at)?;
        self.at = place.end;
        Ok(Some((document, self.ids.file.bytes(place)?)))
    }
}

/// The bucket of an id, and a byte of its hash.
fn place(id: &[u8], buckets: u64) -> (u64, u8) {
    let sum = u64::from(crc32fast::hash(id)) | (id.len() as u64) << 32;
    let hash = fold(sum ^ 0x9e37_79b9_7f4a_7c15, 0xd6e8_feb8_6659_fd93);
    // Below `buckets`.
    let bucket = (u128::from(hash) * u128::from(buckets)) >> 64;
    (bucket as u64, hash as u8)
}

/// Finds documents by their ids.
struct IdTable {
    file: Arc<PageFile>,
    buckets: u64,
    /// Where the documents and the bytes of hashes stand.
    documents_at: usize,
    tags_at: usize,
}

/// The number of buckets for some documents.
fn buckets_for(documents: u64) -> u64 {
    documents.div_ceil(BUCKET_DOCUMENTS).max(1)
}

impl IdTable {
    fn open(folder: &Path, note: &PartNote, documents: u32, window: &Window) -> Result<Self> {
        let file = note.open(folder, layout::ID_TABLE, window)?;
        let buckets = buckets_for(documents.into());
        let documents_at = 4 * (buckets as usize + 1);
        let tags_at = documents_at + 4 * documents as usize;
        if tags_at + documents as usize > file.len() {
            return Err(file.damaged("it is too short for its documents"));
        }
        Ok(IdTable {
            file,
            buckets,
            documents_at,
            tags_at,
        })
    }

    /// The documents of a bucket, and a byte of the hash of each of their ids.
    fn bucket(&self, bucket: u64) -> Result<(&[u32], &[u8])> {
        let ends = self.file.slice::<u32>(4 * bucket as usize, 2)?;
        let (from, to) = (ends[0] as usize, ends[1] as usize);
        let count = to.checked_sub(from);
        let count = count.ok_or_else(|| self.file.damaged("its buckets do not ascend"))?;
        let documents = self.file.slice(self.documents_at + 4 * from, count)?;
        let tags = self.tags_at + from;
        Ok((documents, self.file.bytes(tags..tags + count)?))
    }
}

/// Writes the table for the ids of the part in `folder`, which are written: where the documents of each bucket begin,
/// the documents of all buckets, and a byte of the hash of each.
pub(crate) fn write_table(
    folder: &Path,
    note: &mut PartNote,
    window: &Window,
    progress: &Progress,
) -> Result<()> {
    let ids = IdFile::open(folder, note, window)?;
    let buckets = buckets_for(note.documents);
    // Fewer than 2^32 documents have fewer buckets than that.
    let mut starts = vec![0u32; buckets as usize + 1];
    ids.each_place(buckets, progress, |_, bucket, _| {
        starts[bucket as usize + 1] += 1;
    })?;
    for bucket in 0..buckets as usize {
        starts[bucket + 1] += starts[bucket];
    }
    let mut writer = PageWriter::create(folder.join(layout::ID_TABLE.name))?;
    writer.write(bytemuck::cast_slice(&starts))?;
    let mut tags = Vec::with_capacity(note.documents as usize);
    for pass in passes(&starts) {
        let first = starts[pass.start];
        let count = (starts[pass.end] - first) as usize;
        let (mut documents, mut of_pass) = (vec![0u32; count], vec![0u8; count]);
        let mut next: Vec<u32> = starts[pass.clone()].to_vec();
        ids.each_place(buckets, progress, |document, bucket, tag| {
            if let Some(at) = (bucket as usize)
                .checked_sub(pass.start)
                .and_then(|bucket| next.get_mut(bucket))
            {
                let place = (*at - first) as usize;
                *at += 1;
                (documents[place], of_pass[place]) = (document, tag);
            }
        })?;
        writer.write(bytemuck::cast_slice(&documents))?;
        tags.append(&mut of_pass);
    }
    writer.write(&tags)?;
    let written = writer.finish(layout::ID_TABLE.kind)?;
    note.files.insert(layout::ID_TABLE.name.into(), written);
    Ok(())
}

/// Ranges of buckets whose documents take at most [`PASS_BYTES`], or one bucket.
fn passes(starts: &[u32]) -> Vec<Range<usize>> {
    let (mut passes, mut from) = (Vec::new(), 0);
    let most = PASS_BYTES / 5;
    for to in 1..starts.len() {
        let is_last = to + 1 == starts.len();
        if is_last || u64::from(starts[to + 1] - starts[from]) > most {
            passes.push(from..to);
            from = to;
        }
    }
    passes
}

impl IdFile {
    /// Passes every document, the bucket of its id and a byte of the hash to `each`.
    fn each_place(
        &self,
        buckets: u64,
        progress: &Progress,
        mut each: impl FnMut(u32, u64, u8),
    ) -> Result<()> {
        let mut ids = self.range(0..self.documents)?;
        while let Some((document, id)) = ids.next()? {
            if document.is_multiple_of(1 << 12) {
                progress.check()?;
            }
            let (bucket, tag) = place(id, buckets);
            each(document, bucket, tag);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_have_all_buckets_once() {
        let most = (PASS_BYTES / 5) as u32;
        for starts in [
            vec![0, 0],
            vec![0, 5],
            vec![0, most, most + 1, 2 * most, 2 * most + 7],
            vec![0, 3, 3, 3 * most, 3 * most],
        ] {
            let passes = passes(&starts);
            let buckets: Vec<usize> = passes.into_iter().flatten().collect();
            assert_eq!(buckets, (0..starts.len() - 1).collect::<Vec<_>>());
        }
    }

    #[test]
    fn buckets_are_filled_evenly() {
        for documents in [1u64, 1000, 100_000] {
            let buckets = buckets_for(documents);
            let mut counts = vec![0u32; buckets as usize];
            for number in 0..documents {
                let (bucket, _) = place(number.to_string().as_bytes(), buckets);
                counts[bucket as usize] += 1;
            }
            assert!(
                counts.iter().max() <= Some(&24),
                "{:?}",
                counts.iter().max()
            );
        }
    }
}
