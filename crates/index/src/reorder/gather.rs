//! Reads the records of documents in a new order.
//!
//! Records are stored in the old order, and random access to them would be slow. So all records
//! are read from the beginning, and those of as many places as the memory holds are gathered. The
//! next pass reads all of them again for the next places.

use std::ops::Range;
use std::vec::IntoIter;

use tokapi_storage::error::{Error, Result};
use tokapi_storage::progress::Progress;

/// Bytes of memory a record takes in addition to its content.
const PLACE_BYTES: u64 = size_of::<Range<usize>>() as u64;

/// Receives a document and its record. The record is none if the document does not exist.
pub(super) type Visit<'a> = dyn FnMut(usize, &[u8]) -> Option<()> + 'a;

/// Records that can be read from the beginning, any number of times.
pub(super) trait Records {
    /// Passes every document and its record to `visit`, in the order of the documents, until it is
    /// cancelled.
    fn each(&self, progress: &Progress, visit: &mut Visit<'_>) -> Result<()>;

    /// An upper bound of the bytes of all records.
    fn bytes(&self) -> Result<u64>;

    /// The error that the records are damaged.
    fn damaged(&self) -> Error;
}

/// The records in the new order.
pub(super) struct InOrder<'a, R> {
    records: R,
    /// The place of each document.
    places: &'a [u32],
    groups: IntoIter<Range<usize>>,
    progress: Progress,
    gathered: Gathered,
    /// The next record of the group.
    next: usize,
}

/// The records of a group of places.
#[derive(Default)]
struct Gathered {
    bytes: Vec<u8>,
    /// The position of each place's record.
    places: Vec<Range<usize>>,
}

impl<'a, R: Records> InOrder<'a, R> {
    /// Reads `records` in the new order, with at most `most_bytes` of them in memory at a time.
    pub fn new(
        records: R,
        places: &'a [u32],
        most_bytes: u64,
        progress: &Progress,
    ) -> Result<Self> {
        Ok(InOrder {
            groups: groups(&records, places, most_bytes, progress)?.into_iter(),
            progress: progress.clone(),
            records,
            places,
            gathered: Gathered::default(),
            next: 0,
        })
    }

    /// The next record; none at the end.
    pub fn next(&mut self) -> Result<Option<&[u8]>> {
        while self.next == self.gathered.places.len() {
            let Some(group) = self.groups.next() else {
                return Ok(None);
            };
            // One group at a time is in memory.
            drop(std::mem::take(&mut self.gathered));
            self.gathered = Gathered::new(&self.records, self.places, group, &self.progress)?;
            self.next = 0;
        }
        let place = self.gathered.places[self.next].clone();
        self.next += 1;
        Ok(Some(&self.gathered.bytes[place]))
    }
}

/// A range of places whose records take at most `most_bytes` together, or a single larger record.
fn groups(
    records: &impl Records,
    places: &[u32],
    most_bytes: u64,
    progress: &Progress,
) -> Result<Vec<Range<usize>>> {
    let all = records.bytes()? + PLACE_BYTES * places.len() as u64;
    let mut groups = Vec::new();
    if all <= most_bytes {
        groups.push(0..places.len());
        return Ok(groups);
    }
    let mut sizes = vec![0; places.len()];
    records.each(progress, &mut |document, record| {
        let place = *places.get(document)? as usize;
        // A record this large is a group by itself.
        sizes[place] = u32::try_from(record.len()).unwrap_or(u32::MAX);
        Some(())
    })?;
    let (mut from, mut sum) = (0, 0);
    for (place, &size) in sizes.iter().enumerate() {
        let bytes = PLACE_BYTES + u64::from(size);
        if place > from && sum + bytes > most_bytes {
            groups.push(from..place);
            (from, sum) = (place, 0);
        }
        sum += bytes;
    }
    groups.push(from..sizes.len());
    Ok(groups)
}

impl Gathered {
    fn new(
        records: &impl Records,
        places: &[u32],
        group: Range<usize>,
        progress: &Progress,
    ) -> Result<Self> {
        let mut gathered = Gathered {
            bytes: Vec::new(),
            places: vec![0..0; group.len()],
        };
        let mut count = 0;
        records.each(progress, &mut |document, record| {
            let place = *places.get(document)? as usize;
            if group.contains(&place) {
                let start = gathered.bytes.len();
                gathered.bytes.extend_from_slice(record);
                gathered.places[place - group.start] = start..gathered.bytes.len();
                count += 1;
            }
            Some(())
        })?;
        match count == group.len() {
            true => Ok(gathered),
            false => Err(records.damaged()),
        }
    }
}
