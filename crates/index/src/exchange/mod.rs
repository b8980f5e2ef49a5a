//! Indexes that are exchanged with other search engines: CIFF files, and folders that `bm25s` opens.

mod bm25s;
mod ciff;
mod live;

pub use ciff::{ImportOptions, is_ciff};
pub use live::Exported;
