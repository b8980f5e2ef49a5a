//! Ranks of all nodes, in the order of their numbers.

use super::super::super::Records;
use super::super::super::records::Cursor;
use tokapi_storage::error::{Error, Result};

/// Ranks by number.
#[derive(Clone)]
pub(super) enum StoredRanks {
    /// All ranks are equal.
    Same(u64),
    /// One by one, with node numbers.
    Nodes(Records<(u32, u64)>),
    /// In blocks of consecutive nodes.
    Blocks(Records<Vec<u64>>),
}

impl StoredRanks {
    /// Reads the ranks in order.
    pub(super) fn read(&self) -> RankReader {
        RankReader {
            ranks: self.clone(),
            cursor: Cursor::default(),
            block: Vec::new().into_iter(),
        }
    }

    /// The total difference between `count` ranks and these.
    ///
    /// # Errors
    /// Scratch files cannot be read.
    pub(super) fn change(&self, others: &StoredRanks, count: u32) -> Result<u64> {
        let (mut these, mut others) = (self.read(), others.read());
        let mut change = 0;
        for _ in 0..count {
            change += these.next()?.abs_diff(others.next()?);
        }
        Ok(change)
    }
}

/// Reads ranks one by one.
pub(super) struct RankReader {
    ranks: StoredRanks,
    cursor: Cursor,
    block: std::vec::IntoIter<u64>,
}

impl RankReader {
    /// The rank of the next node, which must exist.
    #[inline]
    pub(super) fn next(&mut self) -> Result<u64> {
        if let Some(rank) = self.block.next() {
            return Ok(rank);
        }
        let next = match &self.ranks {
            StoredRanks::Same(rank) => Some(*rank),
            StoredRanks::Nodes(ranks) => self.cursor.next(ranks)?.map(|(_, rank)| rank),
            StoredRanks::Blocks(ranks) => {
                let block = self.cursor.next(ranks)?;
                self.block = block.unwrap_or_default().into_iter();
                self.block.next()
            }
        };
        next.ok_or_else(|| Error::Verification("a node of the graph got no rank".into()))
    }
}
