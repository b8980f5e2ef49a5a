//! Writes an inverted collection as a part: shares are coded on all threads and written in order.

use std::borrow::Borrow;
use std::path::Path;

use crate::part::bounds::LengthCodes;
use crate::part::encode::{DocumentLengths, Encoded, Encoder, SHARE_POSTINGS, Share};
use crate::part::ids;
use crate::part::layout::{self, ListFiles};
use crate::part::note::PartNote;
use crate::part::window::Window;
use crate::part::writer::{DocumentsWriter, ListsWriter};
use crate::walk::{OwnedShare, PostingSource, Shares};
use tokapi_storage::error::Result;
use tokapi_storage::pipeline::{StageTimes, Stages};
use tokapi_storage::progress::{Progress, Stage};
use tokapi_weigh::collection;
use tokapi_weigh::collection::external::{External, TaskPostings};
use tokapi_weigh::collection::{Collection, CollectionPostings, Stored, StoredIn};
use tokapi_weigh::formula::Statistics;

/// Documents fetched at a time. The number is small because ids may be long.
pub(crate) const BATCH_DOCUMENTS: usize = 1 << 12;

/// Writes the files of a part to `folder`. Documents without ids are named by numbers from `first`
/// on.
pub(crate) fn write_part(
    stored: Stored,
    folder: &Path,
    first: u64,
) -> Result<(PartNote, StageTimes)> {
    match stored.into_place() {
        StoredIn::Memory(collection) => write_memory(collection, folder, first),
        StoredIn::Scratch(external) => {
            from_scratch(external, |external| write_external(external, folder, first))
        }
    }
}

/// Writes a collection on scratch, and then removes the scratch files. They stay after an error,
/// so that the work can be resumed, but not after a cancellation.
fn from_scratch<T>(
    mut external: External,
    write: impl FnOnce(&External) -> Result<T>,
) -> Result<T> {
    external.reduce()?;
    let written = write(&external)?;
    external.remove();
    Ok(written)
}

fn write_memory(
    collection: Collection,
    folder: &Path,
    first: u64,
) -> Result<(PartNote, StageTimes)> {
    let pool = collection.pool();
    let progress = collection.progress().clone();
    let merged = collection.merge()?;
    let mut note = PartNote::default();
    let documents = write_documents(folder, first, &mut note, &progress, || {
        let mut batch = Some(&merged.documents);
        move || Ok(batch.take())
    })?;
    let (text, documents) = (&layout::TEXT, &documents);
    let write = || write_merged(&merged, text, folder, documents, &mut note, &progress);
    let (times, counted) = pool.install(write)?;
    (note.terms, note.postings) = counted;
    Ok((note, times))
}

/// Writes the lists of merged postings, on the current thread pool.
fn write_merged(
    merged: &CollectionPostings,
    files: &'static ListFiles,
    folder: &Path,
    documents: &CodedDocuments,
    note: &mut PartNote,
    progress: &Progress,
) -> Result<ListsWritten> {
    progress.begin(Stage::Writing, merged.posting_documents.len() as u64);
    let mut shares = 0..merged.posting_documents.len().div_ceil(SHARE_POSTINGS);
    write_lists(
        Stages::of_pool(),
        files,
        folder,
        &documents.view(),
        note,
        || {
            progress.check()?;
            Ok(shares.next())
        },
        |number, encoder| {
            with_share(merged, number, |share| {
                progress.add(share.documents.len() as u64);
                encoder.encode(&share)
            })
        },
    )
}

/// Writes the lists of fields; the terms of `stored` are the values.
pub(crate) fn write_field_lists(stored: Stored, folder: &Path, note: &mut PartNote) -> Result<()> {
    let documents = CodedDocuments::without_lengths(note.documents);
    match stored.into_place() {
        StoredIn::Memory(collection) => {
            let pool = collection.pool();
            let progress = collection.progress().clone();
            let merged = collection.merge()?;
            let fields = &layout::FIELDS;
            let write = || write_merged(&merged, fields, folder, &documents, note, &progress);
            pool.install(write)?;
        }
        StoredIn::Scratch(external) => {
            from_scratch(external, |external| {
                write_tasks(external, &layout::FIELDS, folder, &documents, note)
            })?;
        }
    }
    Ok(())
}

/// The time of each step, and the number of terms and of postings.
type ListsWritten = (StageTimes, (u64, u64));

/// The facts about all documents that the encoder needs.
pub(crate) struct CodedDocuments {
    codes: LengthCodes,
    lengths: Vec<u8>,
    statistics: Statistics,
}

impl CodedDocuments {
    /// `documents` documents, for lists that are never weighed.
    pub(crate) fn without_lengths(documents: u64) -> Self {
        CodedDocuments {
            codes: LengthCodes::new(0, 0),
            // Fewer than 2^32.
            lengths: vec![0; documents as usize],
            statistics: Statistics::default(),
        }
    }

    fn view(&self) -> DocumentLengths<'_> {
        DocumentLengths {
            codes: &self.codes,
            lengths: &self.lengths,
            statistics: self.statistics,
        }
    }
}

