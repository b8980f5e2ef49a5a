//! BM25 in two passes, chunk by chunk. Term lists and a df table connect the passes.
//!
//! The local pass needs no global statistics: it makes the term lists of every chunk. The df table
//! is computed from these lists. The global pass reads the lists, in pieces of any size, and
//! weighs each posting at once, because the table, N and the lengths are known.

use serde::{Deserialize, Serialize};

use super::super::functors::push_line;
use super::super::{
    Document, Documents, Emitter, Functors, Job, Line, Lines, MapFunction, Portable, Records, Room,
    Text, prefix,
};
use super::counts::count_texts;
use super::frequencies::FrequencyTable;
use super::table::{DocumentNotes, DocumentTable, term_runs};
use super::tsv::{number, tab};
use super::weighed::{Weighed, Weigher};
use tokapi_storage::error::Result;
use tokapi_text::corpus::{OnError, Skipped};
use tokapi_weigh::formula::Bm25;

/// The local pass: the term lists of every chunk.
#[derive(Serialize, Deserialize)]
pub struct LocalPass {
    table: DocumentTable,
}

/// A posting of a term list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalPosting<'a> {
    /// The chunk.
    pub chunk: u32,
    /// The term.
    pub term: &'a str,
    /// The document's number in the input.
    pub document: u32,
    /// The term's number of occurrences in it.
    pub tf: u32,
}

impl LocalPass {
    /// The job. If errors are skipped, documents with a repeated id are left out.
    pub fn new(on_error: OnError) -> Self {
        LocalPass {
            table: DocumentTable::new(on_error),
        }
    }

    /// Passes the id and the length of every document, by number, to `each`. Valid after the job
    /// has run.
    ///
    /// # Errors
    /// Scratch files cannot be read; an error of `each`.
    pub fn documents(&self, each: impl FnMut(&[u8], u32) -> Result<()>) -> Result<()> {
        self.table.fetch_all(each)
    }

    /// Documents left out because of a repeated id.
    pub fn skipped(&self) -> &Skipped {
        &self.table.skipped
    }
}

/// Term, document's number, tf. The term is unescaped: it has neither tabs nor line ends.
impl Text for LocalPosting<'_> {
    fn push(&self, text: &mut Vec<u8>) {
        text.extend_from_slice(self.term.as_bytes());
        tab(text);
        number(self.document, text);
        tab(text);
        number(self.tf, text);
        text.push(b'\n');
    }
}

impl Job for LocalPass {
    type Input = Documents;
    /// The chunk, and a term in it.
    type Key<'a> = (u32, &'a str);
    /// A document's number in its chunk.
    type Value = u32;
    type Note = DocumentNotes;
    type Output<'a> = LocalPosting<'a>;

    fn map(&self, document: Document<'_>, emit: &mut Emitter<Self>) {
        let mut length = 0;
        for term in document.terms() {
            emit.pair((document.place.split, term), document.place.index);
            length += 1;
        }
        emit.note().push(&document, length);
    }

    fn all_mapped(&mut self, notes: &Records<DocumentNotes>, room: &Room) -> Result<()> {
        self.table.fill(notes, room)
    }

    fn reduce(
        &self,
        (chunk, term): (u32, &str),
        documents: impl Iterator<Item = u32>,
        write: &mut impl FnMut(LocalPosting<'_>),
    ) -> Result<()> {
        let mut end = |index: Option<u32>, tf: u32| {
            let place = index.map(|index| super::super::DocumentPlace {
                split: chunk,
                index,
            });
            if let Some(number) = place.and_then(|place| self.table.input_number(place)) {
                write(LocalPosting {
                    chunk,
                    term,
                    document: self.table.number(number),
                    tf,
                });
            }
        };
        let (mut last, mut tf) = (None, 0);
        for index in documents {
            if last != Some(index) {
                end(last, tf);
                (last, tf) = (Some(index), 0);
            }
            tf += 1;
        }
        end(last, tf);
        Ok(())
    }

    /// All pairs of a chunk are in one partition.
    fn partition(&self, (chunk, _): &(u32, &str), _: u64, partitions: u32) -> u32 {
        chunk % partitions
    }

    fn prefix((chunk, term): &(u32, &str)) -> u64 {
        u64::from(*chunk) << 32 | prefix(term) >> 32
    }
}

/// A row of the df table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentFrequency<'a> {
    /// The term.
    pub term: &'a str,
    /// The number of documents that have it.
    pub df: u64,
}

/// Term, df. The term stays as it is on the lines of the lists.
impl Text for DocumentFrequency<'_> {
    fn push(&self, text: &mut Vec<u8>) {
        text.extend_from_slice(self.term.as_bytes());
        tab(text);
        number(self.df, text);
        text.push(b'\n');
    }
}

