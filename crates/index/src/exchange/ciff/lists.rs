//! Reads the lists of a CIFF file as a source for a part.

use super::reader::Reader;
use super::scan::{Scan, read_term};
use super::wire::{self, Field, Value};
use super::{list, posting};
use crate::walk::PostingSource;
use tokapi_storage::error::{Error, Result};
use tokapi_storage::varint;

/// Maximum size of a posting that the fast path reads: its tag, its length, two numbers of up to
/// ten bytes, and some room for unknown fields.
const POSTING_BYTES: usize = 128;

/// The lists, by term.
pub struct Lists<'a> {
    reader: Reader,
    found: &'a Scan,
    /// The number of lists that have begun.
    begun: u32,
    list: List,
}

/// The current list.
#[derive(Default)]
struct List {
    term: Vec<u8>,
    /// The start of its message, and its end.
    begin: u64,
    end: u64,
    df: u64,
    /// The sum of its tfs; 0 if the file does not give it.
    cf: u64,
    /// The number of postings read, and the sum of their tfs.
    read: u64,
    tfs: u64,
    /// The last document read.
    document: Option<u32>,
}

impl<'a> Lists<'a> {
    /// The lists of `reader`, whose position is the first list.
    pub fn new(reader: Reader, found: &'a Scan) -> Self {
        Lists {
            reader,
            found,
            begun: 0,
            list: List::default(),
        }
    }

    /// Advances to the next list. False at the end.
    fn begin(&mut self) -> Result<bool> {
        if self.begun == self.found.lists {
            return Ok(false);
        }
        if let Some(order) = &self.found.order {
            self.reader.go_to(order[self.begun as usize]);
        }
        self.begun += 1;
        let reader = &mut self.reader;
        let begin = reader.at();
        let end = reader.message("a list")?;
        let mut list = List {
            begin,
            end,
            term: std::mem::take(&mut self.list.term),
            ..List::default()
        };
        read_term(reader, end, &mut list.term)?;
        loop {
            let at = reader.at();
            let Some(Field { number, value }) = reader.field(end)? else {
                break;
            };
            // Other fields are unknown and ignored.
            match (u32::try_from(number).unwrap_or(0), value) {
                (list::DF, Value::Number(df)) => list.df = df,
                (list::CF, Value::Number(cf)) => list.cf = cf,
                (list::POSTING, Value::Bytes(_)) => {
                    reader.go_to(at);
                    break;
                }
                (_, Value::Bytes(length)) => reader.skip(length),
                _ => {}
            }
        }
        self.list = list;
        Ok(true)
    }

    /// The next posting; none at the end of the list.
    #[inline]
    fn posting(&mut self) -> Result<Option<(u32, u32)>> {
        loop {
            // Messages end within the file.
            let left = (self.list.end - self.reader.at()).min(POSTING_BYTES as u64) as usize;
            let bytes = self.reader.peek(left)?;
            if let Some((taken, numbers)) = whole_posting(bytes) {
                self.reader.pass(taken);
                return self.checked(numbers).map(Some);
            }
            match self.reader.field(self.list.end)? {
                None => return Ok(None),
                Some(Field { number, value }) => {
                    match (u32::try_from(number).unwrap_or(0), value) {
                        (list::POSTING, _) => return Err(self.wrong("a posting is none")),
                        (list::TERM | list::DF | list::CF, _) => {
                            return Err(self.wrong("its term, df or cf stands behind postings"));
                        }
                        (_, Value::Bytes(length)) => self.reader.skip(length),
                        _ => {}
                    }
                }
            }
        }
    }

    /// The document and the tf, from the gap to the previous document and the tf.
    #[inline]
    fn checked(&mut self, [gap, tf]: [u64; 2]) -> Result<(u32, u32)> {
        let document = match self.list.document {
            None => Some(gap),
            Some(before) if gap > 0 => u64::from(before).checked_add(gap),
            Some(before) => {
                return Err(self.wrong(&format!("document {before} comes twice")));
            }
        };
        let document = document.filter(|&document| document < u64::from(self.found.documents));
        let Some(document) = document else {
            let count = self.found.documents;
            return Err(self.wrong(&format!(
                "a document is not after the one before, or not among the {count} of the file"
            )));
        };
        // Below the number of documents.
        let document = document as u32;
        if tf == 0 || i32::try_from(tf).is_err() {
            let tf = tf as i64;
            return Err(self.wrong(&format!("document {document} has a tf of {tf}")));
        }
        if let Some(empty) = &self.found.empty
            && empty.contains(document)
        {
            return Err(self.wrong(&format!(
                "document {document} has this term, and a length of 0"
            )));
        }
        self.list.document = Some(document);
        self.list.read += 1;
        self.list.tfs += tf;
        Ok((document, tf as u32))
    }

    /// Checks a list that has been read against its df.
    fn end(&mut self) -> Result<()> {
        let List { df, cf, tfs, .. } = self.list;
        if self.posting()?.is_some() {
            return Err(self.wrong(&format!("there are more postings than its df, {df}")));
        }
        if cf != 0 && cf != tfs {
            return Err(self.wrong(&format!("its cf is {cf}, and the tfs add up to {tfs}")));
        }
        self.found.progress.add(self.reader.at() - self.list.begin);
        Ok(())
    }

    /// The error for a fault in the current list.
    #[cold]
    fn wrong(&self, what: &str) -> Error {
        let term = String::from_utf8_lossy(&self.list.term);
        self.reader.wrong(format!("the list of {term:?}: {what}"))
    }
}

/// Parses the numbers of a posting at the front of `bytes`, and returns them with the size of the
/// posting, tag and length included. None if there is no posting, or only a part of one.
#[inline]
fn whole_posting(bytes: &[u8]) -> Option<(usize, [u64; 2])> {
    // Most numbers are small.
    if let &[
        posting::TAG,
        posting::USUAL_BYTES,
        posting::DOCUMENT_TAG,
        gap @ 0..0x80,
        posting::TF_TAG,
        tf @ 0..0x80,
        ..,
    ] = bytes
    {
        return Some((6, [gap.into(), tf.into()]));
    }
    let mut rest = bytes.strip_prefix(&[posting::TAG])?;
    let length = usize::try_from(varint::take(&mut rest)?).ok()?;
    let (message, rest) = rest.split_at_checked(length)?;
    let numbers = wire::two_numbers([posting::DOCUMENT, posting::TF], message)?;
    Some((bytes.len() - rest.len(), numbers))
}

impl PostingSource for Lists<'_> {
    fn next_term(&mut self, term: &mut Vec<u8>) -> Result<Option<u64>> {
        while self.begin()? {
            if self.list.df > 0 {
                term.clone_from(&self.list.term);
                return Ok(Some(self.list.df));
            }
            // A term without documents.
            self.end()?;
        }
        Ok(None)
    }

    fn take(&mut self, room: usize, documents: &mut Vec<u32>, tfs: &mut Vec<u32>) -> Result<()> {
        for _ in 0..room {
            let Some((document, tf)) = self.posting()? else {
                let List { df, read, .. } = self.list;
                return Err(self.wrong(&format!("its df is {df}, and it has {read} postings")));
            };
            documents.push(document);
            tfs.push(tf);
        }
        match self.list.read == self.list.df {
            true => self.end(),
            false => Ok(()),
        }
    }
}
