//! Where records come from: splits, taken from a queue by the map tasks, and their records.

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;

use tokapi_storage::error::Result;
use tokapi_storage::progress::{Progress, Stage};
use tokapi_text::corpus::Skipped;

/// An input splitter: gives pieces of the input, each the work of one map task.
pub trait Input: Send {
    /// A piece of the input, not necessarily read yet.
    type Split: Send;
    /// What reads the records of splits.
    type Reader: Reader<Split = Self::Split>;

    /// Makes splits small from now on: whoever asks holds the pairs of many together, so that more
    /// of them cost nothing, and each is read while it is in the cache.
    fn split_finely(&mut self) {}

    /// Begins the stage of reading, with the size of the input in bytes if it is known.
    fn begin(&self, progress: &Progress) {
        progress.begin(Stage::Reading, 0);
    }

    /// The next split, in input order; none at the end.
    ///
    /// # Errors
    /// The input cannot be read.
    fn next_split(&mut self) -> Result<Option<Self::Split>>;

    /// A reader, for one thread.
    fn reader(&self) -> Self::Reader;
}

/// Reads the records of splits.
pub trait Reader: Send {
    /// What it reads.
    type Split;
    /// A record; shown, it says where it stands, for whoever must find it.
    type Record<'a>: Copy + fmt::Display;

    /// Gives every record of split number `number` to `each`, in order, and says what was left out.
    ///
    /// # Errors
    /// What `each` says; the split cannot be read.
    fn read(
        &mut self,
        number: u32,
        split: Self::Split,
        each: &mut impl FnMut(Self::Record<'_>) -> Result<()>,
    ) -> Result<Skipped>;
}

/// An input whose splits can be read elsewhere.
pub trait PortableInput: Input<Split: Serialize + DeserializeOwned + Clone> {
    /// What a reader is made of.
    type Reading: Serialize + DeserializeOwned;

    /// What makes a reader of this input elsewhere.
    fn reading(&self) -> Self::Reading;

    /// A reader.
    ///
    /// # Errors
    /// It cannot be made of what was described.
    fn reader_of(reading: Self::Reading) -> Result<Self::Reader>;

    /// Takes note that a split is read elsewhere.
    fn passed(&self, split: &Self::Split) {
        let _ = split;
    }

    /// Where a split stands in the input, for whoever must find it.
    fn place(split: &Self::Split) -> String;
}
