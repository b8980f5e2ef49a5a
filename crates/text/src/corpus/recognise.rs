//! The format of a file, detected from its name and its first bytes.
//!
//! A name that tells the format decides; only for JSON, the bytes tell whether every line is an object. Without such a
//! name, the bytes decide. TSV is recognised in two cases: the first ten lines all have an id without spaces, a tab and
//! a text; or the first line names a column of ids and one of texts. Known other formats (`foreign.rs`) are refused.
//! Everything else is plain text.

use std::path::Path;

use super::foreign::{self, begins_with};
use super::format::Format;
use super::options::CorpusOptions;
use super::table::Table;

/// The number of lines that must look like TSV.
const LINES: usize = 10;

/// The format of the file `path` with first bytes `start`.
///
/// # Errors
/// The file is in a format that cannot be read; the error tells which, and what to do.
pub(super) fn recognise(
    path: &Path,
    start: &[u8],
    options: &CorpusOptions,
) -> Result<Format, String> {
    let by_name = Format::of_name(path);
    if by_name != Some(Format::Parquet) {
        foreign::binary(start)?;
    }
    match by_name {
        Some(Format::Jsonl) => return Ok(json_of_bytes(start)),
        Some(format) => return Ok(format),
        // An empty file has no documents, unless its name says that the file is one.
        None if start.is_empty() => return Ok(Format::Jsonl),
        None => {}
    }
    if let Some(format) = records_of_bytes(start, options) {
        return Ok(format);
    }
    foreign::markup(start)?;
    foreign::named(path)?;
    match memchr::memchr(0, start) {
        Some(_) => Err("looks like binary data: extract its text first".into()),
        None => Ok(Format::Text),
    }
}

/// The format of records, detected from the first bytes.
fn records_of_bytes(start: &[u8], options: &CorpusOptions) -> Option<Format> {
    let trimmed = start.trim_ascii_start();
    let is_table = |format| matches!(Table::of(format, start, options), Ok(Some(_)));
    if start.starts_with(b"PAR1") {
        Some(Format::Parquet)
    } else if trimmed.starts_with(b"{") && !trimmed.starts_with(b"{\\rtf") || is_array(trimmed) {
        Some(json_of_bytes(start))
    } else if begins_with(trimmed, b"<DOC>") {
        Some(Format::Trec)
    } else if is_table(Format::Tsv) || has_ids(start) {
        Some(Format::Tsv)
    } else if is_table(Format::Csv) {
        Some(Format::Csv)
    } else {
        None
    }
}

/// Whether an array of objects, or an empty array, begins here.
fn is_array(trimmed: &[u8]) -> bool {
    let inner = trimmed.strip_prefix(b"[").map(<[u8]>::trim_ascii_start);
    inner.is_some_and(|inner| matches!(inner.first(), Some(b'{' | b']')))
}

/// Whether JSON has one object per line, or an array or objects over several lines. In the second case the first line
/// ends within an object.
fn json_of_bytes(start: &[u8]) -> Format {
    let trimmed = start.trim_ascii_start();
    let first_line = trimmed.split(|&byte| byte == b'\n').next();
    let goes_on = first_line.is_some_and(|line| {
        let last = line.trim_ascii_end().last();
        line.len() < trimmed.len() && matches!(last, Some(b'{' | b'[' | b',' | b':'))
    });
    match is_array(trimmed) || goes_on {
        true => Format::Json,
        false => Format::Jsonl,
    }
}

/// Whether the first lines are all `id<TAB>text`.
fn has_ids(start: &[u8]) -> bool {
    let mut lines: Vec<&[u8]> = start.split(|&byte| byte == b'\n').take(LINES + 1).collect();
    // The last line may go on beyond the peeked bytes.
    if lines.len() > 1 {
        lines.pop();
    }
    let mut lines = lines
        .into_iter()
        .filter(|line| !line.trim_ascii().is_empty())
        .peekable();
    let is_id = |id: &[u8]| !id.is_empty() && !id.iter().any(u8::is_ascii_whitespace);
    lines.peek().is_some()
        && lines.all(|line| memchr::memchr(b'\t', line).is_some_and(|tab| is_id(&line[..tab])))
}

