//! The documents of an input: noted by map tasks, known to reduce tasks.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::super::{Document, DocumentPlace};
use crate::collection::{Documents, Statistics, repeated_id};
use crate::corpus::{OnError, Skipped};
use crate::error::{Error, Result};
use crate::strings::Strings;

/// What a map task tells of its documents: ids, lengths in terms, and where files begin.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct DocumentNotes {
    ids: String,
    id_ends: Vec<u64>,
    lengths: Vec<u32>,
    files: Vec<(u32, NotedPath)>,
}

/// The path of a file, whatever its bytes.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct NotedPath(#[serde(with = "crate::paths")] PathBuf);

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

/// All documents, by number.
#[derive(Default)]
pub(crate) struct DocumentTable {
    pub documents: Documents,
    /// The number that the first document of every split has in the input.
    firsts: Vec<u32>,
    /// Documents, by their number in the input, whose id an earlier one has: they are left out.
    gone: Vec<u32>,
    pub skipped: Skipped,
}

impl DocumentTable {
    /// Puts the notes of all splits together.
    ///
    /// # Errors
    /// Two documents have one id, and such are not skipped; 2^32 documents.
    pub(crate) fn new(notes: &[DocumentNotes], on_error: OnError) -> Result<Self> {
        let mut table = DocumentTable::default();
        for note in notes {
            table.firsts.push(table.count()?);
            for (id, &length) in note.ids().zip(&note.lengths) {
                let number = table.documents.len();
                table.documents.push(number, id.as_bytes(), length);
            }
        }
        table.count()?;
        for (repeat, of) in table.documents.repeated() {
            let error = || {
                let file = file_of(notes, &table.firsts, repeat);
                let id = table.documents.ids.text(repeat as usize);
                repeated_id(file, &id, repeat, of)
            };
            match on_error {
                OnError::Stop => return Err(error()),
                OnError::Skip => table.skipped.add(error),
            }
            table.gone.push(repeat);
        }
        table.documents.remove(&table.gone);
        Ok(table)
    }

    fn count(&self) -> Result<u32> {
        u32::try_from(self.documents.len())
            .map_err(|_| Error::Limit("the collection has 2^32 or more documents; split it".into()))
    }

    /// The number of the document at `place`; none where it is left out.
    #[inline]
    pub(crate) fn number(&self, place: DocumentPlace) -> Option<u32> {
        let number = self.firsts[place.split as usize] + place.index;
        match self.gone.is_empty() {
            true => Some(number),
            false => self.number_among_left(number),
        }
    }

    /// The number of a document among those that are not left out, if it is one of them.
    #[cold]
    fn number_among_left(&self, number: u32) -> Option<u32> {
        match self.gone.binary_search(&number) {
            Ok(_) => None,
            // As many as there are documents at the most.
            Err(before) => Some(number - before as u32),
        }
    }

    /// The id of the document at `place`.
    pub(crate) fn id(&self, place: DocumentPlace) -> Option<&[u8]> {
        let number = self.number(place)?;
        Some(self.documents.ids.get(number as usize))
    }

    pub(crate) fn ids(&self) -> &Strings {
        &self.documents.ids
    }

    pub(crate) fn statistics(&self) -> Statistics {
        self.documents.statistics()
    }
}

/// The file of document `number`.
fn file_of(notes: &[DocumentNotes], firsts: &[u32], number: u32) -> PathBuf {
    let split = firsts.partition_point(|&first| first <= number) - 1;
    let index = number - firsts[split];
    let files = notes[split].files.iter().rev();
    let file = files
        .map(|(first, file)| (*first, file))
        .find(|(first, _)| *first <= index);
    file.map(|(_, file)| file.0.clone()).unwrap_or_default()
}
