//! Some terms of an index in ascending order, from any term on.

use crate::Index;
use tokapi_storage::error::Result;

impl Index {
    /// The first `most` terms that begin with `prefix` and come after `after`, ascending by their bytes, each with its
    /// df. Terms of deleted documents only are left out.
    ///
    /// Costs a lookup, and then the terms that it gives.
    ///
    /// # Errors
    /// The index is damaged.
    pub fn terms(
        &self,
        prefix: &str,
        after: Option<&str>,
        most: usize,
    ) -> Result<Vec<(String, u64)>> {
        let prefix = prefix.as_bytes();
        let after = after.map(str::as_bytes);
        let first = after.map_or(prefix, |after| after.max(prefix));
        let mut streams = Vec::with_capacity(self.parts().len());
        for part in self.parts() {
            let (mut terms, mut term) = (part.lists.from(first)?, Vec::new());
            let mut found = terms.next(&mut term)?;
            if found.is_some() && Some(&*term) == after {
                found = terms.next(&mut term)?;
            }
            streams.push((part, terms, term, found));
        }
        let (mut page, mut least) = (Vec::new(), Vec::new());
        while page.len() < most {
            let nexts = streams.iter().filter(|(.., found)| found.is_some());
            let Some(next) = nexts.map(|(_, _, term, _)| term).min() else {
                break;
            };
            if !next.starts_with(prefix) {
                break;
            }
            least.clone_from(next);
            let mut df = 0;
            for (part, terms, term, found) in &mut streams {
                if let Some(of_part) = found
                    && *term == least
                {
                    df += part.live_df(of_part)?;
                    *found = terms.next(term)?;
                }
            }
            if df > 0 {
                page.push((String::from_utf8_lossy(&least).into_owned(), df));
            }
        }
        Ok(page)
    }
}
