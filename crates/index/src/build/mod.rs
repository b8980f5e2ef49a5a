//! From an inverted collection to a part: its postings, and the things that an index keeps of documents besides.

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
