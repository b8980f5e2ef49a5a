//! The source of records: map tasks take splits from a queue and read their records.

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;

use tokapi_storage::error::Result;
use tokapi_storage::progress::{Progress, Stage};
use tokapi_text::corpus::Skipped;

/// An input. It yields splits; each split is the work of one map task.
///
/// [`Lines`](crate::Lines) is one; [`Job`](crate::Job) has an example.
pub trait Input: Send {
    /// A split of the input, possibly not read yet.
    type Split: Send;
    /// Reads the records of splits.
    type Reader: Reader<Split = Self::Split>;

    /// Makes splits small from now on. The caller combines the pairs of many splits, so more
    /// splits cost nothing, and each is read while it is in the cache.
    fn split_finely(&mut self) {}

    /// Begins the progress stage of reading, with the size of the input in bytes if it is known.
    fn begin(&self, progress: &Progress) {
        progress.begin(Stage::Reading, 0);
    }

    /// The next split, in input order; none at the end.
    ///
    /// # Errors
    /// The input cannot be read.
    fn next_split(&mut self) -> Result<Option<Self::Split>>;

    /// Creates a reader for one thread.
    fn reader(&self) -> Self::Reader;
}

/// Reads the records of splits.
pub trait Reader: Send {
    /// The type of splits.
    type Split;
    /// A record. Its `Display` form tells its place in the input.
    type Record<'a>: Copy + fmt::Display;

    /// Passes every record of split number `number` to `each`, in order, and returns the omitted
    /// inputs.
    ///
    /// # Errors
    /// An error of `each`; the split cannot be read.
    fn read(
        &mut self,
        number: u32,
        split: Self::Split,
        each: &mut impl FnMut(Self::Record<'_>) -> Result<()>,
    ) -> Result<Skipped>;
}

/// An input whose splits can be read by other processes.
pub trait PortableInput: Input<Split: Serialize + DeserializeOwned + Clone> {
    /// The description of a reader.
    type Reading: Serialize + DeserializeOwned;

    /// Describes the reader of this input for another process.
    fn reading(&self) -> Self::Reading;

    /// Creates a reader from a description.
    ///
    /// # Errors
    /// The description is invalid.
    fn reader_of(reading: Self::Reading) -> Result<Self::Reader>;

    /// Records that another process reads a split.
    fn passed(&self, split: &Self::Split) {
        let _ = split;
    }

    /// The place of a split in the input, for messages.
    fn place(split: &Self::Split) -> String;
}
