//! A decompressed block of records; a length stands before each part of a record.

use std::ops::Range;

use tokapi_storage::varint;

/// The values of a document's fields, and its text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Record<'a> {
    pub values: &'a [u8],
    pub text: &'a [u8],
}

impl Record<'_> {
    pub(super) fn bytes(&self) -> usize {
        self.values.len().saturating_add(self.text.len())
    }
}

/// The decompressed records of several documents. A length stands before each part.
#[derive(Default)]
pub(super) struct Raw {
    pub values: Vec<u8>,
    pub texts: Vec<u8>,
}

impl Raw {
    pub(super) fn bytes(&self) -> usize {
        self.values.len() + self.texts.len()
    }

    pub(super) fn push(&mut self, record: Record<'_>) {
        let parts = [
            (&mut self.values, record.values),
            (&mut self.texts, record.text),
        ];
        for (bytes, part) in parts {
            varint::push(part.len() as u64, bytes);
            bytes.extend_from_slice(part);
        }
    }
}

/// A decompressed block of records.
#[derive(Default)]
pub(crate) struct Block {
    pub(super) documents: Range<u64>,
    pub(super) raw: Raw,
}

impl Block {
    /// Its documents.
    pub fn documents(&self) -> Range<u64> {
        self.documents.clone()
    }

    /// Its records, in order; iteration stops at a missing one.
    pub fn records(&self) -> impl Iterator<Item = Record<'_>> {
        let mut at = Place::default();
        self.documents().map_while(move |_| at.take(&self.raw))
    }

    pub(super) fn record(&self, document: u64) -> Option<Record<'_>> {
        let values = self.part(&self.raw.values, document)?;
        let text = match self.raw.texts[..] {
            [] => &[],
            _ => self.part(&self.raw.texts, document)?,
        };
        Some(Record { values, text })
    }

    /// The part of a document in `bytes`.
    pub(super) fn part<'a>(&self, mut bytes: &'a [u8], document: u64) -> Option<&'a [u8]> {
        let place = document.checked_sub(self.documents.start)?;
        if document >= self.documents.end {
            return None;
        }
        (0..place).try_for_each(|_| take_part(&mut bytes).map(drop))?;
        take_part(&mut bytes)
    }
}

/// Takes the next part of a record from a block.
fn take_part<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(varint::take(bytes)?).ok()?;
    let (part, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(part)
}

/// A position in a block.
#[derive(Default)]
pub(super) struct Place {
    values: usize,
    texts: usize,
}

impl Place {
    /// Returns the next record, and advances.
    pub fn take<'a>(&mut self, raw: &'a Raw) -> Option<Record<'a>> {
        let mut values = &raw.values[self.values..];
        let mut texts = &raw.texts[self.texts..];
        let record = Record {
            values: take_part(&mut values)?,
            // Former versions have no texts.
            text: match raw.texts[..] {
                [] => &[],
                _ => take_part(&mut texts)?,
            },
        };
        self.values = raw.values.len() - values.len();
        self.texts = raw.texts.len() - texts.len();
        Some(record)
    }

    pub fn is_at_end(&self, raw: &Raw) -> bool {
        self.values == raw.values.len() && self.texts == raw.texts.len()
    }
}
