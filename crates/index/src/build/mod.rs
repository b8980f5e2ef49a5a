//! Builds a part from an inverted collection: its postings, and the kept texts, fields and
//! positions.

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
