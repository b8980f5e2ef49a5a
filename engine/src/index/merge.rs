//! Several parts made one, without what is deleted, and which parts are worth it.

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::AtomicU64;

use super::build::{self, BATCH_DOCUMENTS};
use super::manifest::PartNote;
use super::part::Part;
use super::walk::{Renumbered, Walk};
use crate::collection::Documents;
use crate::error::{Error, Result};

/// Parts of about one size that are merged. Each posting is then written again by each of the
/// log_8 sizes, and queries go through a few parts of every size.
const TIER_PARTS: usize = 8;

/// Parts with fewer postings are of one size.
const SMALL_POSTINGS: u64 = 1 << 16;

/// The parts, neighbours so that documents keep their order, that should be merged next. None where
/// all is well.
///
/// Sizes are tiers, each of [`TIER_PARTS`] times the postings of the one below. As many of a tier are
/// merged, with those of lower tiers between them; so is a part alone of which a third is deleted.
pub(super) fn worth_merging(parts: &[PartNote]) -> Option<Range<usize>> {
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

/// Whether a part can have all documents of `parts`.
pub(super) fn sum_fits(parts: &[PartNote]) -> bool {
    let documents: u64 = parts.iter().map(|part| part.live().documents).sum();
    u32::try_from(documents).is_ok()
}

/// Writes the documents of `parts` that are not deleted to `folder`, as one part. Counts postings in
/// `merged` meanwhile.
pub(super) fn write(
    parts: &[Part],
    folder: &Path,
    threads: usize,
    merged: &AtomicU64,
) -> Result<PartNote> {
    let numbers = Renumbered::all(parts)?;
    let mut note = PartNote::default();
    let batches = || {
        let (mut part, mut from) = (0, 0);
        let numbers = &numbers;
        move || next_batch(parts, numbers, &mut part, &mut from)
    };
    let documents = build::write_documents(folder, 0, &mut note, batches)?;
    let walk = Walk::new(parts.iter().map(|part| &part.lists), &numbers)?;
    build::write_source(walk, &documents, threads, folder, &mut note, merged)?;
    let live = parts.iter().map(|part| part.note.live());
    let (count, length) = live.fold((0, 0), |(count, length), live| {
        (count + live.documents, length + live.total_length)
    });
    match (note.documents, note.total_length) == (count, length) {
        true => Ok(note),
        false => Err(Error::Index {
            path: folder.to_path_buf(),
            what: "the documents of the parts are not as many as their manifest tells".into(),
        }),
    }
}

/// Documents of part `part` from `from` on that are not deleted, and then of the next ones.
fn next_batch(
    parts: &[Part],
    numbers: &[Renumbered],
    part: &mut usize,
    from: &mut u32,
) -> Result<Option<Documents>> {
    let Some(current) = parts.get(*part) else {
        return Ok(None);
    };
    let end = current.documents().min(*from + BATCH_DOCUMENTS as u32);
    let mut batch = Documents::with_capacity((end - *from) as usize);
    current.each_id(*from..end, |document, id| {
        if let Some(number) = numbers[*part].of(document) {
            batch.push(number as usize, id, current.length(document)?);
        }
        Ok(())
    })?;
    *from = end;
    if end == current.documents() {
        (*part, *from) = (*part + 1, 0);
    }
    Ok(Some(batch))
}
