//! The spelling of a document in each format, and the format that a file name tells.

use std::path::Path;

use crate::corpus::Format;
use tokapi_storage::compress::Compression;
use tokapi_storage::error::{Error, Result};

/// The format and the compression that a file name tells, if any.
///
/// A name that ends in `/` is a folder of plain text. All other names are as for [`Format::of_name`], but a single file
/// is never plain text.
pub fn of_name(path: &Path) -> (Option<Format>, Compression) {
    if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
        return (Some(Format::Text), Compression::None);
    }
    let format = Format::of_name(path).filter(|&format| format != Format::Text);
    (format, Compression::of_name(path))
}

/// The spelling of a generated document.
///
/// In `.jsonl` and Parquet the id is in `id` and the text in `contents`. In a folder of plain text the document
/// `00000001` is the file `00000001.txt`. In `.terms` there are no ids.
pub(super) trait Spelling: Copy {
    /// The separator between the terms of a document.
    fn separator(self) -> u8;

    /// Whether the separator also follows the last term.
    fn ends_with_separator(self) -> bool;

    /// Appends the bytes before the terms of a document, counted from 0.
    fn push_prefix(self, document: u64, to: &mut Vec<u8>);

    /// The bytes after the terms of a document.
    fn suffix(self) -> &'static [u8];

    /// Appends a term as this format spells it.
    ///
    /// # Errors
    /// [`Error::Usage`] for a term that would read as markup.
    fn push_term(self, term: &[u8], to: &mut Vec<u8>) -> Result<()>;
}

impl Spelling for Format {
    fn separator(self) -> u8 {
        if self == Self::Terms { b'\n' } else { b' ' }
    }

    fn ends_with_separator(self) -> bool {
        self == Self::Terms
    }

    fn push_prefix(self, document: u64, to: &mut Vec<u8>) {
        match self {
            Self::Terms if document > 0 => to.push(b'\n'),
            Self::Terms | Self::Text | Self::Parquet => {}
            Self::Csv => {
                if document == 0 {
                    to.extend_from_slice(b"id,contents\n");
                }
                to.extend_from_slice(format!("{},\"", id(document)).as_bytes());
            }
            // A JSON array is refused before.
            Self::Jsonl | Self::Json => to.extend_from_slice(
                format!("{{\"id\":\"{}\",\"contents\":\"", id(document)).as_bytes(),
            ),
            Self::Tsv => to.extend_from_slice(format!("{}\t", id(document)).as_bytes()),
            Self::Trec => to.extend_from_slice(
                format!("<DOC>\n<DOCNO>{}</DOCNO>\n<TEXT>\n", id(document)).as_bytes(),
            ),
        }
    }

    fn suffix(self) -> &'static [u8] {
        match self {
            Self::Terms | Self::Parquet => b"",
            Self::Csv => b"\"\n",
            Self::Jsonl | Self::Json => b"\"}\n",
            Self::Tsv | Self::Text => b"\n",
            Self::Trec => b"\n</TEXT>\n</DOC>\n",
        }
    }

    fn push_term(self, term: &[u8], to: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Jsonl => {
                for &byte in term {
                    if byte == b'"' || byte == b'\\' {
                        to.push(b'\\');
                    }
                    to.push(byte);
                }
            }
            Self::Csv => {
                for &byte in term {
                    if byte == b'"' {
                        to.push(b'"');
                    }
                    to.push(byte);
                }
            }
            Self::Trec if term.iter().any(|byte| matches!(byte, b'<' | b'&')) => {
                return Err(Error::Usage(format!(
                    "the term `{}` of the vocabulary would be markup in TREC; choose another format",
                    String::from_utf8_lossy(term)
                )));
            }
            _ => to.extend_from_slice(term),
        }
        Ok(())
    }
}

/// The id of a document, counted from 0: its number counted from 1, with at least eight digits, so that ids sort in
/// document order.
pub(super) fn id(document: u64) -> String {
    format!("{:08}", document + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (name, format, compression) in [
            ("a.terms", Some(Format::Terms), Compression::None),
            ("x/a.JSONL.gz", Some(Format::Jsonl), Compression::Gzip),
            ("a.tsv.zst", Some(Format::Tsv), Compression::Zstd),
            ("a.b.trec", Some(Format::Trec), Compression::None),
            ("a.csv", Some(Format::Csv), Compression::None),
            ("a.parquet", Some(Format::Parquet), Compression::None),
            ("folder/", Some(Format::Text), Compression::None),
            ("terms", None, Compression::None),
            ("a.gz", None, Compression::Gzip),
            ("a.txt", None, Compression::None),
            ("a.terms/", Some(Format::Text), Compression::None),
        ] {
            assert_eq!(of_name(Path::new(name)), (format, compression), "{name}");
        }
    }
}
