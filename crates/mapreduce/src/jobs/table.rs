//! The documents of an input: map tasks note them, and reduce tasks look them up.

use std::path::PathBuf;

use hashbrown::HashMap;
use serde::{Deserialize, Serialize};

use super::super::functors::push_terms;
use super::super::{
    Document, DocumentPlace, Documents, Functors, Job, KeyOf, MapFunction, Records, ReduceFunction,
    Room, ValueOf, codec,
};
use super::store::{DocumentStore, DocumentWriter};
use tokapi_storage::error::Result;
use tokapi_storage::progress::Progress;
use tokapi_storage::quicksort;
use tokapi_storage::strings::Strings;
use tokapi_text::corpus::{OnError, Skipped};
use tokapi_weigh::collection::repeated_id;
use tokapi_weigh::formula::Statistics;

/// A map task's note of its documents: ids, lengths in terms, and the starts of files.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct DocumentNotes {
    ids: String,
    id_ends: Vec<u64>,
    lengths: Vec<u32>,
    files: Vec<(u32, NotedPath)>,
}

/// The path of a file, as arbitrary bytes.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct NotedPath(#[serde(with = "tokapi_storage::paths")] PathBuf);

impl DocumentNotes {
    /// Notes a document of `length` terms.
    pub fn push(&mut self, document: &Document<'_>, length: u32) {
        if self
            .files
            .last()
            .is_none_or(|(_, file)| file.0 != document.file)
        {
            let file = NotedPath(document.file.to_path_buf());
            self.files.push((document.place.index, file));
        }
        self.ids += document.id;
        self.id_ends.push(self.ids.len() as u64);
        self.lengths.push(length);
    }

    fn ids(&self) -> impl Iterator<Item = &str> {
        let starts = [0].into_iter().chain(self.id_ends.iter().copied());
        let spans = starts.zip(&self.id_ends);
        // Ends of what is in memory.
        spans.map(|(start, &end)| &self.ids[start as usize..end as usize])
    }
}

/// Appends the terms of a document, and notes it.
pub(super) fn push_noted<J: Job<Input = Documents, Note = DocumentNotes>>(
    _: &J,
    document: Document<'_>,
    bytes: &mut Vec<u8>,
    note: &mut DocumentNotes,
) {
    note.push(&document, push_terms(document.terms(), bytes));
}

/// The functions of a job whose values are the documents of a term, in runs of one document.
pub(super) const fn term_runs<J: Job<Input = Documents, Note = DocumentNotes>>(
    key: KeyOf<J>,
    value: ValueOf<J>,
) -> Functors<J> {
    Functors {
        map: MapFunction::Terms,
        reduce: ReduceFunction::Runs,
        record: push_noted,
        key,
        value,
    }
}

/// Bytes of memory a document takes in a pass over ids: its hash and its number.
const HASHED_BYTES: u64 = 16;

/// All documents, by number.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct DocumentTable {
    /// The treatment of two documents with the same id.
    on_error: OnError,
    /// The store, by number in the input; documents that are left out are included.
    store: DocumentStore,
    /// The number in the input of every split's first document.
    firsts: Vec<u32>,
    /// Documents, by number in the input, that repeat the id of an earlier one: they are left out.
    gone: Vec<u32>,
    /// The total number of terms of the remaining documents.
    total_length: u64,
    pub skipped: Skipped,
}

impl DocumentTable {
    /// An empty table.
    pub(crate) fn new(on_error: OnError) -> Self {
        DocumentTable {
            on_error,
            ..DocumentTable::default()
        }
    }

    /// Combines the notes of all splits, in memory or on scratch.
    ///
    /// # Errors
    /// Two documents have the same id and errors are not skipped; there are 2^32 documents;
    /// scratch files cannot be read or written.
    pub(crate) fn fill(&mut self, notes: &Records<DocumentNotes>, room: &Room) -> Result<()> {
        let mut documents = DocumentTableWriter::new(room);
        let (mut firsts, mut any_id) = (Vec::new(), false);
        for note in notes {
            room.progress.check()?;
            let note = note?;
            firsts.push(documents.store.count()?);
            any_id |= !note.ids.is_empty();
            for (id, &length) in note.ids().zip(&note.lengths) {
                documents.push(id.as_bytes(), length)?;
            }
        }
        *self = DocumentTable {
            on_error: self.on_error,
            firsts,
            ..documents.finish()?
        };
        let place = match self.in_memory() {
            Some(_) => "in memory",
            None => "on scratch",
        };
        log::info!("documents: {}, {place}", self.store.len());
        match any_id {
            true => self.leave_out_repeated(notes, room),
            false => Ok(()),
        }
    }

