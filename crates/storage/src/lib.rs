//! The ground of Tokapi's crates: errors, files that appear whole, checked scratch files, a memory budget, pipelined
//! stages, and small data structures.

pub mod apart;
pub mod bits;
pub mod compress;
pub mod disk;
pub mod error;
#[doc(hidden)]
pub mod guard;
pub mod memory;
pub mod mix;
pub mod paths;
pub mod pipeline;
pub mod prefetch;
pub mod progress;
pub mod quicksort;
pub mod ranks;
pub mod scratch;
mod setters;
pub mod strings;
pub mod tune;
pub mod varint;
pub mod whole;
