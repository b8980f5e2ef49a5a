//! The formats of documents, and the ends of their records.

use std::path::Path;

use serde::{Deserialize, Serialize};

use tokapi_storage::compress::stem;

/// The first bytes of an input, by which its format is detected. The header of a table must fit in them.
pub(super) const PEEK_BYTES: u64 = 1 << 16;

/// The format of documents in a file.
///
/// ```
/// # use std::path::Path;
/// # use tokapi_text::corpus::Format;
/// assert_eq!(Format::of_name(Path::new("docs.jsonl.zst")), Some(Format::Jsonl));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Format {
    /// One JSON object a line.
    Jsonl,
    /// JSON objects in an array, or one after another, on any number of lines.
    Json,
    /// `id<TAB>text`, one document a line; or columns by name, if the first line names an id and a text.
    Tsv,
    /// CSV, columns by name: the first row names them.
    Csv,
    /// TREC SGML: `<DOC><DOCNO>id</DOCNO>...</DOC>`.
    Trec,
    /// Parquet, columns by name.
    Parquet,
    /// The whole file is one document, its path the id.
    Text,
    /// One term a line; an empty line ends a document.
    Terms,
}

impl Format {
    /// The name of the format, for logs.
    pub(super) fn name(self) -> &'static str {
        match self {
            Format::Jsonl => "JSON Lines",
            Format::Json => "JSON",
            Format::Tsv => "TSV",
            Format::Csv => "CSV",
            Format::Trec => "TREC",
            Format::Parquet => "Parquet",
            Format::Text => "plain text",
            Format::Terms => "terms",
        }
    }

    /// The format that a file's name tells, ignoring the suffix of a compression.
    pub fn of_name(path: &Path) -> Option<Format> {
        let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
        let (_, extension) = stem(&name).rsplit_once('.')?;
        match extension {
            "jsonl" | "ndjson" | "json" => Some(Format::Jsonl),
            "tsv" => Some(Format::Tsv),
            "csv" => Some(Format::Csv),
            "trec" | "sgml" | "sgm" => Some(Format::Trec),
            "parquet" => Some(Format::Parquet),
            "txt" | "text" | "md" => Some(Format::Text),
            "terms" => Some(Format::Terms),
            _ => None,
        }
    }

    /// One past the end of the last whole record in `bytes`; `None` if there is none. The first `searched` bytes are
    /// known to hold no end.
    pub(super) fn last_record_end(self, bytes: &[u8], searched: usize) -> Option<usize> {
        // An end may cross the border of the searched bytes.
        let from = searched.saturating_sub(8);
        match self {
            Format::Jsonl | Format::Tsv => {
                memchr::memrchr(b'\n', &bytes[from..]).map(|at| from + at + 1)
            }
            Format::Terms => {
                let last = last_of(&bytes[from..], b"\n\n", b"\n\r\n");
                // An empty line at the very beginning ends an empty document.
                let end = behind_empty_lines(bytes, last.map_or(0, |end| from + end));
                (end > 0).then_some(end)
            }
            Format::Trec => last_of(&bytes[from..], b"</DOC>", b"</doc>").map(|end| from + end),
            // Found front to back, or never.
            Format::Csv | Format::Json | Format::Text | Format::Parquet => None,
        }
    }

    /// As [`Format::last_record_end`], for `bytes` that may begin within a record.
    pub(super) fn last_record_end_within(self, bytes: &[u8]) -> Option<usize> {
        match self {
            Format::Terms => {
                last_of(bytes, b"\n\n", b"\n\r\n").map(|end| behind_empty_lines(bytes, end))
            }
            _ => self.last_record_end(bytes, 0),
        }
    }
}

/// The place after all empty lines from `end` on. Each of them ends an empty document.
fn behind_empty_lines(bytes: &[u8], mut end: usize) -> usize {
    while let Some(length) = empty_line(&bytes[end..]) {
        end += length;
    }
    end
}

/// The length of the empty line at the beginning of `bytes`, if any.
pub(super) fn empty_line(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [b'\n', ..] => Some(1),
        [b'\r', b'\n', ..] => Some(2),
        _ => None,
    }
}

/// One past the last place of `usual` or `other`; `other` is searched only after the last `usual`.
fn last_of(bytes: &[u8], usual: &[u8], other: &[u8]) -> Option<usize> {
    let first = memchr::memmem::rfind(bytes, usual).map(|at| at + usual.len());
    let behind = first.unwrap_or(0);
    let second = memchr::memmem::rfind(&bytes[behind..], other).map(|at| behind + at + other.len());
    second.or(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert_eq!(
            Format::of_name(Path::new("a/b.JSONL.gz")),
            Some(Format::Jsonl)
        );
        assert_eq!(
            Format::of_name(Path::new("x.terms.zst")),
            Some(Format::Terms)
        );
        assert_eq!(Format::of_name(Path::new("README")), None);
    }

    #[test]
    fn records_end_where_their_format_says() {
        assert_eq!(Format::Tsv.last_record_end(b"a\tb\nc\td", 0), Some(4));
        assert_eq!(Format::Terms.last_record_end(b"a\nb\n\nc\n", 0), Some(5));
        assert_eq!(Format::Terms.last_record_end(b"a\r\n\r\nb", 0), Some(5));
        assert_eq!(Format::Terms.last_record_end(b"a\nb\n", 0), None);
        assert_eq!(Format::Terms.last_record_end(b"\n", 0), Some(1));
        assert_eq!(Format::Terms.last_record_end(b"a\n\n\r\nb\n", 0), Some(5));
        assert_eq!(Format::Terms.last_record_end_within(b"\nb\n"), None);
        assert_eq!(Format::Terms.last_record_end_within(b"\nb\n\n\nc"), Some(5));
        assert_eq!(
            Format::Trec.last_record_end(b"<DOC>a</DOC>\n<DOC>", 9),
            Some(12)
        );
    }
}
