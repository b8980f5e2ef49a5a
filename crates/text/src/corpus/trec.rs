//! TREC SGML: `<DOC>`, `<DOCNO>id</DOCNO>`, any further elements, `</DOC>`.
//!
//! The text is everything outside of tags and of the id's element, or only the elements that the user names. A tag
//! counts as a space. The usual entities are replaced.

use super::format::Format;
use super::options::CorpusOptions;
use super::segment::{NOT_UTF8, Sink};
use tokapi_storage::error::Result;

const CUT_OFF: &str = "`</DOC>` is missing: the file is cut off or damaged; fetch it again";

pub(super) fn parse(bytes: &[u8], options: &CorpusOptions, sink: &mut Sink<'_>) -> Result<()> {
    let id_tag = options.id_field.as_deref().unwrap_or("DOCNO");
    let mut at = 0;
    while let Some(start) = find_tag(bytes, at, "DOC") {
        let body = start + "<DOC>".len();
        let (end, next) = match find_first(bytes, body, &["/DOC", "DOC"]) {
            Some((end, 0)) => (end, end + "</DOC>".len()),
            // Another document begins, so the end tag of this one is missing.
            Some((inner, _)) => (inner, inner),
            None => (bytes.len(), bytes.len()),
        };
        at = next;
        let problem = match std::str::from_utf8(&bytes[body..end]) {
            _ if end == next => Some(CUT_OFF.to_owned()),
            Err(_) => Some(NOT_UTF8.to_owned()),
            Ok(document) => push(document, id_tag, options, sink).err(),
        };
        if let Some(problem) = problem {
            sink.skip_at(bytes, start, || problem)?;
        }
    }
    // Documents end where blocks may end, so that the cuts make no difference.
    let end = Format::Trec.last_record_end(bytes, 0).unwrap_or(0).max(at);
    let rest = bytes[end..].trim_ascii();
    let begun = rest.len() < "<DOC>".len() && b"<DOC>"[..rest.len()].eq_ignore_ascii_case(rest);
    let problem = if rest.is_empty() {
        return Ok(());
    } else if begun {
        CUT_OFF
    } else if at == 0 && sink.segment.starts_file && find_tag(bytes, 0, "/DOC").is_none() {
        // A file without the end of a document is never cut, so this is all of it.
        "no `<DOC>`: this is not TREC SGML; name the format"
    } else {
        // Headers and wrapping elements between documents are ignored.
        return Ok(());
    };
    let at = bytes.len() - bytes[end..].trim_ascii_start().len();
    sink.skip_at(bytes, at, || problem)
}

/// Adds one document, or returns the reason why it cannot be added.
fn push(
    document: &str,
    id_tag: &str,
    options: &CorpusOptions,
    sink: &mut Sink<'_>,
) -> std::result::Result<(), String> {
    let bytes = document.as_bytes();
    let missing = || format!("no `<{id_tag}>` in this document");
    let open = find_tag(bytes, 0, id_tag).ok_or_else(missing)?;
    let id_start = open + id_tag.len() + 2;
    let id_end = find_tag(bytes, id_start, &format!("/{id_tag}")).ok_or_else(missing)?;
    let id = document[id_start..id_end].trim();
    if id.is_empty() {
        return Err(format!("`<{id_tag}>` is empty"));
    }
    let number = sink.chunk.len();
    for (field, tag) in options.fields.iter().enumerate() {
        for element in elements(document, tag) {
            let mut value = Vec::new();
            strip(element, &mut value);
            let value = value.trim_ascii();
            if !value.is_empty() {
                sink.chunk.values.push(number, field, value);
            }
        }
    }
    sink.chunk.ids.push(id.as_bytes());
    let start = sink.chunk.text.len();
    if options.text_fields.is_empty() {
        strip(&document[..open], &mut sink.chunk.text);
        strip(&document[id_end..], &mut sink.chunk.text);
    }
    for tag in &options.text_fields {
        for element in elements(document, tag) {
            strip(element, &mut sink.chunk.text);
            sink.chunk.text.push(b' ');
        }
    }
    sink.chunk.end_document(start);
    Ok(())
}

/// The content of every element named `tag`. An element without an end goes on to the end of the document.
fn elements<'a>(document: &'a str, tag: &'a str) -> impl Iterator<Item = &'a str> {
    let (mut at, closing) = (0, format!("/{tag}"));
    let bytes = document.as_bytes();
    std::iter::from_fn(move || {
        let inner = find_tag(bytes, at, tag)? + tag.len() + 2;
        at = find_tag(bytes, inner, &closing).unwrap_or(bytes.len());
        Some(&document[inner..at])
    })
}

/// The next place of `<name>`, ignoring case.
fn find_tag(bytes: &[u8], from: usize, name: &str) -> Option<usize> {
    find_first(bytes, from, &[name]).map(|(at, _)| at)
}

/// The next place of a tag with one of `names`, and the index of that name.
fn find_first(bytes: &[u8], from: usize, names: &[&str]) -> Option<(usize, usize)> {
    memchr::memchr_iter(b'<', &bytes[from..]).find_map(|found| {
        let at = from + found;
        let tag = &bytes[at + 1..];
        let is_whole = |name: &&str| {
            tag.len() > name.len()
                && tag[..name.len()].eq_ignore_ascii_case(name.as_bytes())
                && tag[name.len()] == b'>'
        };
        Some((at, names.iter().position(is_whole)?))
    })
}

/// Appends `text` with tags removed and entities replaced.
fn strip(text: &str, into: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    // After the last `>` no tag ends, so none is searched.
    let last_close = memchr::memrchr(b'>', bytes).unwrap_or(0);
    let mut at = 0;
    while let Some(next) = memchr::memchr2(b'<', b'&', &bytes[at..]).map(|found| at + found) {
        into.extend_from_slice(&bytes[at..next]);
        let is_tag = bytes[next] == b'<'
            && next < last_close
            && bytes
                .get(next + 1)
                .is_some_and(|&b| b.is_ascii_alphabetic() || b == b'/' || b == b'!');
        at = next + 1;
        if is_tag && let Some(close) = memchr::memchr(b'>', &bytes[next..]) {
            into.push(b' ');
            at = next + close + 1;
        } else if bytes[next] == b'&'
            && let Some((character, length)) = entity(&text[next..])
        {
            into.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            at = next + length;
        } else {
            into.push(bytes[next]);
        }
    }
    into.extend_from_slice(&bytes[at..]);
}

/// The character of the entity at the start of `text`, and the entity's length.
fn entity(text: &str) -> Option<(char, usize)> {
    // The longest entity is `&#1114111;`.
    let end = text.bytes().take(10).position(|b| b == b';')?;
    let name = &text[1..end];
    let character = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)?
        }
    };
    Some((character, end + 1))
}