/// Writes documents from an iterator of batches, which can be started twice, until `progress` is
/// cancelled.
pub(crate) fn write_documents<D, B>(
    folder: &Path,
    first: u64,
    note: &mut PartNote,
    progress: &Progress,
    batches: impl Fn() -> B,
) -> Result<CodedDocuments>
where
    D: Borrow<collection::Documents>,
    B: FnMut() -> Result<Option<D>>,
{
    let (mut least, mut most) = (u32::MAX, 0);
    let mut writer = DocumentsWriter::create(folder, first)?;
    let mut next = batches();
    while let Some(batch) = next()? {
        let batch = batch.borrow();
        writer.push(batch, progress)?;
        for &length in &batch.lengths {
            (least, most) = (least.min(length), most.max(length));
        }
    }
    // The current batch may be large.
    drop(next);
    let codes = LengthCodes::new(least.min(most), most);
    writer.finish(&codes, note)?;
    ids::write_table(folder, note, &Window::sequential(), progress)?;
    // Fewer than 2^32.
    let mut lengths = Vec::with_capacity(note.documents as usize);
    let mut next = batches();
    while let Some(batch) = next()? {
        for piece in batch.borrow().lengths.chunks(BATCH_DOCUMENTS) {
            progress.check()?;
            lengths.extend(piece.iter().map(|&length| codes.code(length)));
        }
    }
    Ok(CodedDocuments {
        codes,
        lengths,
        statistics: Statistics {
            documents: note.documents,
            total_length: note.total_length,
        },
    })
}

/// Writes the lists of a source in `stages`. Calls `passed` with the number of postings of every
/// share before it is coded; an error from `passed` stops the work.
pub(crate) fn write_source(
    source: impl PostingSource + Send,
    files: &'static ListFiles,
    documents: &CodedDocuments,
    stages: Stages,
    folder: &Path,
    note: &mut PartNote,
    mut passed: impl FnMut(u64) -> Result<()> + Send,
) -> Result<ListsWritten> {
    let mut shares = Shares::new(source);
    write_lists(
        stages,
        files,
        folder,
        &documents.view(),
        note,
        || {
            let share = shares.next()?;
            let postings = share.as_ref().map_or(0, OwnedShare::len);
            passed(postings as u64)?;
            Ok(share)
        },
        |share: OwnedShare, encoder| encoder.encode(&share.share()),
    )
}

/// Passes share `number` of merged postings to `user`.
fn with_share<T>(
    merged: &CollectionPostings,
    number: usize,
    user: impl FnOnce(Share<'_>) -> T,
) -> T {
    let from = number * SHARE_POSTINGS;
    let to = merged.posting_documents.len().min(from + SHARE_POSTINGS);
    let (from, to) = (from as u64, to as u64);
    let first = merged.offsets.partition_point(|&offset| offset <= from) - 1;
    let end = merged.offsets.partition_point(|&offset| offset < to);
    let offsets: Vec<u64> = merged.offsets[first..=end]
        .iter()
        .map(|&offset| offset.clamp(from, to) - from)
        .collect();
    let rows = from as usize..to as usize;
    user(Share {
        terms: &merged.lexicon.terms,
        range: first..end,
        df: &merged.lexicon.df,
        offsets: &offsets,
        documents: &merged.posting_documents[rows.clone()],
        tfs: &merged.frequencies.expand(rows),
        goes_on: merged.offsets[first] < from,
    })
}

fn write_external(
    external: &External,
    folder: &Path,
    first: u64,
) -> Result<(PartNote, StageTimes)> {
    let mut note = PartNote::default();
    let documents = write_documents(folder, first, &mut note, external.progress(), || {
        external.document_batches(BATCH_DOCUMENTS)
    })?;
    let (times, counted) = write_tasks(external, &layout::TEXT, folder, &documents, &mut note)?;
    (note.terms, note.postings) = counted;
    Ok((note, times))
}

/// Writes the lists of a collection on scratch whose runs are few enough for one merge.
fn write_tasks(
    external: &External,
    files: &'static ListFiles,
    folder: &Path,
    documents: &CodedDocuments,
    note: &mut PartNote,
) -> Result<ListsWritten> {
    let mut tasks = external.tasks(SHARE_POSTINGS)?;
    write_lists(
        external.stages(),
        files,
        folder,
        &documents.view(),
        note,
        || tasks.next(),
        |task, encoder| encoder.encode(&share_of(&external.merge(task)?)),
    )
}

/// The postings of a task as a share.
fn share_of(merged: &TaskPostings) -> Share<'_> {
    // The terms at both ends may continue in other tasks.
    let last = merged.documents.len() as u64;
    let first = merged.offsets.partition_point(|&offset| offset == 0) - 1;
    let end = merged.offsets.partition_point(|&offset| offset < last);
    Share {
        terms: &merged.lexicon.terms,
        range: first..end,
        df: &merged.lexicon.df,
        offsets: &merged.offsets[first..=end],
        documents: &merged.documents,
        tfs: &merged.tfs,
        goes_on: merged.new_terms.start > first,
    }
}

/// Codes the shares from `next`, and writes them.
fn write_lists<I: Send>(
    stages: Stages,
    files: &'static ListFiles,
    folder: &Path,
    documents: &DocumentLengths<'_>,
    note: &mut PartNote,
    next: impl FnMut() -> Result<Option<I>> + Send,
    encode: impl Fn(I, &mut Encoder<'_>) -> Result<Encoded> + Sync,
) -> Result<ListsWritten> {
    let mut writer = ListsWriter::create(folder, files, documents)?;
    let worker = || {
        let mut encoder = Encoder::new(documents);
        let encode = &encode;
        move |item: I| encode(item, &mut encoder)
    };
    let times = stages.run(next, worker, |encoded: Encoded| writer.push(&encoded))?;
    Ok((times, writer.finish(note)?))
}
