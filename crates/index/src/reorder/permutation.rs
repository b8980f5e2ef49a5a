//! The permutation of the documents of a part.

use super::bisect;
use super::graph::Graph;
use super::options::{Reorder, Reordering};
use crate::part::Part;
use tokapi_storage::error::Result;
use tokapi_storage::progress::Stage;
use tokapi_storage::quicksort;
use tokapi_storage::strings::Strings;

/// Bytes of memory a document takes while ids are sorted, besides its id: the offset of the id,
/// and both permutations.
const SORTED_BYTES: u64 = 8 + 4 + 4;

/// Documents between two tests for cancellation.
const CHECKED_DOCUMENTS: u32 = 1 << 12;

/// An order of the documents of a part.
pub(super) struct Permutation {
    /// The document at each place of the new order.
    pub order: Vec<u32>,
    /// The new place of each document.
    pub places: Vec<u32>,
}

impl Permutation {
    /// Computes the requested order of the documents of `part`.
    pub fn new(part: &Part, how: &Reordering) -> Result<Self> {
        let order = match how.by {
            Reorder::Graph => bisect::order(Graph::new(part, how)?, &how.progress)?,
            Reorder::Id => by_id(part, how)?,
        };
        let mut places = vec![0; order.len()];
        for (place, &document) in (0..).zip(&order) {
            places[document as usize] = place;
        }
        Ok(Permutation { order, places })
    }
}

/// The documents of `part`, sorted by their ids.
fn by_id(part: &Part, how: &Reordering) -> Result<Vec<u32>> {
    how.progress.begin(Stage::Ids, part.note.documents);
    let needed = SORTED_BYTES * part.note.documents + part.id_bytes();
    if needed > how.memory.reordering_bytes() {
        return Err(Reordering::too_little(needed));
    }
    // Fewer than 2^32. The ids are copied: mapped pages may be released at any time, and sorting
    // would touch them again and again.
    let mut ids = Strings::with_capacity(part.documents() as usize, part.id_bytes() as usize);
    let mut of_part = part.ids(0..part.documents())?;
    while let Some((document, id)) = of_part.next()? {
        if document.is_multiple_of(CHECKED_DOCUMENTS) {
            how.check()?;
            how.progress.add(CHECKED_DOCUMENTS.into());
        }
        ids.push(id);
    }
    let id = |document: u32| ids.get(document as usize);
    let mut documents: Vec<u32> = (0..part.documents()).collect();
    let by_id = |&a: &u32, &b: &u32| id(a).cmp(id(b)).then(a.cmp(&b));
    quicksort::par_sort_by(&mut documents, &by_id, &how.progress)?;
    Ok(documents)
}
