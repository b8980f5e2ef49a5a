//! The terms of lists in ascending order, from any term on.

use super::lists::{Found, Lists, ShardView};
use tokapi_storage::error::Result;
use tokapi_weigh::dictionary::Ordered;

/// The terms of lists in ascending order, from a term on: see [`Lists::from`].
pub(crate) struct TermsFrom<'a> {
    lists: &'a Lists,
    /// The current shard, with its terms; none at the end.
    shard: Option<(ShardView<'a>, Ordered<'a>)>,
    /// The next shard.
    next: usize,
}

impl Lists {
    /// The terms from `first` on, ascending. Costs as a lookup; then each term costs its own bytes.
    pub fn from(&self, first: &[u8]) -> Result<TermsFrom<'_>> {
        let number = self.shard_of(first)?.unwrap_or(0);
        let mut terms = TermsFrom {
            lists: self,
            shard: None,
            next: number,
        };
        terms.enter(first)?;
        Ok(terms)
    }
}

impl TermsFrom<'_> {
    /// Goes to the next shard, to its first term from `first` on.
    fn enter(&mut self, first: &[u8]) -> Result<()> {
        self.shard = match self.next < self.lists.shard_count() {
            true => {
                let shard = self.lists.shard(self.next)?;
                let ordered = shard.trie.from(first);
                Some((shard, ordered))
            }
            false => None,
        };
        self.next += 1;
        Ok(())
    }
}

impl<'a> TermsFrom<'a> {
    /// The entry of the next term, which replaces the content of `term`; none at the end.
    pub fn next(&mut self, term: &mut Vec<u8>) -> Result<Option<Found<'a>>> {
        while let Some((shard, ordered)) = &mut self.shard {
            match ordered.next(term) {
                Some(id) => return self.lists.record(shard, id).map(Some),
                None => self.enter(b"")?,
            }
        }
        Ok(None)
    }
}
