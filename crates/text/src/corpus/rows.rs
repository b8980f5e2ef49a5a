//! Rows: decoded documents, as bytes within a block.
//!
//! A row is an id and a text. For every kept field, the number of its values and the values follow. Every id, text and
//! value follows its length of 32 bits.

use std::num::TryFromIntError;

use super::options::CorpusOptions;
use super::segment::{NOT_UTF8, Sink};
use super::value::ValueType;
use tokapi_storage::error::{Position, Result};

/// The length of a null id or text.
const NULL: u32 = u32::MAX;

/// Appends an id, text or value: its length, then its bytes.
pub(super) fn put(
    text: Option<&[u8]>,
    bytes: &mut Vec<u8>,
) -> std::result::Result<(), TryFromIntError> {
    match text {
        None => bytes.extend_from_slice(&NULL.to_le_bytes()),
        Some(text) => {
            bytes.extend_from_slice(&u32::try_from(text.len())?.to_le_bytes());
            bytes.extend_from_slice(text);
        }
    }
    Ok(())
}

/// Appends the number of values that follow.
pub(super) fn put_count(
    count: usize,
    bytes: &mut Vec<u8>,
) -> std::result::Result<(), TryFromIntError> {
    bytes.extend_from_slice(&u32::try_from(count)?.to_le_bytes());
    Ok(())
}

/// Takes the number of values off a row.
fn take_count(bytes: &mut &[u8]) -> u32 {
    let Some((count, rest)) = bytes.split_first_chunk() else {
        return 0;
    };
    *bytes = rest;
    u32::from_le_bytes(*count)
}

/// Takes the next text off a row.
fn take<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    let length = u32::from_le_bytes(*length);
    if length == NULL {
        return None;
    }
    let (text, rest) = bytes.split_at(length as usize);
    *bytes = rest;
    Some(text)
}

/// Turns rows into documents.
pub(super) fn parse(mut bytes: &[u8], options: &CorpusOptions, sink: &mut Sink<'_>) -> Result<()> {
    let segment = sink.segment;
    let mut row = segment.first();
    let mut values: Vec<(usize, &[u8])> = Vec::new();
    while !bytes.is_empty() {
        let id = take(&mut bytes).unwrap_or_default();
        let text = take(&mut bytes).unwrap_or_default();
        values.clear();
        for field in 0..options.fields.len() {
            for _ in 0..take_count(&mut bytes) {
                values.push((field, take(&mut bytes).unwrap_or_default()));
            }
        }
        let are_text = values
            .iter()
            .all(|(_, value)| std::str::from_utf8(ValueType::split(value).1).is_ok());
        match (std::str::from_utf8(id), std::str::from_utf8(text)) {
            _ if id.is_empty() => {
                sink.skip(|| segment.error(Position::Document(row), "the id is empty or null"))?
            }
            (Ok(id), Ok(text)) if are_text => {
                let document = sink.chunk.len();
                for &(field, value) in &values {
                    sink.chunk.values.push(document, field, value);
                }
                sink.chunk.push(id, text);
            }
            _ => sink.skip(|| segment.error(Position::Document(row), NOT_UTF8))?,
        }
        row += 1;
    }
    Ok(())
}
