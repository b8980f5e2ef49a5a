//! Documents in another order: a part comes in, and the same part with its documents renumbered goes out.
//!
//! Where documents that share terms are neighbours, gaps are small and fall together, so that lists take fewer
//! bits, and the bounds of blocks differ more, so that queries leave out more of them.

mod bisect;
mod documents;
mod gather;
mod graph;
mod lists;
mod permutation;
mod progress;
mod store;

use std::path::Path;
use std::sync::atomic::AtomicU64;

use rayon::ThreadPool;

use super::build::{self, CodedDocuments};
use super::layout;
use super::manifest::PartNote;
use super::part::Part;
use super::window::Window;
use lists::ReorderedLists;
use permutation::Permutation;
use progress::Phase;
pub use progress::ReorderProgress;
use tokapi_storage::error::Result;
use tokapi_storage::memory::Memory;
use tokapi_storage::pipeline::Stages;
use tokapi_weigh::collection::{BuildOptions, thread_pool};

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
    /// What finding the order, and writing documents in it, may take.
    pub memory: Memory,
    /// The threads; the result does not depend on their number.
    pub threads: usize,
    /// Tells how far it is.
    pub progress: &'a ReorderProgress,
}

/// Writes `part`, of which nothing is deleted, to `folder`, its documents in another order.
pub(super) fn write(part: &Part, folder: &Path, how: &Reordering<'_>) -> Result<PartNote> {
    let pool = thread_pool(&BuildOptions::default().threads(how.threads))?;
    let permutation = pool.install(|| Permutation::new(part, how))?;
    how.progress.begin(Phase::Writing, part.note.postings);
    let mut note = PartNote {
        lengths_as_given: part.note.lengths_as_given,
        ..PartNote::default()
    };
    let most_bytes = how.memory.reordering_bytes();
    let documents = documents::write(part, &permutation, most_bytes, folder, &mut note)?;
    let stages = how.memory.encoding_stages(how.threads, 0, true);
    let lists = ReorderedLists::new(&part.lists, &permutation.places, &pool);
    let (files, done) = (&layout::TEXT, how.progress.done());
    let written = build::write_source(lists, files, &documents, stages, folder, &mut note, done)?;
    (note.terms, note.postings) = written.1;
    drop(documents);
    write_fields(part, &permutation, &pool, stages, folder, &mut note)?;
    if let Some(store) = &part.store {
        pool.install(|| store::write(store, &permutation, most_bytes, folder, &mut note))?;
    }
    let window = Window::within(&how.memory);
    documents::write_tokens(part, &permutation, most_bytes, folder, &mut note, &window)?;
    Ok(note)
}

/// Writes the lists of fields, where there are any.
fn write_fields(
    part: &Part,
    permutation: &Permutation,
    pool: &ThreadPool,
    stages: Stages,
    folder: &Path,
    note: &mut PartNote,
) -> Result<()> {
    let Some(fields) = &part.fields else {
        return Ok(());
    };
    let documents = CodedDocuments::without_lengths(note.documents);
    let lists = ReorderedLists::new(fields, &permutation.places, pool);
    let (files, done) = (&layout::FIELDS, AtomicU64::new(0));
    build::write_source(lists, files, &documents, stages, folder, note, &done)?;
    Ok(())
}
