//! Repeated document ids, found within bounded memory.

use std::hash::{DefaultHasher, Hasher};

use super::documents::DocumentTable;
use crate::collection::run::Run;
use tokapi_storage::error::Result;
use tokapi_storage::progress::Progress;
use tokapi_storage::quicksort;

/// Bytes of memory per document of a pass: its hash and its number.
const DOCUMENT_BYTES: u64 = 16;

/// Every document with the id of an earlier one, paired with the first document of that id, ascending.
///
/// The ids are hashed. Each pass over the runs compares one share of all hashes. `memory_bytes` sets the number of
/// passes; one pass is enough for millions of documents.
///
/// # Errors
/// A run cannot be read, or is damaged; `progress` is cancelled.
pub(crate) fn repeated(
    runs: &[Run],
    table: &DocumentTable,
    memory_bytes: u64,
    progress: &Progress,
) -> Result<Vec<(u32, u32)>> {
    let mut repeated = Vec::new();
    if !runs.iter().any(|run| run.has_ids) {
        return Ok(repeated);
    }
    let documents: u64 = runs.iter().map(|run| run.documents).sum();
    let passes = (documents * DOCUMENT_BYTES).div_ceil(memory_bytes.max(DOCUMENT_BYTES));
    for pass in 0..passes {
        let mut hashed: Vec<(u64, u32)> = Vec::new();
        let mut number = 0;
        for run in runs {
            let mut frames = run.documents()?;
            while let Some((_, frame)) = frames.next()? {
                progress.check()?;
                for id in frame.ids.iter() {
                    let hash = match id {
                        // The document's number is its id, and may be the id of another.
                        b"" => hash(number.to_string().as_bytes()),
                        id => hash(id),
                    };
                    if hash % passes == pass {
                        hashed.push((hash, number));
                    }
                    number += 1;
                }
            }
        }
        quicksort::sort_by(&mut hashed, &Ord::cmp, progress)?;
        for group in hashed.chunk_by(|a, b| a.0 == b.0) {
            progress.check()?;
            if group.len() > 1 {
                same_ids(group, table, &mut repeated)?;
            }
        }
    }
    quicksort::sort_by(&mut repeated, &Ord::cmp, progress)?;
    Ok(repeated)
}

/// Adds the documents of a group with equal hashes that have the id of an earlier one.
fn same_ids(
    group: &[(u64, u32)],
    table: &DocumentTable,
    repeated: &mut Vec<(u32, u32)>,
) -> Result<()> {
    let members = group.iter().map(|&(_, document)| document as usize);
    let ids = table.fetch(group.len(), members)?.ids;
    for place in 1..group.len() {
        let same = (0..place).find(|&earlier| ids.get(earlier) == ids.get(place));
        repeated.extend(same.map(|earlier| (group[place].1, group[earlier].1)));
    }
    Ok(())
}

fn hash(id: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(id);
    hasher.finish()
}
