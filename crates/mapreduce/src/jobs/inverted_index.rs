//! The documents of every term.

use hashbrown::HashMap;
use serde::{Deserialize, Serialize};

use super::super::{
    Document, DocumentPlace, Documents, Emitter, Functors, Job, Order, Portable, Records, Room,
    prefix,
};
use super::table::{DocumentNotes, DocumentTable, term_runs};
use tokapi_storage::error::Result;
use tokapi_text::corpus::{OnError, Skipped};

/// Number of postings whose documents are looked up together.
const FETCHED: usize = 1 << 12;

/// Posting lists; the secondary key puts their documents in the order of the input.
///
/// ```
/// use std::sync::Arc;
/// use tokapi_mapreduce::{Documents, Threads};
/// use tokapi_mapreduce::jobs::InvertedIndex;
/// use tokapi_text::corpus::{Corpus, CorpusOptions, OnError};
/// use tokapi_text::analyze::Analyzer;
///
/// # fn main() -> tokapi_storage::error::Result<()> {
/// let corpus = Corpus::from_bytes("a.tsv", "1\tto be\n2\tto do to\n", CorpusOptions::default());
/// let documents = Documents::new(corpus, Arc::new(Analyzer::default()), 2);
/// let mut job = InvertedIndex::new(OnError::Stop);
/// let own = |(term, id, tf): (&str, &[u8], u32)| format!("{term} {} {tf}", id.escape_ascii());
/// let (postings, _) = Threads::default().collect(&mut job, documents, own)?;
/// assert_eq!(postings, ["be 1 1", "do 2 1", "to 1 1", "to 2 2"]);
/// # Ok(())
/// # }
/// ```
#[derive(Serialize, Deserialize)]
pub struct InvertedIndex {
    table: DocumentTable,
}

impl InvertedIndex {
    /// The job. If errors are skipped, documents with a repeated id are left out.
    pub fn new(on_error: OnError) -> Self {
        InvertedIndex {
            table: DocumentTable::new(on_error),
        }
    }

    /// Documents left out because of a repeated id.
    pub fn skipped(&self) -> &Skipped {
        &self.table.skipped
    }
}

impl Job for InvertedIndex {
    type Input = Documents;
    type Key<'a> = &'a str;
    /// A document, and the term's number of occurrences in it.
    type Value = (DocumentPlace, u32);
    type Note = DocumentNotes;
    /// Term, id, tf.
    type Output<'a> = (&'a str, &'a [u8], u32);

    fn map(&self, document: Document<'_>, emit: &mut Emitter<Self>) {
        let mut tfs: HashMap<&str, u32> = HashMap::new();
        let mut length = 0;
        for term in document.terms() {
            *tfs.entry(term).or_default() += 1;
            length += 1;
        }
        for (term, tf) in tfs {
            emit.pair(term, (document.place, tf));
        }
        emit.note().push(&document, length);
    }

    fn all_mapped(&mut self, notes: &Records<DocumentNotes>, room: &Room) -> Result<()> {
        self.table.fill(notes, room)
    }

    fn reduce(
        &self,
        term: &str,
        postings: impl Iterator<Item = (DocumentPlace, u32)>,
        write: &mut impl FnMut(Self::Output<'_>),
    ) -> Result<()> {
        if let Some((ids, _)) = self.table.in_memory() {
            for (place, tf) in postings {
                if let Some(number) = self.table.input_number(place) {
                    write((term, ids.get(number as usize), tf));
                }
            }
            return Ok(());
        }
        // The table is read for several postings at a time, in the order of the input.
        let mut postings = postings.peekable();
        let mut some: Vec<(u32, u32)> = Vec::new();
        while postings.peek().is_some() {
            some.clear();
            some.extend(postings.by_ref().take(FETCHED).filter_map(|(place, tf)| {
                let number = self.table.input_number(place)?;
                Some((number, tf))
            }));
            let mut tfs = some.iter().map(|&(_, tf)| tf);
            let numbers = some.iter().map(|&(number, _)| number);
            self.table.fetch(numbers, |id, _| {
                tfs.next().into_iter().for_each(|tf| write((term, id, tf)));
                Ok(())
            })?;
        }
        Ok(())
    }

    fn value_order(&self) -> Option<Order<(DocumentPlace, u32)>> {
        Some(|a, b| a.0.cmp(&b.0))
    }

    fn prefix(term: &&str) -> u64 {
        prefix(term)
    }
}

impl Portable for InvertedIndex {
    const NAME: &'static str = "inverted-index";

    const FUNCTORS: Option<Functors<Self>> = Some(term_runs(
        |key| key.text,
        |_, posting| Ok((posting.run(), 1)),
    ));
}
