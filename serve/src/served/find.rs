//! Documents by id.

use tokapi::{Index, Result};

/// The number of the document with an id, the last one added.
pub fn find_by_walking_all_ids(index: &Index, id: &str) -> Result<Option<u64>> {
    for document in (0..index.numbered()).rev() {
        if index.id(document)? == id {
            return Ok(Some(document));
        }
    }
    Ok(None)
}
