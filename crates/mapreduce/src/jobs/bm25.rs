//! BM25 in one pass: map emits (term, document), reduce counts tf and df, and weighs.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::super::records::RecordWriter;
use super::super::spill::Spill;
use super::super::{
    Document, DocumentPlace, Documents, Emitter, Functors, Job, Portable, Records, Room, prefix,
};
use super::table::{DocumentNotes, DocumentTable, term_runs};
use super::weighed::{Weighed, Weigher};
use tokapi_storage::error::Result;
use tokapi_text::corpus::{OnError, Skipped};
use tokapi_weigh::formula::Bm25;

/// The one-pass job of the literature. Its results equal those of `tokapi weigh` to the last bit.
///
/// ```
/// use std::sync::Arc;
/// use tokapi_mapreduce::{Documents, Threads};
/// use tokapi_mapreduce::jobs::{WeighOnePass, Weighed};
/// use tokapi_weigh::formula::Bm25;
/// use tokapi_text::corpus::{Corpus, CorpusOptions, OnError};
/// use tokapi_text::analyze::Analyzer;
///
/// # fn main() -> tokapi_storage::error::Result<()> {
/// let corpus = Corpus::from_bytes("a.tsv", "1\tto be or not\n2\tto be\n", CorpusOptions::default());
/// let documents = Documents::new(corpus, Arc::new(Analyzer::default()), 2);
/// let mut job = WeighOnePass::new(Bm25::default(), OnError::Stop);
/// let own = |weighed: Weighed<'_>| (weighed.term.to_owned(), weighed.weights[0]);
/// let (weights, _) = Threads::default().collect(&mut job, documents, own)?;
/// assert_eq!(weights[0], ("be".into(), 0.072_928_62));
/// # Ok(())
/// # }
/// ```
#[derive(Serialize, Deserialize)]
pub struct WeighOnePass {
    weigher: Weigher,
    /// The storage for the postings of a very frequent term, and their memory limit.
    #[serde(with = "tokapi_storage::paths")]
    scratch: PathBuf,
    held_bytes: u64,
}

/// Maximum number of postings of a term kept unencoded; further ones are encoded, and may go to
/// scratch.
const MOST_POSTINGS: usize = 1 << 18;

impl WeighOnePass {
    /// A job that weighs by `bm25`. If errors are skipped, documents with a repeated id are left
    /// out.
    pub fn new(bm25: Bm25, on_error: OnError) -> Self {
        WeighOnePass {
            weigher: Weigher::new(bm25, DocumentTable::new(on_error)),
            scratch: PathBuf::new(),
            held_bytes: 0,
        }
    }

    /// Documents left out because of a repeated id.
    pub fn skipped(&self) -> &Skipped {
        &self.weigher.table.skipped
    }
}

/// Earlier postings of the current term.
#[derive(Default)]
struct EarlierPostings {
    count: u64,
    records: Option<RecordWriter<(Vec<u32>, Vec<u32>)>>,
}

impl EarlierPostings {
    /// Moves postings in.
    fn put_aside(
        &mut self,
        job: &WeighOnePass,
        documents: &mut Vec<u32>,
        tfs: &mut Vec<u32>,
    ) -> Result<()> {
        let records = self.records.get_or_insert_with(|| {
            let spill = Spill::new(job.held_bytes, &job.scratch);
            RecordWriter::new(&Arc::new(spill))
        });
        self.count += documents.len() as u64;
        let postings = (std::mem::take(documents), std::mem::take(tfs));
        records.push(&postings)?;
        (*documents, *tfs) = postings;
        documents.clear();
        tfs.clear();
        Ok(())
    }
}

impl Job for WeighOnePass {
    type Input = Documents;
    type Key<'a> = &'a str;
    type Value = DocumentPlace;
    type Note = DocumentNotes;
    type Output<'a> = Weighed<'a>;

    fn map(&self, document: Document<'_>, emit: &mut Emitter<Self>) {
        let mut length = 0;
        let terms = document.terms().inspect(|_| length += 1);
        emit.pairs(terms, document.place);
        emit.note().push(&document, length);
    }

    fn all_mapped(&mut self, notes: &Records<DocumentNotes>, room: &Room) -> Result<()> {
        self.scratch = room.scratch.clone();
        self.held_bytes = room.memory_bytes / 16;
        self.weigher.table.fill(notes, room)
    }

    fn reduce(
        &self,
        term: &str,
        places: impl Iterator<Item = DocumentPlace>,
        write: &mut impl FnMut(Weighed<'_>),
    ) -> Result<()> {
        let most = places.size_hint().0.min(MOST_POSTINGS);
        let mut documents: Vec<u32> = Vec::with_capacity(most);
        let mut tfs: Vec<u32> = Vec::with_capacity(most);
        // df is known, and weights can be computed, only after all postings have arrived.
        let mut earlier = EarlierPostings::default();
        let (mut last, mut put_aside) = (None, Ok(()));
        // Places ascend as in the input, so the postings of a document are neighbours.
        places.for_each(|place| match tfs.last_mut() {
            Some(tf) if last == Some(place) => *tf += 1,
            _ => {
                last = None;
                if let Some(number) = self.weigher.table.input_number(place) {
                    last = Some(place);
                    if documents.len() == MOST_POSTINGS && put_aside.is_ok() {
                        put_aside = earlier.put_aside(self, &mut documents, &mut tfs);
                    }
                    documents.push(number);
                    tfs.push(1);
                }
            }
        });
        put_aside?;
        let df = earlier.count + documents.len() as u64;
        if let Some(records) = earlier.records {
            for postings in &records.finish()? {
                let (documents, tfs) = postings?;
                self.weigher.write(term, df, (&documents, &tfs), write)?;
            }
        }
        self.weigher.write(term, df, (&documents, &tfs), write)
    }

    fn prefix(term: &&str) -> u64 {
        prefix(term)
    }
}

impl Portable for WeighOnePass {
    const NAME: &'static str = "bm25";

    const FUNCTORS: Option<Functors<Self>> = Some(term_runs(
        |key| key.text,
        |_, posting| Ok((posting.run().0, posting.run().1.into())),
    ));
}
