//! The bytes of a record of the store: the values of the fields that are kept, then the text.
//!
//! The values are, for every field, their number, and each behind its length.

use super::Index;
use tokapi_storage::error::Result;
use tokapi_storage::varint;
use tokapi_text::corpus::{FieldValue, ValueType};

/// What an index has kept of a document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredDocument {
    /// The text that was indexed, where texts are kept.
    pub text: Option<String>,
    /// Every field that is kept, with the values that the document has in it.
    pub fields: Vec<(String, Vec<StoredValue>)>,
}

/// A value of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredValue {
    /// Its type, where the index knows it; indexes of former versions have strings alone.
    pub kind: ValueType,
    /// Its text.
    pub text: String,
}

impl Index {
    /// What the index has kept of a document: nothing, where it was not asked to.
    ///
    /// # Errors
    /// There is no such document; the index is damaged.
    pub fn document(&self, document: u64) -> Result<StoredDocument> {
        self.stored(document, self.keep().text)
    }

    /// The fields that the index has kept of a document, without its text: this takes a tenth of the time.
    ///
    /// # Errors
    /// There is no such document; the index is damaged.
    pub fn fields(&self, document: u64) -> Result<StoredDocument> {
        self.stored(document, false)
    }

    fn stored(&self, document: u64, text: bool) -> Result<StoredDocument> {
        let (part, document) = self.locate(document)?;
        let Some(store) = &self.parts()[part].store else {
            return Ok(StoredDocument::default());
        };
        let record = match text {
            true => store.record(document)?,
            false => store.values(document)?,
        };
        decode(&record, &self.keep().fields, text).ok_or_else(|| store.damaged())
    }
}

/// Writes the values of a document, fields ascending, over what `bytes` hold.
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

/// Takes the values of one field off a record. None where there are none such.
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
