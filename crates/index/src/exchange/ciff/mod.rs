//! The Common Index File Format, in which search engines exchange indexes
//! (Lin et al., "Supporting Interoperability Between Open-Source Search Engines with the Common Index
//! File Format", SIGIR 2020).
//!
//! A file consists of a `Header`, one `PostingsList` a term, and one `DocRecord` a document. They
//! are Protocol Buffers messages, each after its length. Documents are numbered from 0. In a list
//! each number is stored as the gap to the previous one.

mod export;
mod import;
mod lists;
mod reader;
mod scan;
mod wire;

pub use import::ImportOptions;

use std::path::Path;

use tokapi_storage::compress::stem;

/// Whether a file name has the extension of the Common Index File Format: `.ciff`, or `.ciff`
/// followed by `.gz` or `.zst`.
pub fn is_ciff(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let extension = stem(&name).rsplit_once('.').map(|(_, extension)| extension);
    extension.is_some_and(|extension| extension.eq_ignore_ascii_case("ciff"))
}

/// The numbers of the fields of a `Header`.
mod header {
    pub const VERSION: u32 = 1;
    pub const LISTS: u32 = 2;
    pub const DOCUMENTS: u32 = 3;
    pub const ALL_LISTS: u32 = 4;
    pub const ALL_DOCUMENTS: u32 = 5;
    pub const TOTAL_LENGTH: u32 = 6;
    pub const AVERAGE_LENGTH: u32 = 7;
    pub const DESCRIPTION: u32 = 8;
}

/// The numbers of the fields of a `PostingsList`.
mod list {
    pub const TERM: u32 = 1;
    pub const DF: u32 = 2;
    pub const CF: u32 = 3;
    pub const POSTING: u32 = 4;
}

/// The numbers of the fields of a `Posting`.
mod posting {
    use super::{list, wire};

    pub const DOCUMENT: u32 = 1;
    pub const TF: u32 = 2;

    /// The tag of a posting in its list, and those of its fields.
    pub const TAG: u8 = wire::tag_of_bytes(list::POSTING);
    pub const DOCUMENT_TAG: u8 = wire::tag_of_number(DOCUMENT);
    pub const TF_TAG: u8 = wire::tag_of_number(TF);

    /// The size of most postings: two tags, and two numbers of a byte each.
    pub const USUAL_BYTES: u8 = 4;
}

/// The numbers of the fields of a `DocRecord`.
mod document {
    pub const NUMBER: u32 = 1;
    pub const ID: u32 = 2;
    pub const LENGTH: u32 = 3;
}

/// The version of the format.
const VERSION: u64 = 1;

#[cfg(test)]
mod tests {
    #[test]
    fn names() {
        for (name, is) in [
            ("a.ciff", true),
            ("a/b.CIFF.gz", true),
            ("b.ciff.zst", true),
            ("ciff", false),
            ("a.ciff/b", false),
            ("a.ciff.bz2", false),
        ] {
            assert_eq!(super::is_ciff(name.as_ref()), is, "{name}");
        }
    }
}
