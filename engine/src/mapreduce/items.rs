//! What is in memory as the records of jobs: for jobs that run again and again.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::input::{Input, Reader};
use crate::corpus::Skipped;
use crate::error::Result;

/// A record, and its number.
pub struct Item<'a, T> {
    /// Its place among all.
    pub number: usize,
    /// The record.
    pub item: &'a T,
}

impl<T> Clone for Item<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Item<'_, T> {}

impl<T> fmt::Display for Item<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "record {}", self.number + 1)
    }
}

/// A list, as input of jobs.
pub struct Items<T> {
    items: Arc<Vec<T>>,
    next: usize,
    split: usize,
}

impl<T> Items<T> {
    /// The records of `items`, `split` of them to a map task.
    pub fn new(items: Arc<Vec<T>>, split: usize) -> Self {
        Items {
            items,
            next: 0,
            split: split.max(1),
        }
    }
}

impl<T: Send + Sync + 'static> Input for Items<T> {
    type Split = Range<usize>;
    type Reader = ItemReader<T>;

    fn next_split(&mut self) -> Result<Option<Range<usize>>> {
        let from = self.next;
        self.next = self.items.len().min(from + self.split);
        Ok((from < self.next).then_some(from..self.next))
    }

    fn reader(&self) -> ItemReader<T> {
        ItemReader(Arc::clone(&self.items))
    }
}

/// Reads records of a list.
pub struct ItemReader<T>(Arc<Vec<T>>);

impl<T: Send + Sync + 'static> Reader for ItemReader<T> {
    type Split = Range<usize>;
    type Record<'a> = Item<'a, T>;

    fn read(
        &mut self,
        _: u32,
        split: Range<usize>,
        each: &mut impl FnMut(Item<'_, T>) -> Result<()>,
    ) -> Result<Skipped> {
        for number in split {
            let item = &self.0[number];
            each(Item { number, item })?;
        }
        Ok(Skipped::default())
    }
}
