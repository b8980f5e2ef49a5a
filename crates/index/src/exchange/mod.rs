//! Import and export: CIFF files, and folders for `bm25s`.

mod bm25s;
mod ciff;
mod live;

pub use ciff::{ImportOptions, is_ciff};
pub use live::Exported;
