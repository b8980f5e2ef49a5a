//! A CIFF file as an index.
//!
//! The documents stand behind the lists and are needed first: a first pass goes from list to list and
//! finds them, and whether the terms ascend. Where they do not, lists are read in the order of a table.

use std::collections::HashMap;
use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::super::build::{self, BATCH_DOCUMENTS};
use super::super::manifest::PartNote;
use super::super::{Index, Replaced, layout};
use super::lists::{self, Lists};
use super::reader::Reader;
use super::wire::{Field, Value};
use super::{document, header};
use tokapi_storage::error::{Error, Result};
use tokapi_storage::memory::Memory;
use tokapi_storage::pipeline::StageTimes;
use tokapi_storage::ranks::Ranks;
use tokapi_storage::strings::Strings;
use tokapi_text::analyze::Analyzer;
use tokapi_text::corpus;
use tokapi_weigh::collection::Documents;

/// What a document takes: a hash of its id, and its code.
const DOCUMENT_BYTES: u64 = 8 + 1;
/// What a term takes where terms do not ascend, besides itself: its number, its place, and its end.
const TERM_BYTES: u64 = 8 + 8 + 8;

impl Index {
    /// Writes an index of a file in the Common Index File Format, which may be compressed, to the new
    /// folder `path`: whole or not at all. Queries are cut by `analyzer`; terms and the lengths of
    /// documents are as the file has them. `read_bytes` follows the position in the decompressed file.
    ///
    /// Takes 9 bytes of `memory` a document beside the shares that are coded, and 24 a term with the term itself
    /// where terms do not ascend. `replaced` is the index that the new one takes the place of, where there is one.
    ///
    /// # Errors
    /// There is something at `path`; a file cannot be read or written; the file is not CIFF, cut off, or
    /// contradicts itself; there is too little memory.
    pub fn import_ciff(
        file: &Path,
        analyzer: &Analyzer,
        threads: usize,
        memory: &Memory,
        path: &Path,
        replaced: Option<Replaced>,
        read_bytes: &AtomicU64,
    ) -> Result<StageTimes> {
        Index::write_new(analyzer, path, replaced, |folder, _| {
            let mut reader = open(file, folder)?;
            let found = Found::new(&mut reader, memory)?;
            let mut note = PartNote {
                lengths_as_given: true,
                ..PartNote::default()
            };
            let documents = build::write_documents(folder, 0, &mut note, || {
                let mut records = DocumentRecords::new(&reader, &found);
                move || records.batch()
            })?;
            let lists = Lists::new(reader.another(found.lists_at), &found, read_bytes);
            let (text, done) = (&layout::TEXT, AtomicU64::new(0));
            let stages = memory.encoding_stages(threads, 0, true);
            let (times, counted) =
                build::write_source(lists, text, &documents, stages, folder, &mut note, &done)?;
            (note.terms, note.postings) = counted;
            read_bytes.store(reader.size(), Ordering::Relaxed);
            Ok((note, times))
        })
    }
}

/// Opens a file; what is compressed is unpacked to a nameless file in `folder`.
fn open(file: &Path, folder: &Path) -> Result<Reader> {
    let opened = match corpus::unpack(file, folder)? {
        Some(unpacked) => unpacked,
        None => File::open(file).map_err(|source| Error::Read {
            path: file.to_path_buf(),
            source,
        })?,
    };
    Reader::new(opened, file)
}

/// What a first pass finds.
pub(super) struct Found {
    /// The number of lists.
    pub lists: u32,
    pub documents: u32,
    /// Where the first list begins.
    pub lists_at: u64,
    documents_at: u64,
    /// Where each list begins, by its term, where terms do not ascend.
    pub order: Option<Vec<u64>>,
    /// Documents whose length is 0, where there are any.
    pub empty: Option<Ranks>,
}

impl Found {
    fn new(reader: &mut Reader, memory: &Memory) -> Result<Self> {
        let [lists, documents] = read_header(reader)?;
        let needed = DOCUMENT_BYTES * u64::from(documents);
        memory.check_per_document(needed, "reading so many documents from a CIFF file")?;
        let lists_at = reader.at();
        let order = match ascend(reader, lists)? {
            true => None,
            false => {
                reader.go_to(lists_at);
                Some(order(reader, lists, memory)?)
            }
        };
        let mut found = Found {
            lists,
            documents,
            lists_at,
            documents_at: reader.at(),
            order,
            empty: None,
        };
        found.read_documents(reader)?;
        Ok(found)
    }

    /// Reads every document: they are what they must be, and their ids are distinct.
    fn read_documents(&mut self, reader: &mut Reader) -> Result<()> {
        let mut records = DocumentRecords::new(reader, self);
        let (mut hashes, mut empty, mut number) = (Vec::new(), Vec::new(), 0);
        while let Some(batch) = records.batch()? {
            for (id, &length) in batch.ids.iter().zip(&batch.lengths) {
                hashes.push(hash(id));
                if length == 0 {
                    empty.push(number);
                }
                number += 1;
            }
        }
        if !records.reader.is_at_end() {
            let what = "the file goes on after its last document; the header counts other ones";
            return Err(records.reader.wrong(what));
        }
        if !empty.is_empty() {
            self.empty = Some(Ranks::new(&empty, self.documents as usize));
        }
        hashes.sort_unstable();
        let twice = hashes.windows(2).filter(|pair| pair[0] == pair[1]);
        let twice: Vec<u64> = twice.map(|pair| pair[0]).collect();
        match twice.is_empty() {
            true => Ok(()),
            false => self.find_repeated(reader, &twice),
        }
    }