/// The df table, from lines `term<TAB>...`, one for every posting of a list.
#[derive(Serialize, Deserialize)]
pub struct DocumentFrequencies;

count_texts! {
    DocumentFrequencies, Lines => <'a> DocumentFrequency<'a>,
    |line, emit| emit.pair(line.text.split('\t').next().unwrap_or_default(), 1),
    |term, df, write| write(DocumentFrequency { term, df })
}

/// The global pass: lines `term<TAB>document<TAB>tf` of all lists, weighed.
#[derive(Serialize, Deserialize)]
pub struct GlobalPass {
    weigher: Weigher,
    dfs: FrequencyTable,
}

impl GlobalPass {
    /// The job, with the global facts: documents with their lengths, by number, and the df table,
    /// all in memory.
    pub fn new(
        bm25: Bm25,
        documents: impl IntoIterator<Item = (Vec<u8>, u32)>,
        dfs: impl IntoIterator<Item = (Box<str>, u64)>,
    ) -> Self {
        let dfs = FrequencyTable::Memory(dfs.into_iter().collect());
        GlobalPass::of_tables(bm25, DocumentTable::in_memory_of(documents), dfs)
    }

    pub(super) fn of_tables(bm25: Bm25, documents: DocumentTable, dfs: FrequencyTable) -> Self {
        GlobalPass {
            weigher: Weigher::new(bm25, documents),
            dfs,
        }
    }

    /// The posting on a line.
    fn read<'a>(&self, line: &'a str) -> Result<(&'a str, (u32, u32)), String> {
        let mut fields = line.split('\t');
        let mut next = || fields.next().ok_or(WRONG);
        let (term, document, tf) = (next()?, next()?, next()?);
        let document: u32 = document.parse().map_err(|_| WRONG)?;
        let tf: u32 = tf.parse().map_err(|_| WRONG)?;
        let df = self.dfs.get(term).map_err(|error| error.to_string())?;
        match df.is_some() && (document as usize) < self.weigher.table.len() {
            true => Ok((term, (document, tf))),
            false => Err(WRONG.into()),
        }
    }
}

const WRONG: &str = "it is no posting of a term list; run bm25-local again";
const UNREADABLE: &str = "the df table cannot be read; run bm25-local again";

/// Number of postings of a term held together.
const MOST_POSTINGS: usize = 1 << 14;

impl Job for GlobalPass {
    type Input = Lines;
    type Key<'a> = &'a str;
    /// Document, tf.
    type Value = (u32, u32);
    type Note = ();
    type Output<'a> = Weighed<'a>;

    fn map(&self, line: Line<'_>, emit: &mut Emitter<Self>) {
        match self.read(line.text) {
            Ok((term, posting)) => emit.pair(term, posting),
            Err(what) => emit.reject(what),
        }
    }

    fn reduce(
        &self,
        term: &str,
        mut postings: impl Iterator<Item = (u32, u32)>,
        write: &mut impl FnMut(Weighed<'_>),
    ) -> Result<()> {
        // Every term was found when it was mapped.
        let df = self.dfs.get(term)?.unwrap_or_default();
        loop {
            let (documents, tfs): (Vec<u32>, Vec<u32>) =
                postings.by_ref().take(MOST_POSTINGS).unzip();
            if documents.is_empty() {
                return Ok(());
            }
            self.weigher.write(term, df, (&documents, &tfs), write)?;
        }
    }

    fn prefix(term: &&str) -> u64 {
        prefix(term)
    }
}

impl Portable for LocalPass {
    const NAME: &'static str = "bm25-local";

    const FUNCTORS: Option<Functors<Self>> = Some(term_runs(
        |key| (key.split, key.text),
        |_, posting| Ok((posting.run().0.index, posting.run().1.into())),
    ));
}

impl Portable for DocumentFrequencies {
    const NAME: &'static str = "document-frequencies";

    const FUNCTORS: Option<Functors<Self>> =
        Some(Functors::<Self>::counts(MapFunction::FirstField, push_line));
}

impl Portable for GlobalPass {
    const NAME: &'static str = "bm25-global";

    const FUNCTORS: Option<Functors<Self>> = Some(Functors::<Self>::groups(
        MapFunction::Postings,
        push_line,
        |job, posting| {
            // A chunk has fewer than 2^32 records.
            let found = posting.note(posting.word as u32)[0];
            let (document, tf) = ((found >> 32) as u32, found as u32);
            let df = job.dfs.get(posting.key).map_err(|_| UNREADABLE)?;
            if df.is_none() || document as usize >= job.weigher.table.len() {
                return Err(WRONG);
            }
            Ok(((document, tf), 1))
        },
    ));
}