/// The likely format of a file that begins with `start` and is too large for one document, and advice.
pub(super) fn probably(start: &[u8]) -> &'static str {
    let lines: Vec<&[u8]> = start.split(|&byte| byte == b'\n').take(LINES).collect();
    let all_have = |mark: u8| lines.iter().all(|line| line.contains(&mark));
    if lines.len() < LINES {
        "a text without lines; cut it into documents, or give more memory"
    } else if json_of_bytes(start) == Format::Json || all_have(b'{') {
        "JSON; name the format"
    } else if all_have(b'\t') {
        "a table with tabs; name the format TSV, and columns in its first line"
    } else if all_have(b',') {
        "CSV; name the format, and columns in its first row"
    } else {
        "a file of many documents; convert it to JSONL, or give more memory"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, start: &[u8]) -> Result<Format, String> {
        recognise(Path::new(name), start, &CorpusOptions::default())
    }

    #[test]
    fn formats() {
        let cases: [(&str, &[u8], Format); 22] = [
            ("x", b"PAR1\x15", Format::Parquet),
            ("x", b"\n {\"id\":1}", Format::Jsonl),
            ("x", b"<doc>\n<docno>", Format::Trec),
            ("x.xml", b"<DOC>\n<DOCNO>", Format::Trec),
            ("x", b"1\tsome text\n", Format::Tsv),
            ("x", b"1\tsome text", Format::Tsv),
            ("x", b"id\ttext\n1\tx\n", Format::Tsv),
            ("x", b"some text\n1\tx", Format::Text),
            ("x", b"1\tx\nsome text\n", Format::Text),
            ("Makefile", b"all:\tprogram\n\tcc x.c\n", Format::Text),
            ("x", b"a table\tof two words\n", Format::Text),
            ("x", b"[Chapter 1]\n", Format::Text),
            ("x", b"id,contents\n1,x\n", Format::Csv),
            ("x", b"docno,\"text\"\n1,x\n", Format::Csv),
            ("x.csv", b"a,b\n1,x\n", Format::Csv),
            ("x", b"Words, words\n", Format::Text),
            ("x", b" [\n {\"id\": 1}]", Format::Json),
            ("x.json", b"[]", Format::Json),
            ("x.jsonl", b"[{\"id\":1}]", Format::Json),
            ("x.json", b"{\n  \"id\": 1\n}", Format::Json),
            ("x.json", b"{\"id\": 1}\n{\"id\": 2}\n", Format::Jsonl),
            ("x", b"", Format::Jsonl),
        ];
        for (name, start, format) in cases {
            let shown = String::from_utf8_lossy(start);
            assert_eq!(of(name, start), Ok(format), "{name} {shown}");
        }
    }

    #[test]
    fn other_files_are_named() {
        let mut tar = vec![0; 512];
        tar[257..262].copy_from_slice(b"ustar");
        let cases: [(&str, &[u8], &str); 16] = [
            ("x", b"WARC/1.0\r\n", "WARC"),
            ("x", &tar, "tar"),
            ("x.txt", b"PK\x03\x04abc", "zip"),
            ("x.csv", b"PK\x03\x04abc", "zip"),
            ("x", b"BZh91AY&SY", "bzip2"),
            ("x", b"\xfd7zXZ\0", "xz"),
            ("x", b"%PDF-1.7\n", "PDF"),
            ("x", b"\x89PNG\r\n\x1a\n", "image"),
            ("x", b"\xff\xd8\xff\xe0", "image"),
            ("x.txt", b"\xff\xfea\0b\0", "UTF-16"),
            ("x", b"a\0b\0c\0d\0", "UTF-16"),
            ("x", b"<?xml version", "XML"),
            ("x", b"<!doctype HTML>", "HTML"),
            ("x.html", b"words", "HTML"),
            ("x.tar", b"words", "tar"),
            ("x", b"a\0\0\0\x01", "binary"),
        ];
        for (name, start, part) in cases {
            let what = of(name, start).unwrap_err();
            assert!(what.contains(part), "{name}: {what}");
        }
    }
}
