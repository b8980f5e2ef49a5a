//! Reordering: a part is written again with its documents renumbered.
//!
//! If documents that share terms are neighbours, gaps are small and clustered, so lists take fewer
//! bits. The bounds of blocks differ more, so queries skip more blocks.

mod bisect;
mod documents;
mod gather;
mod graph;
mod lists;
mod options;
mod permutation;
mod store;

use std::path::Path;

use rayon::ThreadPool;

use crate::build::{self, CodedDocuments};
use crate::part::Part;
use crate::part::layout;
use crate::part::note::PartNote;
use crate::part::sequences;
use crate::part::window::Window;
use lists::ReorderedLists;
pub use options::{Reorder, Reordering};
use permutation::Permutation;
use tokapi_storage::error::Result;
use tokapi_storage::pipeline::Stages;
use tokapi_storage::progress::{Progress, Stage};
use tokapi_weigh::collection::{BuildOptions, thread_pool};

/// Writes `part` to `folder` with its documents in another order. The part has no deleted
/// documents.
pub(crate) fn write(part: &Part, folder: &Path, how: &Reordering) -> Result<PartNote> {
    let pool = thread_pool(&BuildOptions::default().threads(how.threads))?;
    let permutation = pool.install(|| Permutation::new(part, how))?;
    let progress = &how.progress;
    progress.begin(Stage::Writing, part.note.postings);
    let mut note = PartNote {
        lengths_as_given: part.note.lengths_as_given,
        fields: part.note.fields,
        ..PartNote::default()
    };
    let most_bytes = how.memory.reordering_bytes();
    let documents = documents::write(part, &permutation, most_bytes, folder, &mut note, progress)?;
    let mut sequences = (0..part.documents()).map(|place| part.sequences().of(place));
    note.first_sequence = part.note.first_sequence;
    if part.sequences().file().is_some() {
        sequences::write(folder, &mut note, || sequences.next().transpose())?;
    }
    let stages = how
        .memory
        .encoding_stages(pool.current_num_threads(), 0, true);
    let lists = ReorderedLists::new(&part.lists, &permutation.places, &pool, progress);
    let passed = |postings| {
        progress.add(postings);
        progress.check()
    };
    let text = &layout::TEXT;
    let written = build::write_source(lists, text, &documents, stages, folder, &mut note, passed)?;
    (note.terms, note.postings) = written.1;
    drop(documents);
    write_fields(
        part,
        &permutation,
        &pool,
        stages,
        folder,
        &mut note,
        progress,
    )?;
    if let Some(store) = &part.store {
        pool.install(|| {
            store::write(store, &permutation, most_bytes, folder, &mut note, progress)
        })?;
    }
    let window = Window::within(&how.memory);
    documents::write_tokens(
        part,
        &permutation,
        most_bytes,
        folder,
        &mut note,
        &window,
        progress,
    )?;
    Ok(note)
}

/// Writes the lists of fields, if the part has any.
fn write_fields(
    part: &Part,
    permutation: &Permutation,
    pool: &ThreadPool,
    stages: Stages,
    folder: &Path,
    note: &mut PartNote,
    progress: &Progress,
) -> Result<()> {
    let Some(fields) = &part.fields else {
        return Ok(());
    };
    let documents = CodedDocuments::without_lengths(note.documents);
    let lists = ReorderedLists::new(fields, &permutation.places, pool, progress);
    let passed = |_| progress.check();
    build::write_source(
        lists,
        &layout::FIELDS,
        &documents,
        stages,
        folder,
        note,
        passed,
    )?;
    Ok(())
}
