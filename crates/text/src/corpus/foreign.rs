//! Files in formats that cannot be read, recognised by their first bytes and names.

use std::path::Path;

use tokapi_storage::compress::stem;

const ARCHIVE: &str = "unpack it and read its files";
const COMPRESSED: &str = "unpack it, or compress it as gzip or zstd";
const EXTRACT: &str = "extract its text first";
const EXPORT: &str = "export it as JSONL, CSV or Parquet";
const CONVERT: &str = "convert it to JSONL, or name the format `text` to take it as one document";
const ENCODING: &str = "convert it to UTF-8";

/// First bytes, the name of the format, and advice.
const SIGNATURES: [(&[u8], &str, &str); 24] = [
    (
        b"PK\x03\x04",
        "a zip archive or an office document",
        ARCHIVE,
    ),
    (b"PK\x05\x06", "a zip archive", ARCHIVE),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", ARCHIVE),
    (b"Rar!\x1a\x07", "a rar archive", ARCHIVE),
    (b"\xfd7zXZ\0", "xz", COMPRESSED),
    (b"\x04\x22\x4d\x18", "lz4", COMPRESSED),
    (b"\x1f\x9d", "compress (.Z)", COMPRESSED),
    (b"%PDF-", "PDF", EXTRACT),
    (b"{\\rtf", "RTF", EXTRACT),
    (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        "an office document",
        EXTRACT,
    ),
    (b"\x7fELF", "a program", "leave it out"),
    (b"\x89PNG\r\n\x1a\n", "an image", EXTRACT),
    (b"\xff\xd8\xff", "an image", EXTRACT),
    (b"GIF87a", "an image", EXTRACT),
    (b"GIF89a", "an image", EXTRACT),
    (b"II*\0", "an image", EXTRACT),
    (b"MM\0*", "an image", EXTRACT),
    (b"SQLite format 3\0", "an SQLite database", EXPORT),
    (b"ARROW1", "an Arrow file", EXPORT),
    (b"Obj\x01", "Avro", EXPORT),
    (b"\x89HDF\r\n\x1a\n", "HDF5", EXPORT),
    (b"\x93NUMPY", "a NumPy array", EXPORT),
    (b"\xff\xfe", "UTF-16", ENCODING),
    (b"\xfe\xff", "UTF-16", ENCODING),
];

/// Suffixes of names, the kind of the files, and advice.
const NAMES: [(&[&str], &str, &str); 6] = [
    (&["warc"], "WARC", CONVERT),
    (&["xml"], "XML", CONVERT),
    (&["html", "htm", "xhtml"], "HTML", CONVERT),
    (&["tar", "tgz"], "a tar archive", ARCHIVE),
    (&["zip", "7z", "rar"], "an archive", ARCHIVE),
    (
        &["pdf", "doc", "docx", "xls", "xlsx", "ppt", "pptx", "epub"],
        "an office document",
        EXTRACT,
    ),
];

/// Whether `start` begins with `word`, ignoring case.
pub(super) fn begins_with(start: &[u8], word: &[u8]) -> bool {
    let start = start.get(..word.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(word))
}

fn looks_like(what: &str, advice: &str) -> Result<(), String> {
    Err(format!("looks like {what}, which is not read: {advice}"))
}

/// Refuses bytes that are not text, whatever the file's name.
pub(super) fn binary(start: &[u8]) -> Result<(), String> {
    if let Some((_, what, advice)) = SIGNATURES.iter().find(|known| start.starts_with(known.0)) {
        return looks_like(what, advice);
    }
    if start.get(257..262) == Some(b"ustar") {
        return looks_like("a tar archive", ARCHIVE);
    }
    if start.starts_with(b"BZh") && start.get(4..10) == Some(b"1AY&SY") {
        return looks_like("bzip2", COMPRESSED);
    }
    if start.starts_with(b"RIFF") && start.get(8..12) == Some(b"WEBP") {
        return looks_like("an image", EXTRACT);
    }
    // UTF-16 without a byte order mark: every second byte of plain letters is zero.
    let pairs = start.chunks_exact(2).take(64);
    let of_ascii = |zero: usize| {
        pairs.len() > 3
            && pairs
                .clone()
                .all(|pair| pair[zero] == 0 && pair[1 - zero] != 0)
    };
    match of_ascii(0) || of_ascii(1) {
        true => looks_like("UTF-16", ENCODING),
        false => Ok(()),
    }
}

/// Refuses text in unsupported markup.
pub(super) fn markup(start: &[u8]) -> Result<(), String> {
    let trimmed = start.trim_ascii_start();
    if start.starts_with(b"WARC/") {
        looks_like("WARC", CONVERT)
    } else if begins_with(trimmed, b"<!doctype html") || begins_with(trimmed, b"<html") {
        looks_like("HTML", CONVERT)
    } else if begins_with(trimmed, b"<?xml") || trimmed.starts_with(b"<!DOCTYPE") {
        looks_like("XML", CONVERT)
    } else {
        Ok(())
    }
}

/// Refuses files by their names if the bytes are inconclusive.
pub(super) fn named(path: &Path) -> Result<(), String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.to_ascii_lowercase();
    let Some((_, extension)) = stem(&name).rsplit_once('.') else {
        return Ok(());
    };
    match NAMES.iter().find(|known| known.0.contains(&extension)) {
        Some((_, what, advice)) => looks_like(what, advice),
        None => Ok(()),
    }
}
