//! The terms of an index, a page at a time.

use tokapi::{Error, Index, Result};

use crate::model::TermCount;

/// The end of a walk.
enum Ended {
    Early,
    Failed(Error),
}

impl From<Error> for Ended {
    fn from(error: Error) -> Self {
        Ended::Failed(error)
    }
}

/// At most `limit` terms that begin with `prefix` and come after `after`, and whether they are the last. Walks from the
/// first term of the index.
pub fn terms_by_walking(
    index: &Index,
    prefix: &str,
    after: Option<&str>,
    limit: usize,
) -> Result<(Vec<TermCount>, bool)> {
    let (mut terms, mut is_end) = (Vec::new(), true);
    // True ends the walk at this term.
    let wants = |term: &[u8], df: u64| {
        if after.is_some_and(|after| term <= after.as_bytes()) {
            return false;
        }
        if !term.starts_with(prefix.as_bytes()) {
            return term > prefix.as_bytes();
        }
        if terms.len() == limit {
            is_end = false;
            return true;
        }
        terms.push(TermCount {
            term: String::from_utf8_lossy(term).into_owned(),
            df,
        });
        false
    };
    match index.each_list(1, wants, |_| Err(Ended::Early)) {
        Ok(()) | Err(Ended::Early) => Ok((terms, is_end)),
        Err(Ended::Failed(error)) => Err(error),
    }
}