    /// Documents in memory, accessible by number but not by place.
    pub(super) fn in_memory_of(documents: impl IntoIterator<Item = (Vec<u8>, u32)>) -> Self {
        let (mut ids, mut lengths) = (Strings::default(), Vec::new());
        for (id, length) in documents {
            ids.push(&id);
            lengths.push(length);
        }
        DocumentTable {
            total_length: lengths.iter().map(|&length| u64::from(length)).sum(),
            store: DocumentStore::Memory { ids, lengths },
            ..DocumentTable::default()
        }
    }

    fn leave_out_repeated(&mut self, notes: &Records<DocumentNotes>, room: &Room) -> Result<()> {
        for (repeat, of) in self.repeated(room.memory_bytes / 2, &room.progress)? {
            let (mut id, mut terms) = (String::new(), 0);
            self.store.fetch([repeat], |found, length| {
                id = String::from_utf8_lossy(found).into_owned();
                terms = u64::from(length);
                Ok(())
            })?;
            let error = || match file_of(notes, &self.firsts, repeat) {
                Ok(file) => repeated_id(file, &id, repeat, of),
                Err(unreadable) => unreadable,
            };
            match self.on_error {
                OnError::Stop => return Err(error()),
                OnError::Skip => self.skipped.add(error),
            }
            self.total_length -= terms;
            self.gone.push(repeat);
        }
        Ok(())
    }

    /// Every document that repeats the id of an earlier one, with the first document of that id,
    /// ascending.
    ///
    /// The ids are hashed. Each pass handles one range of hashes; `memory_bytes` determines the
    /// number of passes.
    ///
    /// # Errors
    /// The scratch file cannot be read; `progress` is cancelled.
    fn repeated(&self, memory_bytes: u64, progress: &Progress) -> Result<Vec<(u32, u32)>> {
        // Fewer than 2^32: they were counted.
        let documents = self.store.len() as u32;
        let needed = u64::from(documents) * HASHED_BYTES;
        let passes = needed.div_ceil(memory_bytes.max(HASHED_BYTES));
        let mut repeated = Vec::new();
        // Hashes are uniform, so a range is hardly ever larger than this; a larger one is allowed.
        let share = self.store.len() / passes.max(1) as usize;
        for pass in 0..passes {
            let mut hashed: Vec<(u64, u32)> = Vec::with_capacity(share + share / 16);
            let mut number = 0;
            self.store.fetch(0..documents, |id, _| {
                progress.check()?;
                let hash = codec::hash(id);
                if hash % passes == pass {
                    hashed.push((hash, number));
                }
                number += 1;
                Ok(())
            })?;
            quicksort::par_sort_by(&mut hashed, &Ord::cmp, progress)?;
            let same_hash = |a: &(u64, u32), b: &(u64, u32)| a.0 == b.0;
            for group in hashed.chunk_by(same_hash) {
                progress.check()?;
                if group.len() > 1 {
                    self.same_ids(group, &mut repeated)?;
                }
            }
        }
        quicksort::sort_by(&mut repeated, &Ord::cmp, progress)?;
        Ok(repeated)
    }

    /// Adds the documents of a group of one hash that repeat the id of an earlier one.
    fn same_ids(&self, group: &[(u64, u32)], repeated: &mut Vec<(u32, u32)>) -> Result<()> {
        let mut firsts: HashMap<Vec<u8>, u32> = HashMap::new();
        let numbers = || group.iter().map(|&(_, number)| number);
        let mut next = numbers();
        self.store.fetch(numbers(), |id, _| {
            if let Some(number) = next.next() {
                match firsts.get(id) {
                    Some(&first) => repeated.push((number, first)),
                    None => _ = firsts.insert(id.to_vec(), number),
                }
            }
            Ok(())
        })
    }

    /// Number of remaining documents.
    pub(crate) fn len(&self) -> usize {
        self.store.len() - self.gone.len()
    }

    /// The number in the input of the document at `place`; none if it is left out.
    #[inline]
    pub(crate) fn input_number(&self, place: DocumentPlace) -> Option<u32> {
        let number = self.firsts[place.split as usize] + place.index;
        let is_gone = !self.gone.is_empty() && self.gone.binary_search(&number).is_ok();
        (!is_gone).then_some(number)
    }

