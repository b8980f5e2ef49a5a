//! The values of a field by document: a column of a part.
//!
//! A part never changes, and neither does its column. Deleted documents are in it, and are left out by a query.

use crate::document::{field_prefix, value_of_key};
use crate::part::Part;
use crate::part::block::BLOCK;
use tokapi_storage::error::Result;
use tokapi_storage::strings::Strings;

/// The values of a field in the documents of a part of an index, for counting. Values that no filter finds, because they
/// are too long, are left out.
pub struct Column {
    values: Strings,
    numbers: Numbers,
}

/// The numbers of each document's values. The number of a value is its place among all of them plus one.
enum Numbers {
    /// At most one value a document; 0 for none.
    Byte(Vec<u8>),
    Short(Vec<u16>),
    Word(Vec<u32>),
    /// The end of each document's numbers, and the numbers.
    Several(Vec<u64>, Vec<u32>),
}

impl Column {
    /// Reads the values of a field from the lists of the values of a part.
    pub(super) fn read(part: &Part, field: &str) -> Result<Self> {
        let mut values = Strings::default();
        // Fewer than 2^32. The first value of each document, and further ones.
        let mut first = vec![0u32; part.documents() as usize];
        let mut more: Vec<(u32, u32)> = Vec::new();
        if let Some(lists) = &part.fields {
            let prefix = field_prefix(field);
            let (mut lists, mut key) = (lists.from(prefix.as_bytes())?, Vec::new());
            let mut room = [[0; BLOCK]; 2];
            while let Some(found) = lists.next(&mut key)? {
                let Some(value) = key.strip_prefix(prefix.as_bytes()) else {
                    break;
                };
                values.push(&value_of_key(value));
                let number = u32::try_from(values.len())
                    .map_err(|_| part.lists.damaged("a field has too many values"))?;
                found.each_documents(&mut room, |documents| {
                    for &document in documents {
                        match &mut first[document as usize] {
                            free @ 0 => *free = number,
                            _ => more.push((document, number)),
                        }
                    }
                })?;
            }
        }
        let numbers = match more.is_empty() {
            true => Numbers::one(first, values.len()),
            false => Numbers::several(&first, more),
        };
        Ok(Column { values, numbers })
    }

    /// The bytes of memory that it takes.
    pub fn bytes(&self) -> u64 {
        let numbers = match &self.numbers {
            Numbers::Byte(numbers) => numbers.len(),
            Numbers::Short(numbers) => 2 * numbers.len(),
            Numbers::Word(numbers) => 4 * numbers.len(),
            Numbers::Several(ends, numbers) => 8 * ends.len() + 4 * numbers.len(),
        };
        // An offset for each value.
        (size_of::<Column>() + self.values.byte_count() + 8 * self.values.len() + numbers) as u64
    }

    /// The number of distinct values.
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// The value of a number.
    pub(super) fn value(&self, number: usize) -> &[u8] {
        self.values.get(number - 1)
    }

    /// Whether a document has a value.
    pub(super) fn has(&self, document: u32) -> bool {
        let document = document as usize;
        match &self.numbers {
            Numbers::Byte(numbers) => numbers[document] > 0,
            Numbers::Short(numbers) => numbers[document] > 0,
            Numbers::Word(numbers) => numbers[document] > 0,
            Numbers::Several(ends, _) => start(ends, document) < ends[document],
        }
    }

    /// Adds 1 to the count of each value that one of `documents` has, by its number. The count of number 0 means nothing.
    #[inline]
    pub(super) fn count(&self, documents: impl Iterator<Item = u32>, counts: &mut [u32]) {
        match &self.numbers {
            Numbers::Byte(numbers) => {
                documents.for_each(|d| counts[usize::from(numbers[d as usize])] += 1);
            }
            Numbers::Short(numbers) => {
                documents.for_each(|d| counts[usize::from(numbers[d as usize])] += 1);
            }
            Numbers::Word(numbers) => {
                documents.for_each(|d| counts[numbers[d as usize] as usize] += 1);
            }
            Numbers::Several(ends, numbers) => documents.for_each(|document| {
                let document = document as usize;
                // All numbers are in memory.
                let range = start(ends, document) as usize..ends[document] as usize;
                for &number in &numbers[range] {
                    counts[number as usize] += 1;
                }
            }),
        }
    }
}

/// The start of a document's numbers.
#[inline]
fn start(ends: &[u64], document: usize) -> u64 {
    match document.checked_sub(1) {
        Some(before) => ends[before],
        None => 0,
    }
}

impl Numbers {
    /// Those of documents with at most one of `values` values, as narrow as they fit.
    fn one(numbers: Vec<u32>, values: usize) -> Self {
        // No number is above `values`.
        if values <= usize::from(u8::MAX) {
            return Numbers::Byte(numbers.into_iter().map(|number| number as u8).collect());
        }
        if values <= usize::from(u16::MAX) {
            return Numbers::Short(numbers.into_iter().map(|number| number as u16).collect());
        }
        Numbers::Word(numbers)
    }

    /// Those of documents with a first value, and with `more`: documents and numbers.
    fn several(first: &[u32], mut more: Vec<(u32, u32)>) -> Self {
        more.sort_unstable();
        let mut more = more.into_iter().peekable();
        let (mut ends, mut numbers) = (Vec::with_capacity(first.len()), Vec::new());
        for (document, &first) in (0..).zip(first) {
            numbers.extend((first > 0).then_some(first));
            while let Some((_, number)) = more.next_if(|(of, _)| *of == document) {
                numbers.push(number);
            }
            ends.push(numbers.len() as u64);
        }
        Numbers::Several(ends, numbers)
    }
}
