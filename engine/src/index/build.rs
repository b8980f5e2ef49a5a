//! From an inverted collection to a part: shares are coded on all threads and written in order.

use std::path::Path;

use super::bounds::LengthCodes;
use super::encode::{Documents, Encoded, Encoder, SHARE_POSTINGS, Share};
use super::manifest::PartNote;
use super::writer::{DocumentsWriter, ListsWriter};
use crate::collection::{self, Collection, Stored, Weights};
use crate::error::Result;
use crate::external::{External, Merged};
use crate::pipeline::{StageTimes, Stages};

/// Documents that are fetched at a time.
const BATCH_DOCUMENTS: usize = 1 << 16;

/// Writes the files of a part to `folder`.
pub(super) fn write_part(stored: Stored, folder: &Path) -> Result<(PartNote, StageTimes)> {
    match stored {
        Stored::Memory(collection) => write_memory(collection, folder),
        Stored::Scratch(mut external) => {
            external.reduce()?;
            let written = write_external(&external, folder)?;
            external.remove();
            Ok(written)
        }
    }
}

fn write_memory(collection: Collection, folder: &Path) -> Result<(PartNote, StageTimes)> {
    let pool = collection.pool();
    let merged = collection.merge();
    let mut note = PartNote::default();
    let lengths = &merged.documents.lengths;
    let codes = LengthCodes::new(
        lengths.iter().copied().min().unwrap_or(0),
        lengths.iter().copied().max().unwrap_or(0),
    );
    let coded: Vec<u8> = lengths.iter().map(|&length| codes.code(length)).collect();
    let mut documents = DocumentsWriter::create(folder)?;
    documents.push(&merged.documents)?;
    documents.finish(&codes, &mut note)?;
    let documents = Documents {
        codes: &codes,
        lengths: &coded,
        statistics: merged.statistics,
    };
    let mut shares = 0..merged.posting_documents.len().div_ceil(SHARE_POSTINGS);
    let times = pool.install(|| {
        write_lists(
            Stages::of_pool(),
            folder,
            &documents,
            &mut note,
            || Ok(shares.next()),
            |share, encoder| with_share(&merged, share, |share| encoder.encode(&share)),
        )
    })?;
    Ok((note, times))
}

/// Gives share `number` of merged postings to `user`.
fn with_share<T>(merged: &Weights, number: usize, user: impl FnOnce(Share<'_>) -> T) -> T {
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

fn write_external(external: &External, folder: &Path) -> Result<(PartNote, StageTimes)> {
    let mut note = PartNote::default();
    let (mut least, mut most) = (u32::MAX, 0);
    let mut writer = DocumentsWriter::create(folder)?;
    let mut batches = external.document_batches(BATCH_DOCUMENTS);
    while let Some(batch) = batches()? {
        writer.push(&batch)?;
        for &length in &batch.lengths {
            (least, most) = (least.min(length), most.max(length));
        }
    }
    let codes = LengthCodes::new(least, most);
    writer.finish(&codes, &mut note)?;
    // Fewer than 2^32.
    let mut coded = Vec::with_capacity(external.statistics().documents as usize);
    let mut batches = external.document_batches(BATCH_DOCUMENTS);
    while let Some(batch) = batches()? {
        let collection::Documents { lengths, .. } = &batch;
        coded.extend(lengths.iter().map(|&length| codes.code(length)));
    }
    let documents = Documents {
        codes: &codes,
        lengths: &coded,
        statistics: external.statistics(),
    };
    let mut tasks = external.tasks(SHARE_POSTINGS)?;
    let times = write_lists(
        external.stages(),
        folder,
        &documents,
        &mut note,
        || tasks.next(),
        |task, encoder| encoder.encode(&share_of(&external.merge(task)?)),
    )?;
    Ok((note, times))
}

/// The postings of a task as a share.
fn share_of(merged: &Merged) -> Share<'_> {
    // Terms at both ends may be those of other tasks.
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

/// Codes the shares that come from `next` and writes them.
fn write_lists<I: Send>(
    stages: Stages,
    folder: &Path,
    documents: &Documents<'_>,
    note: &mut PartNote,
    next: impl FnMut() -> Result<Option<I>> + Send,
    encode: impl Fn(I, &mut Encoder<'_>) -> Result<Encoded> + Sync,
) -> Result<StageTimes> {
    let mut writer = ListsWriter::create(folder, documents)?;
    let worker = || {
        let mut encoder = Encoder::new(documents);
        let encode = &encode;
        move |item: I| encode(item, &mut encoder)
    };
    let times = stages.run(next, worker, |encoded: Encoded| writer.push(&encoded))?;
    writer.finish(note)?;
    Ok(times)
}
