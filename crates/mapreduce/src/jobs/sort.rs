//! Sorts lines.

use serde::{Deserialize, Serialize};

use super::super::functors::push_line;
use super::super::{Functors, Lines, MapFunction, Portable, Text};
use super::counts::count_texts;

/// Sorts lines by their bytes. The framework sorts. With [`Partitions::Ranges`], whose cuts are
/// sampled from the sorted runs, partitions have about equal sizes, and their concatenation is
/// sorted. Consecutive equal lines travel as one line and a count.
///
/// [`Partitions::Ranges`]: crate::Partitions::Ranges
///
/// ```
/// use tokapi_mapreduce::{Lines, Threads};
/// use tokapi_mapreduce::jobs::SortLines;
///
/// # fn main() -> tokapi_storage::error::Result<()> {
/// let lines = Lines::of_text("to\nbe\nor\nbe\n", 2);
/// let (sorted, _) = Threads::default().collect(&mut SortLines, lines, str::to_owned)?;
/// assert_eq!(sorted, ["be", "be", "or", "to"]);
/// # Ok(())
/// # }
/// ```
#[derive(Serialize, Deserialize)]
pub struct SortLines;

count_texts! {
    SortLines, Lines => <'a> &'a str,
    |line, emit| emit.pair(line.text, 1),
    |line, count, write| (0..count).for_each(|_| write(line))
}

impl Portable for SortLines {
    const NAME: &'static str = "sort";

    const FUNCTORS: Option<Functors<Self>> =
        Some(Functors::<Self>::counts(MapFunction::Whole, push_line));
}

/// The line as it is.
impl Text for &str {
    fn push(&self, text: &mut Vec<u8>) {
        text.extend_from_slice(self.as_bytes());
        text.push(b'\n');
    }
}
