//! From an inverted collection to a part: its postings, and the texts, fields and positions that are kept.

mod built;
mod contents;
mod fields;
mod impacts;
mod lists;

pub use built::Built;
pub use contents::Contents;
pub(crate) use impacts::replace_tfs;
pub(crate) use lists::{
    BATCH_DOCUMENTS, CodedDocuments, write_documents, write_part, write_source,
};
