//! The values of fields, counted in the documents that match a query.
//!
//! A [`Column`] has the values of a field in a part of an index. A part never changes, so its columns are of use in all
//! later states of the index that have the part.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use super::Query;
pub use super::column::Column;
use super::matches::Matches;
use crate::Index;
use tokapi_storage::error::Result;

/// The number of documents with each value of a field.
pub struct ValueCounts {
    /// Of each part, the column and the number of documents with each value, by the number of the value.
    parts: Vec<(Arc<Column>, Vec<u32>)>,
}

impl ValueCounts {
    /// The values that a document has, each with the number of documents, in no order.
    pub fn all(&self) -> Vec<(Cow<'_, str>, u64)> {
        let counted = self.parts.iter().flat_map(|(column, counts)| {
            let counts = counts.iter().enumerate().skip(1);
            let counts = counts.filter(|(_, count)| **count > 0);
            counts.map(|(number, &count)| (column.value(number), u64::from(count)))
        });
        let has_any = |(_, counts): &&(_, Vec<u32>)| counts.iter().skip(1).any(|&count| count > 0);
        let text = |(value, count)| (String::from_utf8_lossy(value), count);
        if self.parts.iter().filter(has_any).count() < 2 {
            return counted.map(text).collect();
        }
        let mut sums: HashMap<&[u8], u64> = HashMap::new();
        for (value, count) in counted {
            *sums.entry(value).or_default() += count;
        }
        sums.into_iter().map(text).collect()
    }
}

/// Counts the values of some fields.
struct CountValues<'c> {
    /// Of each field, the columns of the parts.
    columns: &'c [Vec<Arc<Column>>],
    /// Of each field, the counts of the parts that have begun.
    counts: Vec<Vec<Vec<u32>>>,
    /// Documents.
    documents: u64,
}

impl CountValues<'_> {
    /// Begins the next part.
    fn begin(&mut self) {
        for (columns, counts) in self.columns.iter().zip(&mut self.counts) {
            let values = columns.get(counts.len()).map_or(0, |column| column.len());
            counts.push(vec![0; values + 1]);
        }
    }

    fn count<I: Iterator<Item = u32>>(&mut self, documents: impl Fn() -> I) {
        for (columns, counts) in self.columns.iter().zip(&mut self.counts) {
            let part = counts.len() - 1;
            if let Some(column) = columns.get(part) {
                column.count(documents(), &mut counts[part]);
            }
        }
    }
}

impl Matches for CountValues<'_> {
    fn documents(&mut self, documents: &[u32]) {
        self.documents += documents.len() as u64;
        self.count(|| documents.iter().copied());
    }

    fn bits(&mut self, first: u32, words: &[u64]) {
        let ones = words.iter().map(|word| u64::from(word.count_ones()));
        self.documents += ones.sum::<u64>();
        for (first, &word) in (first..).step_by(64).zip(words) {
            self.count(|| Ones(word).map(|bit| first + bit));
        }
    }
}

/// The places of the ones of a word.
struct Ones(u64);

impl Iterator for Ones {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        let place = self.0.trailing_zeros();
        self.0 &= self.0.wrapping_sub(1);
        (place < u64::BITS).then_some(place)
    }
}

/// A number for the files of each part. An index that was [opened again](Index::open_again) has the numbers of the parts
/// that it shares; no other part of this process has them.
pub fn part_numbers(index: &Index) -> impl ExactSizeIterator<Item = u64> {
    index.parts().iter().map(|part| part.number)
}

/// The values of a field in part `part` of `index`. Reads every posting of the field's values in the part.
///
/// # Errors
/// The index is damaged.
///
/// # Panics
/// If there is no such part.
pub fn column(index: &Index, part: usize, field: &str) -> Result<Column> {
    Column::read(&index.parts()[part], field)
}

/// Counts the documents that match a query, and the values of fields in them. `columns` has the columns of all parts for
/// each field. Costs as much as a count, and a memory access a document and field.
///
/// # Errors
/// As [`Index::count`].
pub fn count(
    index: &Index,
    query: &Query,
    columns: &[Vec<Arc<Column>>],
) -> Result<(u64, Vec<ValueCounts>)> {
    let mut count = CountValues {
        columns,
        counts: vec![Vec::new(); columns.len()],
        documents: 0,
    };
    index.visit(query, &mut count, |count, _| count.begin())?;
    let counted = columns.iter().zip(count.counts).map(|(columns, counts)| {
        let columns = columns.iter().map(Arc::clone);
        ValueCounts {
            parts: columns.zip(counts).collect(),
        }
    });
    Ok((count.documents, counted.collect()))
}

/// The numbers of all documents with a value in a field, whose columns of all parts are `columns`, ascending.
///
/// # Errors
/// The index is damaged.
pub fn documents(index: &Index, columns: &[Arc<Column>]) -> Result<Vec<u64>> {
    let mut documents = index.documents(&Query::everything())?;
    let mut parts = index.parts().iter().zip(columns);
    let (mut first, mut end, mut of_part) = (0, 0, None);
    documents.retain(|&document| {
        while document >= end {
            let Some((part, column)) = parts.next() else {
                return false;
            };
            (first, of_part) = (end, Some(column));
            end += part.note.documents;
        }
        // A part has fewer than 2^32.
        of_part.is_some_and(|column| column.has((document - first) as u32))
    });
    Ok(documents)
}
