//! Merges several parts into one without deleted documents, and chooses the parts to merge.

use std::ops::Range;
use std::path::Path;

use crate::build::{self, BATCH_DOCUMENTS, CodedDocuments};
use crate::part::Part;
use crate::part::layout;
use crate::part::lists::Lists;
use crate::part::note::PartNote;
use crate::part::sequences;
use crate::part::store::{Record, Store, StoreWriter};
use crate::part::tokens::{TermRanks, Tokens, TokensWriter, push_code, take_code};
use crate::part::window::Window;
use crate::walk::{Renumbered, Walk};
use tokapi_storage::error::{Error, Result};
use tokapi_storage::memory::Memory;
use tokapi_storage::pipeline::Stages;
use tokapi_storage::progress::Progress;
use tokapi_weigh::collection::{BuildOptions, Documents, thread_pool};

/// Number of parts of about one size that are merged. Each posting is then written log_8(n) times,
/// and queries read a few parts of every size.
const TIER_PARTS: usize = 8;

/// Documents between two tests for cancellation.
const CHECKED_DOCUMENTS: u32 = 1 << 10;

/// Parts with fewer postings count as the same size.
const SMALL_POSTINGS: u64 = 1 << 16;

/// Chooses the parts to merge next. They are neighbours, so that documents keep their order. None
/// if no merge is needed.
///
/// Sizes form tiers, each with [`TIER_PARTS`] times the postings of the one below. [`TIER_PARTS`]
/// parts of a tier are merged, together with smaller parts between them. A single part is
/// rewritten if a third of it is deleted.
pub(crate) fn worth_merging(parts: &[PartNote]) -> Option<Range<usize>> {
    let wasteful = |part: &PartNote| 3 * (part.documents - part.live().documents) > part.documents;
    if let Some(place) = parts.iter().position(wasteful) {
        return Some(place..place + 1);
    }
    let tier = |part: &PartNote| {
        let sizes = (part.postings / SMALL_POSTINGS).max(1);
        sizes.ilog(TIER_PARTS as u64)
    };
    let highest = parts.iter().map(tier).max()?;
    for of_tier in 0..=highest {
        let mut from = 0;
        for run in parts.split(|part| tier(part) > of_tier) {
            let count = run.iter().filter(|part| tier(part) == of_tier).count();
            if count >= TIER_PARTS && sum_fits(run) {
                return Some(from..from + run.len());
            }
            from += run.len() + 1;
        }
    }
    None
}

/// Whether one part can hold all documents of `parts`.
pub(crate) fn sum_fits(parts: &[PartNote]) -> bool {
    let documents: u64 = parts.iter().map(|part| part.live().documents).sum();
    u32::try_from(documents).is_ok()
}

/// Merges the remaining documents of `parts` into one part in `folder`, on `threads` threads and
/// within `memory`, which includes mapped pages of `parts`. Counts postings in `progress` if
/// `counts` is set.
pub(crate) fn write(
    parts: &[Part],
    folder: &Path,
    threads: usize,
    memory: &Memory,
    progress: &Progress,
    counts: bool,
) -> Result<PartNote> {
    let numbers = Renumbered::all(parts)?;
    let mut note = PartNote {
        lengths_as_given: parts.iter().any(|part| part.note.lengths_as_given),
        ..PartNote::default()
    };
    let batches = || {
        let (mut part, mut from) = (0, 0);
        let numbers = &numbers;
        move || {
            progress.check()?;
            next_batch(parts, numbers, &mut part, &mut from)
        }
    };
    let documents = build::write_documents(folder, 0, &mut note, progress, batches)?;
    let walk = Walk::new(parts.iter().map(|part| &part.lists), &numbers)?;
    let (text, stages) = (&layout::TEXT, memory.encoding_stages(threads, 0, true));
    let passed = |postings| {
        if counts {
            progress.add(postings);
        }
        progress.check()
    };
    let (_, counted) =
        build::write_source(walk, text, &documents, stages, folder, &mut note, passed)?;
    (note.terms, note.postings) = counted;
    drop(documents);
    write_sequences(parts, &numbers, folder, &mut note, progress)?;
    write_fields(parts, &numbers, folder, stages, &mut note, progress)?;
    write_store(parts, &numbers, folder, threads, &mut note, progress)?;
    write_tokens(parts, &numbers, folder, memory, &mut note, progress)?;
    let live = parts.iter().map(|part| part.note.live());
    let (count, length) = live.fold((0, 0), |(count, length), live| {
        (count + live.documents, length + live.total_length)
    });
    match (note.documents, note.total_length) == (count, length) {
        true => Ok(note),
        false => Err(Error::Damaged {
            path: folder.to_path_buf(),
            what: "the documents of the parts are not as many as their manifest tells".into(),
        }),
    }
}

/// Copies the sequence numbers of documents.
fn write_sequences(
    parts: &[Part],
    numbers: &[Renumbered],
    folder: &Path,
    note: &mut PartNote,
    progress: &Progress,
) -> Result<()> {
    let mut next = parts.first().map(|part| part.note.first_sequence);
    let is_next = |part: &Part| {
        let first = part.note.first_sequence;
        let goes_on = next.replace(first + part.note.documents) == Some(first);
        goes_on && part.note.deleted.is_none() && part.sequences().file().is_none()
    };
    if parts.iter().all(is_next) {
        note.first_sequence = parts.first().map_or(0, |part| part.note.first_sequence);
        return Ok(());
    }
    let (mut part, mut document) = (0, 0);
    sequences::write(folder, note, || {
        while let Some(current) = parts.get(part) {
            if document == current.documents() {
                (part, document) = (part + 1, 0);
                continue;
            }
            if document.is_multiple_of(CHECKED_DOCUMENTS) {
                progress.check()?;
            }
            document += 1;
            if numbers[part].of(document - 1).is_some() {
                return current.sequences().of(document - 1).map(Some);
            }
        }
        Ok(None)
    })
}

