//! A job's functions on a device, for the runner [`GpuRunner`](super::GpuRunner).
//!
//! Records go to the device as bytes. The groups of a chunk come back: keys in order, each with
//! its values, which are words. A job defines the bytes of its records, and the meaning of keys
//! and words. Its own `reduce` makes the outputs of all chunks.

use super::documents::{Document, DocumentPlace, Documents};
use super::job::{Job, Record};
use super::lines::{Line, Lines};

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
    pub record: RecordOf<J>,
    /// The key of a group.
    pub key: KeyOf<J>,
    /// The value of a word.
    pub value: ValueOf<J>,
}

/// Appends a record, and notes it.
pub type RecordOf<J> = fn(&J, Record<'_, J>, &mut Vec<u8>, &mut <J as Job>::Note);

/// The key of a group.
pub type KeyOf<J> = for<'a> fn(DeviceKey<'a>) -> <J as Job>::Key<'a>;

/// The value of a word, with the number of its consecutive occurrences; or the reason why the word
/// is invalid.
pub type ValueOf<J> = fn(&J, DeviceValue<'_>) -> Result<(<J as Job>::Value, u64), &'static str>;

impl<J: for<'a> Job<Key<'a> = &'a str, Value = u64>> Functors<J> {
    /// The functions of a job that counts keys.
    pub(super) const fn counts(map: MapFunction, record: RecordOf<J>) -> Self {
        Functors {
            map,
            reduce: ReduceFunction::Count,
            record,
            key: |key| key.text,
            value: |_, count| Ok((count.word, 1)),
        }
    }
}

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

    /// A document, and the number of its occurrences: a value of [`ReduceFunction::Runs`].
    pub fn run(&self) -> (DocumentPlace, u32) {
        (self.place((self.word >> 32) as u32), self.word as u32)
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

impl<J: for<'a> Job<Key<'a> = &'a str>> Functors<J> {
    /// The functions of a job that keeps all values of its keys.
    pub(super) const fn groups(map: MapFunction, record: RecordOf<J>, value: ValueOf<J>) -> Self {
        Functors {
            map,
            reduce: ReduceFunction::Nothing,
            record,
            key: |key| key.text,
            value,
        }
    }
}

/// Appends the text of a line.
pub(super) fn push_line<J: Job<Input = Lines>>(
    _: &J,
    line: Line<'_>,
    bytes: &mut Vec<u8>,
    _: &mut J::Note,
) {
    bytes.extend_from_slice(line.text.as_bytes());
}

/// Appends the terms of a document.
pub(super) fn push_document<J: Job<Input = Documents>>(
    _: &J,
    document: Document<'_>,
    bytes: &mut Vec<u8>,
    _: &mut J::Note,
) {
    push_terms(document.terms(), bytes);
}

/// Appends terms, each followed by a blank. Returns their number.
pub(super) fn push_terms<'a>(terms: impl IntoIterator<Item = &'a str>, bytes: &mut Vec<u8>) -> u32 {
    let mut count = 0;
    for term in terms {
        bytes.extend_from_slice(term.as_bytes());
        bytes.push(b' ');
        count += 1;
    }
    count
}
