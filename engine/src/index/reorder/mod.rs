//! Documents in another order: a part comes in, and the same part with its documents renumbered goes out.
//!
//! Where documents that share terms are neighbours, gaps are small and fall together, so that lists take fewer
//! bits, and the bounds of blocks differ more, so that queries leave out more of them.

mod bisect;
mod graph;
mod lists;
mod permutation;
mod progress;
mod store;

use std::path::Path;
use std::sync::atomic::AtomicU64;

use rayon::ThreadPool;

use super::build::{self, BATCH_DOCUMENTS, CodedDocuments};
use super::layout;
use super::manifest::PartNote;
use super::part::Part;
use super::tokens::{TermRanks, TokensWriter};
use crate::collection::{BuildOptions, Documents, thread_pool};
use crate::error::Result;
use crate::memory::Memory;
use lists::ReorderedLists;
use permutation::Permutation;
use progress::Phase;
pub use progress::ReorderProgress;

/// An order of documents. Documents of the same score are found in that order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reorder {
    /// By recursive graph bisection: documents that share terms are neighbours.
    Graph,
    /// By their ids, byte by byte: pages of one site are neighbours where ids are URLs.
    Id,
}

/// How documents are put in another order.
#[derive(Debug, Clone, Copy)]
pub struct Reordering<'a> {
    /// The order.
    pub by: Reorder,
    /// What finding the order may take.
    pub memory: Memory,
    /// The threads; the result does not depend on their number.
    pub threads: usize,
    /// Tells how far it is.
    pub progress: &'a ReorderProgress,
}

/// Writes `part`, of which nothing is deleted, to `folder`, its documents in another order.
pub(super) fn write(part: &Part, folder: &Path, how: &Reordering<'_>) -> Result<PartNote> {
    let pool = thread_pool(&BuildOptions {
        threads: how.threads,
        ..BuildOptions::default()
    })?;
    let permutation = pool.install(|| Permutation::new(part, how))?;
    how.progress.begin(Phase::Writing, part.note.postings);
    let mut note = PartNote {
        lengths_as_given: part.note.lengths_as_given,
        ..PartNote::default()
    };
    let documents = write_documents(part, &permutation, folder, &mut note)?;
    let lists = ReorderedLists::new(&part.lists, &permutation.places, &pool);
    let (files, done) = (&layout::TEXT, how.progress.done());
    let written = build::write_source(
        lists,
        files,
        &documents,
        how.threads,
        folder,
        &mut note,
        done,
    )?;
    (note.terms, note.postings) = written.1;
    write_fields(part, &permutation, &pool, folder, &mut note)?;
    if let Some(store) = &part.store {
        let most_bytes = how.memory.reordering_bytes();
        pool.install(|| store::write(store, &permutation, most_bytes, folder, &mut note))?;
    }
    write_tokens(part, &permutation, folder, &mut note)?;
    Ok(note)
}

/// Writes ids and lengths.
fn write_documents(
    part: &Part,
    permutation: &Permutation,
    folder: &Path,
    note: &mut PartNote,
) -> Result<CodedDocuments> {
    let ids = permutation::ids(part)?;
    build::write_documents(folder, 0, note, || {
        let mut batches = permutation.order.chunks(BATCH_DOCUMENTS);
        let ids = &ids;
        move || {
            let Some(batch) = batches.next() else {
                return Ok(None);
            };
            let mut documents = Documents::with_capacity(batch.len());
            for &document in batch {
                let (id, length) = (ids[document as usize], part.length(document)?);
                documents.push(document as usize, id, length);
            }
            Ok(Some(documents))
        }
    })
}

/// Writes the lists of fields, where there are any.
fn write_fields(
    part: &Part,
    permutation: &Permutation,
    pool: &ThreadPool,
    folder: &Path,
    note: &mut PartNote,
) -> Result<()> {
    let Some(fields) = &part.fields else {
        return Ok(());
    };
    let documents = CodedDocuments::without_lengths(note.documents);
    let lists = ReorderedLists::new(fields, &permutation.places, pool);
    let (files, done) = (&layout::FIELDS, AtomicU64::new(0));
    let threads = pool.current_num_threads();
    build::write_source(lists, files, &documents, threads, folder, note, &done)?;
    Ok(())
}

/// Copies the documents as sequences of terms, where they are kept. Terms and their df are the same, and so
/// are their ranks.
fn write_tokens(
    part: &Part,
    permutation: &Permutation,
    folder: &Path,
    note: &mut PartNote,
) -> Result<()> {
    let Some(tokens) = &part.tokens else {
        return Ok(());
    };
    let reordered = Part::open_in(folder, note)?;
    TermRanks::write(folder, &reordered.lists, note)?;
    let ranks = layout::RANKS.name;
    if note.files.get(ranks) != part.note.files.get(ranks) {
        return Err(tokens.damaged());
    }
    let mut writer = TokensWriter::create(folder)?;
    for &document in &permutation.order {
        writer.push(tokens.document(document)?)?;
    }
    writer.finish(note)
}
