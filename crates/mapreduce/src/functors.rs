//! A job's functions on a device, for the runner [`GpuRunner`](super::GpuRunner).
//!
//! Records go to the device as bytes. The groups of a chunk come back: keys in order, each with
//! its values, which are words. A job defines the bytes of its records, and the meaning of keys
//! and words. Its own `reduce` makes the outputs of all chunks.

use super::documents::{Document, DocumentPlace};
use super::job::{Job, Record};

/// The map function; implemented in `kernels/cpp/functors.hpp`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MapFunction {
    /// (term, record) for every term; each term is followed by a blank.
    Terms,
    /// (the whole record, record).
    Whole,
    /// (0, 2^32 + the number of terms).
    Lengths,
    /// (term, none), and (term, other) for every other term of the record.
    Cooccurrences,
    /// (first, second) and (second, none) for a line of two names; other lines are left to the
    /// host.
    Edges,
    /// (the text before the first tab, record).
    FirstField,
    /// (term, record) for a line `term<TAB>document<TAB>tf`; the note is 2^32 document + tf. Other
    /// lines are left to the host.
    Postings,
    /// The bands of a MinHash signature; the signature is the note.
    Bands,
    /// (node, 0), and (other, share of the rank) for every other node that it links to.
    Ranks,
    /// A pair of three words, the first two of which are the key.
    Words,
}

/// The reduce function of a key's values within a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReduceFunction {
    /// Keeps all values.
    Nothing,
    /// Their number; each value counts 1. This is a combiner.
    Count,
    /// Their sum. This is a combiner.
    Sum,
    /// The minimum, if all values are equal. This is a combiner.
    First,
    /// 2^32 value + the number of its occurrences.
    Runs,
}

/// The functions of a job on a device.
pub struct Functors<J: Job> {
    /// The map function.
    pub map: MapFunction,
    /// The reduce function within a chunk.
    pub reduce: ReduceFunction,
    /// Appends a record in the form that `map` expects, and notes it as the job's own `map` does.
    pub record: fn(&J, Record<'_, J>, &mut Vec<u8>, &mut J::Note),
    /// The key of a group.
    pub key: for<'a> fn(DeviceKey<'a>) -> J::Key<'a>,
    /// Returns the values of a word, or the reason why it is invalid.
    pub values: ValuesOf<J>,
}

/// Passes on the values of a word, each with the number of its consecutive occurrences.
pub type ValuesOf<J> =
    fn(&J, DeviceValue<'_>, &mut dyn FnMut(<J as Job>::Value, u64)) -> Result<(), &'static str>;

/// A key from the device.
#[derive(Debug, Clone, Copy)]
pub struct DeviceKey<'a> {
    /// The split of the key.
    pub split: u32,
    /// The key, if keys are text.
    pub text: &'a str,
    /// The key, if keys are words.
    pub words: [u64; 2],
    /// The first value.
    pub value: u64,
}

/// A value from the device.
#[derive(Debug, Clone, Copy)]
pub struct DeviceValue<'a> {
    /// Its key, if keys are text.
    pub key: &'a str,
    /// The word.
    pub word: u64,
    pub(super) split: u32,
    /// The number of the first record in its split.
    pub(super) first: u32,
    /// The text of the chunk.
    pub(super) bytes: &'a [u8],
    pub(super) notes: &'a [u64],
    pub(super) note_words: usize,
}

impl<'a> DeviceValue<'a> {
    /// The place of a record.
    pub fn place(&self, record: u32) -> DocumentPlace {
        DocumentPlace {
            split: self.split,
            index: self.first + record,
        }
    }

    /// The words about a record.
    pub fn note(&self, record: u32) -> &'a [u64] {
        &self.notes[record as usize * self.note_words..][..self.note_words]
    }

    /// The text of the word; none for the empty text.
    pub fn text(&self) -> Result<Option<&'a str>, &'static str> {
        match self.word as u32 {
            0 => Ok(None),
            _ => slice(self.bytes, self.word).map(Some),
        }
    }
}

/// The text at 2^32 start + length.
pub(super) fn slice(bytes: &[u8], slice: u64) -> Result<&str, &'static str> {
    let (start, length) = ((slice >> 32) as usize, slice as u32 as usize);
    let bytes = bytes.get(start..).and_then(|bytes| bytes.get(..length));
    let text = bytes.and_then(|bytes| std::str::from_utf8(bytes).ok());
    text.ok_or("the device gave a text that is none")
}

/// Appends the terms of a document, each followed by a blank.
pub(super) fn push_terms(document: &Document<'_>, bytes: &mut Vec<u8>) -> u32 {
    let mut terms = 0;
    for term in document.terms() {
        bytes.extend_from_slice(term.as_bytes());
        bytes.push(b' ');
        terms += 1;
    }
    terms
}
