//! The values of fields, kept for counting.
//!
//! A part of an index never changes, and its columns are of use as long as it is there: a change of the index costs the
//! columns of its new part.

use std::borrow::Cow;
use std::sync::Arc;

use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};
use tokapi::{Index, Result};
use tokapi_index::query::values::{Column, ValueCounts, column, part_numbers};

use crate::limits::Room;
use crate::model::ValueCount;

/// The bytes of an entry beside its column.
const ENTRY_BYTES: u64 = 256;

/// The assumed size of a column, to size the table.
const USUAL_BYTES: u64 = 1 << 16;

#[derive(Clone)]
struct ByBytes;

impl Weighter<(u64, String), Arc<Column>> for ByBytes {
    fn weight(&self, _: &(u64, String), column: &Arc<Column>) -> u64 {
        column.bytes() + ENTRY_BYTES
    }
}

/// Bytes of columns unless another number is given.
pub const USUAL_ROOM: u64 = 256 << 20;

/// Columns of parts, by the number of the part and the field; bounded by their bytes.
pub struct Columns(Cache<(u64, String), Arc<Column>, ByBytes>);

impl Default for Columns {
    fn default() -> Self {
        Columns::new(USUAL_ROOM)
    }
}

impl Columns {
    /// Room for `bytes` bytes of columns.
    pub fn new(bytes: u64) -> Self {
        let usual = usize::try_from(bytes / USUAL_BYTES).unwrap_or(usize::MAX);
        // A column may be as large as all the room, so the room is one.
        let options = OptionsBuilder::new()
            .shards(1)
            .estimated_items_capacity(usual.max(64))
            .weight_capacity(bytes)
            .build();
        let (hasher, lifecycle) = (DefaultHashBuilder::default(), DefaultLifecycle::default());
        Columns(match options {
            Ok(options) => Cache::with_options(options, ByBytes, hasher, lifecycle),
            // The options are complete, so there is no error.
            Err(_) => Cache::with_weighter(usual, bytes, ByBytes),
        })
    }

    /// The columns of a field in all parts of an index; those that are not there are read.
    ///
    /// # Errors
    /// The index is damaged.
    pub fn of(&self, index: &Index, field: &str) -> Result<Vec<Arc<Column>>> {
        let parts = part_numbers(index).enumerate().map(|(place, number)| {
            let read = || column(index, place, field).map(Arc::new);
            self.0.get_or_insert_with(&(number, field.to_owned()), read)
        });
        parts.collect()
    }

    /// The bytes of the columns that are kept.
    pub fn bytes(&self) -> u64 {
        self.0.weight()
    }
}

/// The number of distinct values, and the most frequent ones; of equally frequent ones, the first by bytes.
///
/// # Errors
/// There is no room for them.
pub fn most_frequent(
    counts: &ValueCounts,
    most: usize,
    room: &mut Room,
) -> Result<(u64, Vec<ValueCount>)> {
    let mut counted = counts.all();
    let distinct = counted.len() as u64;
    let order = |a: &(Cow<'_, str>, u64), b: &(Cow<'_, str>, u64)| {
        b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0))
    };
    if (1..counted.len()).contains(&most) {
        counted.select_nth_unstable_by(most, order);
        counted.truncate(most);
    }
    counted.sort_unstable_by(order);
    let values = counted.into_iter().take(most);
    let values = values.map(|(value, count)| {
        room.take_part(&value)?;
        Ok(ValueCount {
            value: value.into_owned(),
            count,
        })
    });
    Ok((distinct, values.collect::<Result<_>>()?))
}
