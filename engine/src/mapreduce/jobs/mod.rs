//! Jobs, each a file: the examples of the framework, and what `tokapi mapreduce` runs.

mod wordcount;

pub use wordcount::WordCount;