    /// Looks for the same id among those with one of these hashes.
    fn find_repeated(&self, reader: &Reader, hashes: &[u64]) -> Result<()> {
        let mut records = DocumentRecords::new(reader, self);
        let (mut seen, mut number) = (HashMap::new(), 0);
        while let Some(batch) = records.batch()? {
            for id in batch.ids.iter() {
                if hashes.binary_search(&hash(id)).is_ok()
                    && let Some(first) = seen.insert(id.to_vec(), number)
                {
                    let id = String::from_utf8_lossy(id);
                    return Err(reader.wrong_as_a_whole(format!(
                        "documents {first} and {number} have the same id, {id:?}"
                    )));
                }
                number += 1;
            }
        }
        Ok(())
    }
}

fn hash(id: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(id);
    hasher.finish()
}

/// The numbers of lists and of documents.
fn read_header(reader: &mut Reader) -> Result<[u32; 2]> {
    let end = reader.message("the header")?;
    let mut numbers = [0; 3];
    while let Some(Field { number, value }) = reader.field(end)? {
        let wanted = [header::VERSION, header::LISTS, header::DOCUMENTS];
        let place = wanted.iter().position(|&field| u64::from(field) == number);
        match (place, value) {
            (Some(place), Value::Number(found)) => numbers[place] = found,
            (_, Value::Bytes(length)) => reader.skip(length),
            _ => {}
        }
    }
    let [version, lists, documents] = numbers;
    if version != super::VERSION {
        return Err(reader.wrong(format!(
            "the header says version {version}, and CIFF of version 1 is read here; is it a CIFF file?"
        )));
    }
    match (i32::try_from(lists), i32::try_from(documents)) {
        // Not negative: they were none of the large numbers that stand for these.
        (Ok(_), Ok(_)) => Ok([lists as u32, documents as u32]),
        _ => Err(reader.wrong("the header counts a negative number of lists or documents")),
    }
}

/// Whether the terms of the lists ascend. Goes to the end of the lists where they do.
fn ascend(reader: &mut Reader, lists: u32) -> Result<bool> {
    let (mut term, mut before) = (Vec::new(), Vec::new());
    for list in 0..lists {
        let end = reader.message("a list")?;
        lists::read_term(reader, end, &mut term)?;
        if list > 0 && before >= term {
            return Ok(false);
        }
        std::mem::swap(&mut before, &mut term);
        reader.go_to(end);
    }
    Ok(true)
}

/// Where each list begins, by its term. Goes to the end of the lists.
fn order(reader: &mut Reader, lists: u32, memory: &Memory) -> Result<Vec<u64>> {
    let (mut terms, mut places, mut term) = (Strings::default(), Vec::new(), Vec::new());
    for list in 0..lists {
        places.push((list as usize, reader.at()));
        let end = reader.message("a list")?;
        lists::read_term(reader, end, &mut term)?;
        terms.push(&term);
        let needed = terms.byte_count() as u64 + TERM_BYTES * u64::from(list);
        memory.check_per_document(needed, "sorting the terms of a CIFF file")?;
        reader.go_to(end);
    }
    places.sort_unstable_by_key(|&(list, _)| terms.get(list));
    let twice = places
        .windows(2)
        .find(|pair| terms.get(pair[0].0) == terms.get(pair[1].0));
    match twice {
        None => Ok(places.into_iter().map(|(_, at)| at).collect()),
        Some(pair) => {
            reader.go_to(pair[1].1);
            let term = terms.text(pair[1].0);
            Err(reader.wrong(format!("the term {term:?} has a list already")))
        }
    }
}

/// The documents, batch by batch.
struct DocumentRecords {
    reader: Reader,
    next: u32,
    count: u32,
    id: Vec<u8>,
}

impl DocumentRecords {
    fn new(reader: &Reader, found: &Found) -> Self {
        DocumentRecords {
            reader: reader.another(found.documents_at),
            next: 0,
            count: found.documents,
            id: Vec::new(),
        }
    }

    fn batch(&mut self) -> Result<Option<Documents>> {
        let mut batch = Documents::default();
        while self.next < self.count && batch.len() < BATCH_DOCUMENTS {
            let length = self.record()?;
            batch.push(self.next as usize, &self.id, length);
            self.next += 1;
        }
        Ok((!batch.is_empty()).then_some(batch))
    }

    /// Reads a document's id. Gives its length.
    fn record(&mut self) -> Result<u32> {
        let reader = &mut self.reader;
        let end = reader.message("the documents")?;
        self.id.clear();
        let (mut document, mut length) = (0, 0);
        while let Some(Field { number, value }) = reader.field(end)? {
            // The others are not known.
            match (u32::try_from(number).unwrap_or(0), value) {
                (document::NUMBER, Value::Number(found)) => document = found,
                (document::LENGTH, Value::Number(found)) => length = found,
                (document::ID, Value::Bytes(bytes)) => reader.read(bytes, &mut self.id)?,
                (_, Value::Bytes(bytes)) => reader.skip(bytes),
                _ => {}
            }
        }
        let next = self.next;
        if document != u64::from(next) {
            return Err(reader.wrong(format!(
                "document {} comes where {next} should: documents must be numbered from 0 on, without gaps",
                document as i64
            )));
        }
        if std::str::from_utf8(&self.id).is_err() {
            return Err(reader.wrong(format!("the id of document {next} is not UTF-8")));
        }
        match i32::try_from(length) {
            // Not negative.
            Ok(length) => Ok(length as u32),
            Err(_) => {
                Err(reader.wrong(format!("document {next} has a length of {}", length as i64)))
            }
        }
    }
}
