//! A job's functions on a device, for the runner [`Gpu`](super::Gpu).
//!
//! Records go there as bytes, and what comes back are the groups of a chunk: keys in order, each
//! with its values, which are words. A job says how its records become bytes, and what keys
//! and words stand for; its own `reduce` makes the outputs of all chunks.

use super::documents::{Document, DocumentPlace};
use super::job::{Job, Record};

/// What a record is mapped to; the functions are in `kernels/cpp/functors.hpp`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MapFunction {
    /// (term, record) for every term; terms have a blank behind them.
    Terms,
    /// (the whole record, record).
    Whole,
    /// (0, 2^32 + the number of terms).
    Lengths,
    /// (term, none), and (term, other) for every other term of the record.
    Cooccurrences,
    /// (first, second) and (second, none) for a line of two names; others are left to the host.
    Edges,
    /// (what stands before the first tab, record).
    FirstField,
    /// (term, record) for a line `term<TAB>document<TAB>tf`, 2^32 document + tf being the note; others
    /// are left to the host.
    Postings,
    /// The bands of a MinHash signature, which is the note.
    Bands,
    /// (node, 0), and (other, share of the rank) for every other that it links to.
    Ranks,
    /// A pair of three words, two of which are the key.
    Words,
}

/// What the values of a key are reduced to within a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReduceFunction {
    /// All of them stay.
    Nothing,
    /// Their number, each counting 1: a combiner.
    Count,
    /// Their sum: a combiner.
    Sum,
    /// The least, where all are the same: a combiner.
    First,
    /// 2^32 value + how often it is there.
    Runs,
}

/// The functions of a job on a device.
pub struct Functors<J: Job> {
    /// What a record is mapped to.
    pub map: MapFunction,
    /// What the values of a key are reduced to.
    pub reduce: ReduceFunction,
    /// Adds a record to bytes, as `map` expects it, and takes note of it as the job's own `map` does.
    pub record: fn(&J, Record<'_, J>, &mut Vec<u8>, &mut J::Note),
    /// The key of a group.
    pub key: for<'a> fn(DeviceKey<'a>) -> J::Key<'a>,
    /// Gives the values that a word stands for; or says what is wrong with it.
    pub values: ValuesOf<J>,
}

/// Gives the values that a word stands for, each with how often it comes in a row.
pub type ValuesOf<J> =
    fn(&J, DeviceValue<'_>, &mut dyn FnMut(<J as Job>::Value, u64)) -> Result<(), &'static str>;

/// A key that came back.
#[derive(Debug, Clone, Copy)]
pub struct DeviceKey<'a> {
    /// The split that it was found in.
    pub split: u32,
    /// Where keys are text.
    pub text: &'a str,
    /// Where they are not.
    pub words: [u64; 2],
    /// The first value.
    pub value: u64,
}

/// A value that came back.
#[derive(Debug, Clone, Copy)]
pub struct DeviceValue<'a> {
    /// Its key, where keys are text.
    pub key: &'a str,
    /// Itself.
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
    /// Where a record stands.
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

    /// The text that the word stands for; none where it is the empty one.
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

/// Adds the terms of a document, a blank behind each.
pub(super) fn push_terms(document: &Document<'_>, bytes: &mut Vec<u8>) -> u32 {
    let mut terms = 0;
    for term in document.terms() {
        bytes.extend_from_slice(term.as_bytes());
        bytes.push(b' ');
        terms += 1;
    }
    terms
}
