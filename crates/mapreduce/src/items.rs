//! A list as the records of jobs, in memory or on scratch. Jobs of several steps use it.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::input::{Input, PortableInput, Reader};
use super::records::{Cursor, Records};
use tokapi_storage::error::Result;
use tokapi_text::corpus::Skipped;

/// A record, and its number.
pub struct Item<'a, T> {
    /// Its position in the list.
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

/// A list, as the input of jobs.
pub struct Items<T> {
    source: Source<T>,
    next: usize,
    split: usize,
}

/// The storage of the items.
enum Source<T> {
    List(Arc<Vec<T>>),
    /// A function that returns the next item.
    Stream(Box<dyn FnMut() -> Result<Option<T>> + Send>),
}

impl<T> Items<T> {
    /// The records of `items`, with `split` records a map task.
    pub fn new(items: Arc<Vec<T>>, split: usize) -> Self {
        Items {
            source: Source::List(items),
            next: 0,
            split: split.max(1),
        }
    }

    /// All of `records`, with `split` records a map task; this many are in memory at a time.
    pub fn of(records: Records<T>, split: usize) -> Self
    where
        T: DeserializeOwned + 'static,
    {
        let mut cursor = Cursor::default();
        Items::stream(move || cursor.next(&records), split)
    }

    /// The results of `next`, until it returns none.
    pub(super) fn stream(
        next: impl FnMut() -> Result<Option<T>> + Send + 'static,
        split: usize,
    ) -> Self {
        Items {
            source: Source::Stream(Box::new(next)),
            next: 0,
            split: split.max(1),
        }
    }
}

/// Consecutive items of a list.
#[derive(Serialize, Deserialize)]
#[serde(from = "(usize, Vec<T>)", bound(deserialize = "T: DeserializeOwned"))]
#[serde(into = "(usize, Vec<T>)", bound(serialize = "T: Clone + Serialize"))]
pub struct ItemSplit<T> {
    /// The number of the first item.
    first: usize,
    items: Arc<Vec<T>>,
    /// Their range in `items`.
    range: Range<usize>,
}

impl<T> Clone for ItemSplit<T> {
    fn clone(&self) -> Self {
        ItemSplit {
            first: self.first,
            items: Arc::clone(&self.items),
            range: self.range.clone(),
        }
    }
}

impl<T> From<(usize, Vec<T>)> for ItemSplit<T> {
    fn from((first, items): (usize, Vec<T>)) -> Self {
        ItemSplit {
            first,
            range: 0..items.len(),
            items: items.into(),
        }
    }
}

impl<T: Clone> From<ItemSplit<T>> for (usize, Vec<T>) {
    fn from(split: ItemSplit<T>) -> Self {
        (split.first, split.items[split.range].to_vec())
    }
}

impl<T: Send + Sync + 'static> Input for Items<T> {
    type Split = ItemSplit<T>;
    type Reader = ItemReader<T>;

    fn next_split(&mut self) -> Result<Option<ItemSplit<T>>> {
        let first = self.next;
        let (items, range) = match &mut self.source {
            Source::List(items) => {
                self.next = items.len().min(first + self.split);
                (Arc::clone(items), first..self.next)
            }
            Source::Stream(next) => {
                let mut items = Vec::new();
                while items.len() < self.split
                    && let Some(item) = next()?
                {
                    items.push(item);
                }
                let count = items.len();
                self.next = first + count;
                (Arc::new(items), 0..count)
            }
        };
        let split = ItemSplit {
            first,
            items,
            range,
        };
        Ok((first < self.next).then_some(split))
    }

    fn reader(&self) -> ItemReader<T> {
        ItemReader(PhantomData)
    }
}

impl<T: Clone + Serialize + DeserializeOwned + Send + Sync + 'static> PortableInput for Items<T> {
    type Reading = ();

    fn reading(&self) {}

    fn reader_of((): ()) -> Result<ItemReader<T>> {
        Ok(ItemReader(PhantomData))
    }

    fn place(split: &ItemSplit<T>) -> String {
        let last = split.first + split.range.len();
        format!("records {} to {last}", split.first + 1)
    }
}

/// Reads records of a list.
pub struct ItemReader<T>(PhantomData<fn() -> T>);

impl<T: Send + Sync + 'static> Reader for ItemReader<T> {
    type Split = ItemSplit<T>;
    type Record<'a> = Item<'a, T>;

    fn read(
        &mut self,
        _: u32,
        split: ItemSplit<T>,
        each: &mut impl FnMut(Item<'_, T>) -> Result<()>,
    ) -> Result<Skipped> {
        for (number, item) in (split.first..).zip(&split.items[split.range]) {
            each(Item { number, item })?;
        }
        Ok(Skipped::default())
    }
}
