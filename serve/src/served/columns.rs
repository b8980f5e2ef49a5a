//! The values of a field in all documents, for counting.

use std::collections::HashMap;

use tokapi::{Index, Query, Result};

use crate::limits::Room;
use crate::model::ValueCount;

/// The values of a field: the distinct ones, and their numbers by document.
#[derive(Debug, Default)]
pub struct Column {
    values: Vec<String>,
    /// The end of each document's values in `numbers`.
    ends: Vec<u64>,
    numbers: Vec<u32>,
}

impl Column {
    /// Reads the values of `field`, which `index` keeps, in all documents but the deleted ones.
    ///
    /// # Errors
    /// The index is damaged.
    pub fn read(index: &Index, field: &str) -> Result<Self> {
        let place = index.keep().fields.iter().position(|name| name == field);
        let mut column = Column::default();
        let mut known: HashMap<String, u32> = HashMap::new();
        for document in index.documents(&Query::everything())? {
            column
                .ends
                .resize(document as usize, column.numbers.len() as u64);
            let first = column.numbers.len();
            let fields = index.fields(document)?.fields;
            let values = place.and_then(|place| fields.into_iter().nth(place));
            for value in values.into_iter().flat_map(|(_, values)| values) {
                let next = known.len() as u32;
                let number = *known.entry(value.text).or_insert(next);
                // A document counts once for a value that it repeats.
                if !column.numbers[first..].contains(&number) {
                    column.numbers.push(number);
                }
            }
            column.ends.push(column.numbers.len() as u64);
        }
        let numbered = index.numbered() as usize;
        column.ends.resize(numbered, column.numbers.len() as u64);
        column.values = vec![String::new(); known.len()];
        for (value, number) in known {
            column.values[number as usize] = value;
        }
        Ok(column)
    }

    /// The number of distinct values.
    pub fn distinct(&self) -> u64 {
        self.values.len() as u64
    }

    /// Counts the values in `documents`; gives the most frequent, and of equally frequent ones the first by bytes.
    ///
    /// # Errors
    /// There is no room for them.
    pub fn count(
        &self,
        documents: impl Iterator<Item = u64>,
        most: usize,
        room: &mut Room,
    ) -> Result<Vec<ValueCount>> {
        let mut counts = vec![0u64; self.values.len()];
        for document in documents {
            // Documents are numbered from 0 in memory of this size.
            let document = document as usize;
            let from = match document.checked_sub(1) {
                Some(before) => self.ends[before] as usize,
                None => 0,
            };
            for &number in &self.numbers[from..self.ends[document] as usize] {
                counts[number as usize] += 1;
            }
        }
        let mut found: Vec<usize> = (0..counts.len()).filter(|&n| counts[n] > 0).collect();
        let order = |a: &usize, b: &usize| {
            let by_count = counts[*b].cmp(&counts[*a]);
            by_count.then_with(|| self.values[*a].cmp(&self.values[*b]))
        };
        if most < found.len() && most > 0 {
            found.select_nth_unstable_by(most - 1, order);
        }
        found.truncate(most);
        found.sort_by(order);
        let counted = found.into_iter().map(|number| {
            let value = &self.values[number];
            room.take_part(value)?;
            Ok(ValueCount {
                value: value.clone(),
                count: counts[number],
            })
        });
        counted.collect()
    }
}