/// Merges the lists of fields, if there are any.
fn write_fields(
    parts: &[Part],
    numbers: &[Renumbered],
    folder: &Path,
    stages: Stages,
    note: &mut PartNote,
    progress: &Progress,
) -> Result<()> {
    let fields: Option<Vec<&Lists>> = parts.iter().map(|part| part.fields.as_ref()).collect();
    let Some(fields) = fields else {
        return Ok(());
    };
    let documents = CodedDocuments::without_lengths(note.documents);
    let walk = Walk::new(fields, numbers)?;
    let (files, passed) = (&layout::FIELDS, |_| progress.check());
    build::write_source(walk, files, &documents, stages, folder, note, passed)?;
    Ok(())
}

/// Copies the texts and fields of documents, if they are kept.
fn write_store(
    parts: &[Part],
    numbers: &[Renumbered],
    folder: &Path,
    threads: usize,
    note: &mut PartNote,
    progress: &Progress,
) -> Result<()> {
    let stores: Option<Vec<&Store>> = parts.iter().map(|part| part.store.as_ref()).collect();
    let Some(stores) = stores else {
        return Ok(());
    };
    // Parts that were written before a field was kept have fewer. Parts of former versions do not say how many.
    note.fields = parts.iter().filter_map(|part| part.note.fields).max();
    let fields = note.fields;
    let missing = |part: &Part| match (fields, part.note.fields) {
        (Some(all), Some(some)) => all - some,
        _ => 0,
    };
    let mut values = Vec::new();
    let options = BuildOptions::default().threads(threads);
    thread_pool(&options)?.install(|| {
        let mut writer = StoreWriter::create(folder)?;
        for ((part, store), numbers) in parts.iter().zip(stores).zip(numbers) {
            let missing = missing(part);
            let mut records = store.records();
            let mut documents = 0..u32::MAX;
            while let (Some(record), Some(document)) = (records.next()?, documents.next()) {
                if document.is_multiple_of(CHECKED_DOCUMENTS) {
                    progress.check()?;
                }
                if numbers.of(document).is_none() {
                    continue;
                }
                values.clear();
                values.extend_from_slice(record.values);
                // No value in each of these fields.
                values.resize(values.len() + missing, 0);
                writer.push(Record {
                    values: &values,
                    text: record.text,
                })?;
            }
        }
        writer.finish(note)
    })
}

/// Copies the token sequences of documents, if they are kept, with the ranks of the merged part.
fn write_tokens(
    parts: &[Part],
    numbers: &[Renumbered],
    folder: &Path,
    memory: &Memory,
    note: &mut PartNote,
    progress: &Progress,
) -> Result<()> {
    let tokens: Option<Vec<&Tokens>> = parts.iter().map(|part| part.tokens.as_ref()).collect();
    let Some(tokens) = tokens else {
        return Ok(());
    };
    let window = Window::within(memory);
    let merged = Part::open_in(folder, note, &window)?;
    let ranks = TermRanks::write(folder, &merged.lists, note, &window)?;
    let mut writer = TokensWriter::create(folder)?;
    let mut coded = Vec::new();
    for ((part, tokens), numbers) in parts.iter().zip(tokens).zip(numbers) {
        // The code of every rank in the merged part.
        // One entry a term; terms are fewer than 2^32.
        let mut becomes = vec![u32::MAX; part.note.terms as usize];
        for shard in 0..part.lists.shard_count() {
            progress.check()?;
            for (id, term) in part.lists.names_of_shard(shard)? {
                let before = tokens.ranks.at(shard, id)?;
                if let (Some(becomes), Some(rank)) = (
                    becomes.get_mut(before as usize),
                    ranks.of(&merged.lists, &term)?,
                ) {
                    *becomes = rank;
                }
            }
        }
        for document in 0..part.documents() {
            if document.is_multiple_of(CHECKED_DOCUMENTS) {
                progress.check()?;
            }
            if numbers.of(document).is_none() {
                continue;
            }
            coded.clear();
            let mut codes = tokens.document(document)?;
            while !codes.is_empty() {
                let before = take_code(&mut codes);
                let rank = before.and_then(|before| becomes.get(before as usize));
                push_code(*rank.ok_or_else(|| tokens.damaged())?, &mut coded);
            }
            writer.push(&coded)?;
        }
    }
    writer.finish(note)
}

/// The remaining documents of part `part` from `from` on, and then those of the next parts.
fn next_batch(
    parts: &[Part],
    numbers: &[Renumbered],
    part: &mut usize,
    from: &mut u32,
) -> Result<Option<Documents>> {
    let Some(current) = parts.get(*part) else {
        return Ok(None);
    };
    let end = current
        .documents()
        .min(from.saturating_add(BATCH_DOCUMENTS as u32));
    let mut batch = Documents::with_capacity((end - *from) as usize);
    let mut ids = current.ids(*from..end)?;
    while let Some((document, id)) = ids.next()? {
        if let Some(number) = numbers[*part].of(document) {
            batch.push(number as usize, id, current.length(document)?);
        }
    }
    *from = end;
    if end == current.documents() {
        (*part, *from) = (*part + 1, 0);
    }
    Ok(Some(batch))
}
