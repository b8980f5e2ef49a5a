//! The bytes of a record of the store: the values of the kept fields, then the text.
//!
//! For every field, the number of its values, then each value after its length.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::Index;
use tokapi_storage::error::Result;
use tokapi_storage::varint;
use tokapi_text::corpus::{FieldValue, Value, ValueType};

/// The text and the fields of a document that an index keeps.
///
/// [`Index`] has an example.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredDocument {
    /// The indexed text, if the index keeps texts.
    pub text: Option<String>,
    /// Every kept field, with the document's values in it.
    pub fields: Vec<(String, Vec<StoredValue>)>,
}

/// A value of a field.
///
/// [`Index`] has an example.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredValue {
    /// The type, if the index records it. Indexes of former versions store strings only.
    #[doc(hidden)]
    pub kind: ValueType,
    /// Its text.
    pub text: String,
}

impl StoredValue {
    /// The value in its type, if the index records it. Indexes of former versions store strings only.
    pub fn value(&self) -> Value {
        let value = Value::of_text(self.kind, &self.text);
        value.unwrap_or_else(|| Value::Text(self.text.clone()))
    }
}

impl Index {
    /// Reads the text and the fields of a document, as far as the index keeps them.
    ///
    /// # Errors
    /// The document does not exist; the index is damaged.
    pub fn document(&self, document: u64) -> Result<StoredDocument> {
        self.stored(document, self.keep().text)
    }

    /// Reads the kept fields of a document without its text. This takes a tenth of the time.
    ///
    /// # Errors
    /// The document does not exist; the index is damaged.
    pub fn fields(&self, document: u64) -> Result<StoredDocument> {
        self.stored(document, false)
    }

    fn stored(&self, document: u64, text: bool) -> Result<StoredDocument> {
        let (part, document) = self.locate(document)?;
        let part = &self.parts()[part];
        let Some(store) = &part.store else {
            return Ok(StoredDocument::default());
        };
        let record = match text {
            true => store.record(document)?,
            false => store.values(document)?,
        };
        let kept = &self.keep().fields;
        let names = part.note.fields_of(kept);
        let mut stored = decode(&record, names, text).ok_or_else(|| store.damaged())?;
        // Fields that the index did not keep yet when the document was added.
        let later = kept[names.len()..].iter();
        stored
            .fields
            .extend(later.map(|name| (name.clone(), Vec::new())));
        Ok(stored)
    }
}

/// Replaces the content of `bytes` by the values of a document, fields in ascending order.
pub(crate) fn encode_values<'a>(
    values: impl Iterator<Item = FieldValue<'a>> + Clone,
    fields: usize,
    bytes: &mut Vec<u8>,
) {
    bytes.clear();
    for field in 0..fields {
        let of_field = values.clone().filter(|value| value.field == field);
        varint::push(of_field.clone().count() as u64, bytes);
        for value in of_field {
            let value = value.kind.mark(value.text);
            varint::push(value.len() as u64, bytes);
            bytes.extend_from_slice(&value);
        }
    }
}

/// Takes the values of one field from a record. None if the record is damaged.
fn take_values<'a>(record: &mut &'a [u8]) -> Option<Vec<&'a [u8]>> {
    let count = varint::take(record)?;
    let mut values = Vec::new();
    for _ in 0..count {
        let length = usize::try_from(varint::take(record)?).ok()?;
        let (value, rest) = record.split_at_checked(length)?;
        *record = rest;
        values.push(value);
    }
    Some(values)
}

/// The document of a record.
pub(crate) fn decode(mut record: &[u8], names: &[String], text: bool) -> Option<StoredDocument> {
    let owned = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
    let mut fields = Vec::with_capacity(names.len());
    for name in names {
        let values = take_values(&mut record)?.into_iter().map(|value| {
            let (kind, text) = ValueType::split(value);
            Some(StoredValue {
                kind,
                text: owned(text)?,
            })
        });
        fields.push((name.clone(), values.collect::<Option<_>>()?));
    }
    let text = match text {
        true => Some(owned(record)?),
        false => None,
    };
    Some(StoredDocument { text, fields })
}

/// Maximum length in bytes of a value that filters can find.
pub(crate) const MOST_VALUE_BYTES: usize = 1024;

impl StoredDocument {
    /// The field for the document as it came, for example as a JSON object: it is kept for display, and no filter finds
    /// it.
    pub const SOURCE_FIELD: &str = "_source";
}

/// Whether filters find a value of this length in a field.
pub(crate) fn has_list(field: &str, bytes: usize) -> bool {
    bytes <= MOST_VALUE_BYTES && field != StoredDocument::SOURCE_FIELD
}

/// The list name of a value: the field, a zero byte, the value. White space separates terms, so it
/// is escaped. None if the value has no list.
pub(crate) fn key(field: &str, value: &str) -> Option<String> {
    if !has_list(field, value.len()) {
        return None;
    }
    let mut key = String::with_capacity(field.len() + value.len() + 1);
    escape(field, &mut key);
    key.push('\0');
    escape(value, &mut key);
    Some(key)
}

/// The beginning of the list names of all values of a field.
pub(crate) fn field_prefix(field: &str) -> String {
    let mut prefix = String::with_capacity(field.len() + 1);
    escape(field, &mut prefix);
    prefix.push('\0');
    prefix
}

/// The value of a list name, of which `value` is the part behind the field.
pub(crate) fn value_of_key(value: &[u8]) -> Cow<'_, [u8]> {
    if !value.contains(&b'\\') {
        return value.into();
    }
    let text = String::from_utf8_lossy(value);
    let (mut plain, mut rest) = (String::with_capacity(text.len()), &*text);
    while let Some((before, after)) = rest.split_once('\\') {
        plain.push_str(before);
        // Two stand for one; otherwise the number of a character follows.
        rest = match after.strip_prefix('\\') {
            Some(after) => {
                plain.push('\\');
                after
            }
            None => {
                let (digits, after) = after.split_once(';').unwrap_or((after, ""));
                let number = u32::from_str_radix(digits, 16).ok();
                plain.extend(number.and_then(char::from_u32));
                after
            }
        };
    }
    plain.push_str(rest);
    plain.into_bytes().into()
}

fn escape(text: &str, into: &mut String) {
    for character in text.chars() {
        match character {
            '\\' => into.push_str("\\\\"),
            // A byte order mark is skipped at the beginning of a file.
            c if c.is_whitespace() || c == '\u{feff}' => {
                // Writing to a string does not fail.
                let _ = write!(into, "\\{:x};", u32::from(c));
            }
            c => into.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_tell_values_apart() {
        let values = [
            "", " ", "\\20;", "\\", "\\\\", "a b", "a\\20;b", "a\u{a0}b", "\u{feff}", "a\nb",
        ];
        let keys: std::collections::HashSet<String> = values
            .iter()
            .filter_map(|value| key("f g", value))
            .collect();
        assert_eq!(keys.len(), values.len());
        for value in values {
            let key = key("f g", value).unwrap();
            let escaped = key.strip_prefix(&field_prefix("f g")).unwrap();
            assert_eq!(value_of_key(escaped.as_bytes()), value.as_bytes());
        }
        let is_term = |key: &String| !key.contains(char::is_whitespace);
        assert!(keys.iter().all(is_term));
        assert!(key("f", &"x".repeat(MOST_VALUE_BYTES + 1)).is_none());
    }
}
