//! Which document comes where.

use rayon::prelude::*;

use super::super::part::Part;
use super::graph::Graph;
use super::progress::Phase;
use super::{Reorder, Reordering, bisect};
use crate::error::{Error, Result};

/// What a document takes while ids are sorted: an id's place in the file and a number, and both permutations.
const SORTED_BYTES: u64 = 24 + 8;

/// An order of the documents of a part.
pub(super) struct Permutation {
    /// The document that comes at each place.
    pub order: Vec<u32>,
    /// The place of each document.
    pub places: Vec<u32>,
}

impl Permutation {
    /// The order of the documents of `part` that is asked for.
    pub fn new(part: &Part, how: &Reordering<'_>) -> Result<Self> {
        let order = match how.by {
            Reorder::Graph => bisect::order(Graph::new(part, how)?, how.progress),
            Reorder::Id => by_id(part, how)?,
        };
        let mut places = vec![0; order.len()];
        for (place, &document) in (0..).zip(&order) {
            places[document as usize] = place;
        }
        Ok(Permutation { order, places })
    }
}

/// The documents of `part`, by their ids.
fn by_id(part: &Part, how: &Reordering<'_>) -> Result<Vec<u32>> {
    how.progress.begin(Phase::Ids, part.note.documents);
    let needed = SORTED_BYTES * part.note.documents;
    if needed > how.memory.reordering_bytes() {
        return Err(too_little(needed));
    }
    let mut documents: Vec<(&[u8], u32)> = ids(part)?.into_iter().zip(0..).collect();
    documents.par_sort_unstable();
    Ok(documents
        .into_iter()
        .map(|(_, document)| document)
        .collect())
}

/// The id of every document of `part`, where it stands in its file.
pub(super) fn ids(part: &Part) -> Result<Vec<&[u8]>> {
    // Fewer than 2^32.
    let mut all = Vec::with_capacity(part.documents() as usize);
    let mut ids = part.ids(0..part.documents())?;
    while let Some((_, id)) = ids.next()? {
        all.push(id);
    }
    Ok(all)
}

/// The error that an order needs more memory.
pub(super) fn too_little(needed: u64) -> Error {
    Error::Limit(format!(
        "putting the documents in this order takes {} MB of memory; give a larger budget",
        needed.div_ceil(1_000_000)
    ))
}
