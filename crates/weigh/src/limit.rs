//! The limit of a collection: its documents and its terms have numbers of 32 bits.

use tokapi_storage::error::{Error, Result};

/// Checks a number of documents or terms; the error calls them `what`.
///
/// # Errors
/// The number is 2^32 or more.
pub(crate) fn check(count: impl TryInto<u32>, what: &str) -> Result<()> {
    match count.try_into() {
        Ok(_) => Ok(()),
        Err(_) => Err(Error::Limit(format!(
            "the collection has 2^32 or more {what}"
        ))),
    }
}
