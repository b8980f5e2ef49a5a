//! The first pass over a CIFF file: the positions of the lists, the order of the terms, and the
//! documents.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};

use super::reader::{NO_FIELD, Reader};
use super::wire::{Field, Value};
use super::{document, header, list};
use crate::build::BATCH_DOCUMENTS;
use tokapi_storage::error::Result;
use tokapi_storage::memory::Memory;
use tokapi_storage::progress::Progress;
use tokapi_storage::quicksort;
use tokapi_storage::ranks::Ranks;
use tokapi_storage::strings::Strings;
use tokapi_weigh::collection::Documents;

/// Bytes of memory a document: a hash of its id, and the code of its length.
const DOCUMENT_BYTES: u64 = 8 + 1;
/// Bytes of memory a term takes besides its text if terms do not ascend: its number, its position,
/// and its end.
const TERM_BYTES: u64 = 8 + 8 + 8;

/// The result of the first pass.
pub(super) struct Scan {
    /// The number of lists.
    pub lists: u32,
    pub documents: u32,
    /// The position of the first list.
    pub lists_at: u64,
    documents_at: u64,
    /// The position of each list, sorted by term, if terms do not ascend.
    pub order: Option<Vec<u64>>,
    /// Documents of length 0, if there are any.
    pub empty: Option<Ranks>,
    pub progress: Progress,
}

impl Scan {
    pub fn new(reader: &mut Reader, memory: &Memory, progress: &Progress) -> Result<Self> {
        let [lists, documents] = read_header(reader)?;
        let needed = DOCUMENT_BYTES * u64::from(documents);
        memory.check_per_document(needed, "reading so many documents from a CIFF file")?;
        let lists_at = reader.at();
        let order = match ascend(reader, lists, progress)? {
            true => None,
            false => {
                reader.go_to(lists_at);
                Some(order(reader, lists, memory, progress)?)
            }
        };
        let mut found = Scan {
            lists,
            documents,
            lists_at,
            documents_at: reader.at(),
            order,
            empty: None,
            progress: progress.clone(),
        };
        found.read_documents(reader)?;
        Ok(found)
    }

    /// Reads every document, and checks that it is valid and that ids are distinct.
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
        quicksort::sort_by(&mut hashes, &Ord::cmp, &self.progress)?;
        let twice = hashes.windows(2).filter(|pair| pair[0] == pair[1]);
        let twice: Vec<u64> = twice.map(|pair| pair[0]).collect();
        match twice.is_empty() {
            true => Ok(()),
            false => self.find_repeated(reader, &twice),
        }
    }

    /// Looks for repeated ids among documents with one of these hashes.
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

/// Reads the numbers of lists and of documents.
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
            "the header has version {version}, but this program reads CIFF of version 1; is it a CIFF file?"
        )));
    }
    match (i32::try_from(lists), i32::try_from(documents)) {
        // Not negative: negative numbers are encoded as very large ones, which were excluded.
        (Ok(_), Ok(_)) => Ok([lists as u32, documents as u32]),
        _ => Err(reader.wrong("the header counts a negative number of lists or documents")),
    }
}

/// Whether the terms of the lists ascend. If they do, the reader is then at the end of the lists.
fn ascend(reader: &mut Reader, lists: u32, progress: &Progress) -> Result<bool> {
    let (mut term, mut before) = (Vec::new(), Vec::new());
    for list in 0..lists {
        progress.check()?;
        let end = reader.message("a list")?;
        read_term(reader, end, &mut term)?;
        if list > 0 && before >= term {
            return Ok(false);
        }
        std::mem::swap(&mut before, &mut term);
        reader.go_to(end);
    }
    Ok(true)
}

/// The position of each list, sorted by term. The reader is then at the end of the lists.
fn order(
    reader: &mut Reader,
    lists: u32,
    memory: &Memory,
    progress: &Progress,
) -> Result<Vec<u64>> {
    let (mut terms, mut places, mut term) = (Strings::default(), Vec::new(), Vec::new());
    for list in 0..lists {
        progress.check()?;
        places.push((list as usize, reader.at()));
        let end = reader.message("a list")?;
        read_term(reader, end, &mut term)?;
        terms.push(&term);
        let needed = terms.byte_count() as u64 + TERM_BYTES * u64::from(list);
        memory.check_per_document(needed, "sorting the terms of a CIFF file")?;
        reader.go_to(end);
    }
    let by_term = |a: &(usize, u64), b: &(usize, u64)| terms.get(a.0).cmp(terms.get(b.0));
    quicksort::sort_by(&mut places, &by_term, progress)?;
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
pub(super) struct DocumentRecords {
    reader: Reader,
    next: u32,
    count: u32,
    id: Vec<u8>,
    progress: Progress,
}

impl DocumentRecords {
    pub fn new(reader: &Reader, found: &Scan) -> Self {
        DocumentRecords {
            reader: reader.another(found.documents_at),
            next: 0,
            count: found.documents,
            id: Vec::new(),
            progress: found.progress.clone(),
        }
    }

    pub fn batch(&mut self) -> Result<Option<Documents>> {
        self.progress.check()?;
        let mut batch = Documents::default();
        while self.next < self.count && batch.len() < BATCH_DOCUMENTS {
            let length = self.record()?;
            batch.push(self.next as usize, &self.id, length);
            self.next += 1;
        }
        Ok((!batch.is_empty()).then_some(batch))
    }

    /// Reads a document's id. Returns its length.
    fn record(&mut self) -> Result<u32> {
        let reader = &mut self.reader;
        let end = reader.message("the documents")?;
        self.id.clear();
        let (mut document, mut length) = (0, 0);
        while let Some(Field { number, value }) = reader.field(end)? {
            // Other fields are unknown and ignored.
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

/// Reads the term, the first field, of the list whose message ends at `end`.
pub(super) fn read_term(reader: &mut Reader, end: u64, term: &mut Vec<u8>) -> Result<()> {
    term.clear();
    let at = reader.at();
    match reader.field(end)? {
        Some(Field { number, value }) if number == u64::from(list::TERM) => match value {
            Value::Bytes(length) => reader.read(length, term)?,
            _ => return Err(reader.wrong(NO_FIELD)),
        },
        // Writers omit an empty term.
        _ => reader.go_to(at),
    }
    match std::str::from_utf8(term) {
        Ok(_) => Ok(()),
        Err(_) => Err(reader.wrong("a term is not UTF-8")),
    }
}