    /// The number of a document among the remaining ones, from its number in the input.
    #[inline]
    pub(crate) fn number(&self, input_number: u32) -> u32 {
        match self.gone.is_empty() {
            true => input_number,
            // At most the number of documents.
            false => input_number - self.gone.partition_point(|&gone| gone < input_number) as u32,
        }
    }

    /// The ids and lengths of all documents by number; none if they are not in memory or some are
    /// left out.
    pub(crate) fn in_memory(&self) -> Option<(&Strings, &[u32])> {
        match &self.store {
            DocumentStore::Memory { ids, lengths } if self.gone.is_empty() => Some((ids, lengths)),
            _ => None,
        }
    }

    /// Passes id and length of the documents with these `numbers` in the input to `each`.
    ///
    /// # Errors
    /// A scratch file cannot be read, or is damaged; an error of `each`.
    pub(crate) fn fetch(
        &self,
        numbers: impl IntoIterator<Item = u32>,
        each: impl FnMut(&[u8], u32) -> Result<()>,
    ) -> Result<()> {
        self.store.fetch(numbers, each)
    }

    /// Passes id and length of every remaining document to `each`, in order.
    ///
    /// # Errors
    /// As [`DocumentTable::fetch`].
    pub(crate) fn fetch_all(&self, each: impl FnMut(&[u8], u32) -> Result<()>) -> Result<()> {
        let mut gone = self.gone.iter().peekable();
        // Fewer than 2^32: they were counted.
        let numbers = 0..self.store.len() as u32;
        self.fetch(
            numbers.filter(|number| gone.next_if_eq(&number).is_none()),
            each,
        )
    }

    /// The set of the documents at `places`.
    ///
    /// # Errors
    /// An error of `places`.
    pub(crate) fn set(
        &self,
        places: impl Iterator<Item = Result<DocumentPlace>>,
    ) -> Result<DocumentSet> {
        let mut set = DocumentSet {
            firsts: self.firsts.clone(),
            words: vec![0; self.store.len().div_ceil(64)],
        };
        for place in places {
            let (word, bit) = set.bit(place?);
            set.words[word] |= bit;
        }
        Ok(set)
    }

    pub(crate) fn statistics(&self) -> Statistics {
        Statistics {
            documents: self.len() as u64,
            total_length: self.total_length,
        }
    }
}

/// A set of documents: one bit for each.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct DocumentSet {
    firsts: Vec<u32>,
    words: Vec<u64>,
}

impl DocumentSet {
    pub(crate) fn contains(&self, place: DocumentPlace) -> bool {
        let (word, bit) = self.bit(place);
        self.words[word] & bit != 0
    }

    /// The word and the bit of a document.
    fn bit(&self, place: DocumentPlace) -> (usize, u64) {
        let number = (self.firsts[place.split as usize] + place.index) as usize;
        (number / 64, 1 << (number % 64))
    }
}

/// Builds a table of documents with distinct ids, one by one.
pub(super) struct DocumentTableWriter<'a> {
    store: DocumentWriter<'a>,
    total_length: u64,
}

impl<'a> DocumentTableWriter<'a> {
    /// Holds documents in memory while `room` has memory for them.
    pub(super) fn new(room: &'a Room) -> Self {
        DocumentTableWriter {
            store: DocumentWriter::new(room),
            total_length: 0,
        }
    }

    /// Adds a document.
    ///
    /// # Errors
    /// There are 2^32 documents; the scratch file cannot be written.
    pub(super) fn push(&mut self, id: &[u8], length: u32) -> Result<()> {
        self.total_length += u64::from(length);
        self.store.push(id, length)?;
        self.store.count().map(drop)
    }

    /// The table; its documents are accessible by number but not by place.
    pub(super) fn finish(self) -> Result<DocumentTable> {
        Ok(DocumentTable {
            store: self.store.finish()?,
            total_length: self.total_length,
            ..DocumentTable::default()
        })
    }
}

/// The file of document `number`.
fn file_of(notes: &Records<DocumentNotes>, firsts: &[u32], number: u32) -> Result<PathBuf> {
    let split = firsts.partition_point(|&first| first <= number) - 1;
    let index = number - firsts[split];
    let note = notes.iter().nth(split).transpose()?.unwrap_or_default();
    let files = note.files.iter().rev();
    let file = files
        .map(|(first, file)| (*first, file))
        .find(|(first, _)| *first <= index);
    Ok(file.map(|(_, file)| file.0.clone()).unwrap_or_default())
}
