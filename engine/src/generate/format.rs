//! What a document looks like in each format, and which format a file name asks for.

use std::path::Path;

use crate::{Error, Result};

/// The formats of a generated collection.
///
/// A document's id is its number, counted from 1, with at least eight digits: ids sort in document order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One term on every line, an empty line between documents; no ids.
    Terms,
    /// One `{"id":"...","contents":"..."}` on every line.
    Jsonl,
    /// An id, a tab and the text on every line.
    Tsv,
    /// TREC's `<DOC>`, `<DOCNO>` and `<TEXT>`.
    Trec,
    /// A folder with a file for every document, `00000001.txt` and so on.
    Text,
    /// Parquet with the string columns `id` and `contents`.
    Parquet,
}

/// How a stream is compressed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// As gzip members, one after another.
    Gzip,
    /// As Zstandard frames, one after another.
    Zstd,
}

/// The format, if the name tells it, and the compression that a file name asks for.
///
/// `.terms`, `.jsonl` or `.ndjson`, `.tsv`, `.trec` or `.sgml`, and `.parquet`; then `.gz`, `.zst` or nothing. A name that
/// ends in `/` is a folder of plain text.
pub fn of_name(path: &Path) -> (Option<Format>, Compression) {
    let name = path.as_os_str().to_string_lossy().to_ascii_lowercase();
    let (stem, compression) = if let Some(stem) = name.strip_suffix(".gz") {
        (stem, Compression::Gzip)
    } else if let Some(stem) = name.strip_suffix(".zst") {
        (stem, Compression::Zstd)
    } else {
        (name.as_str(), Compression::None)
    };
    let format = match stem.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "terms" => Some(Format::Terms),
        "jsonl" | "ndjson" => Some(Format::Jsonl),
        "tsv" => Some(Format::Tsv),
        "trec" | "sgml" => Some(Format::Trec),
        "parquet" => Some(Format::Parquet),
        _ => stem.ends_with('/').then_some(Format::Text),
    };
    (format, compression)
}

impl Format {
    /// What stands between the terms of a document.
    pub(super) fn separator(self) -> u8 {
        if self == Self::Terms { b'\n' } else { b' ' }
    }

    /// Whether the separator also follows the last term.
    pub(super) fn ends_with_separator(self) -> bool {
        self == Self::Terms
    }

    /// Appends what stands before the terms of a document, counted from 0.
    pub(super) fn push_prefix(self, document: u64, to: &mut Vec<u8>) {
        match self {
            Self::Terms if document > 0 => to.push(b'\n'),
            Self::Terms | Self::Text | Self::Parquet => {}
            Self::Jsonl => to.extend_from_slice(
                format!("{{\"id\":\"{}\",\"contents\":\"", id(document)).as_bytes(),
            ),
            Self::Tsv => to.extend_from_slice(format!("{}\t", id(document)).as_bytes()),
            Self::Trec => to.extend_from_slice(
                format!("<DOC>\n<DOCNO>{}</DOCNO>\n<TEXT>\n", id(document)).as_bytes(),
            ),
        }
    }

    /// What stands after the terms of a document.
    pub(super) fn suffix(self) -> &'static [u8] {
        match self {
            Self::Terms | Self::Parquet => b"",
            Self::Jsonl => b"\"}\n",
            Self::Tsv | Self::Text => b"\n",
            Self::Trec => b"\n</TEXT>\n</DOC>\n",
        }
    }

    /// A term as this format spells it.
    ///
    /// # Errors
    /// [`Error::Usage`] for a term that would read as markup.
    pub(super) fn push_term(self, term: &[u8], to: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Jsonl => {
                for &byte in term {
                    if byte == b'"' || byte == b'\\' {
                        to.push(b'\\');
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

/// The id of a document, counted from 0.
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
            ("a.parquet", Some(Format::Parquet), Compression::None),
            ("folder/", Some(Format::Text), Compression::None),
            ("terms", None, Compression::None),
            ("a.gz", None, Compression::Gzip),
        ] {
            assert_eq!(of_name(Path::new(name)), (format, compression), "{name}");
        }
    }
}
