//! BM25 in one pass: map emits (term, document), reduce counts tf and df, and weighs.

use serde::{Deserialize, Serialize};

use super::super::functors::push_terms;
use super::super::{
    Document, DocumentPlace, Documents, Emitter, Functors, Job, MapFunction, Portable,
    ReduceFunction, TextJob, prefix,
};
use super::Tsv;
use super::table::{DocumentNotes, DocumentTable};
use crate::corpus::{OnError, Skipped};
use crate::error::Result;
use crate::strings::Strings;
use crate::weigh::Bm25;

/// The one-pass job of the literature; gives what `tokapi weigh` gives, to the last bit.
///
/// ```
/// use std::sync::Arc;
/// use tokapi::mapreduce::{Documents, Threads, jobs::{Weighed, WeighOnePass}};
/// use tokapi::{Bm25, Corpus, CorpusOptions, analyze::Analyzer, corpus::OnError};
///
/// # fn main() -> tokapi::Result<()> {
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
    bm25: Bm25,
    on_error: OnError,
    #[serde(skip)]
    table: DocumentTable,
    /// L of every document.
    #[serde(skip)]
    norms: Vec<f64>,
}

/// The weighed postings of a term, in the order of documents.
#[derive(Debug, Clone, Copy)]
pub struct Weighed<'a> {
    /// The term.
    pub term: &'a str,
    /// The numbers of the documents that have it.
    pub documents: &'a [u32],
    /// How often it occurs in each.
    pub tfs: &'a [u32],
    /// Its weight in each.
    pub weights: &'a [f32],
    /// The ids of all documents, by number.
    pub ids: &'a Strings,
}

impl<'a> Weighed<'a> {
    /// Id, tf and weight of every posting.
    pub fn postings(&self) -> impl Iterator<Item = (&'a [u8], u32, f32)> + use<'a> {
        let ids = self.ids;
        let postings = self.documents.iter().zip(self.tfs).zip(self.weights);
        postings.map(move |((&document, &tf), &weight)| (ids.get(document as usize), tf, weight))
    }
}

impl WeighOnePass {
    /// A job that weighs by `bm25`; where errors are skipped, documents whose id is taken are left
    /// out.
    pub fn new(bm25: Bm25, on_error: OnError) -> Self {
        WeighOnePass {
            bm25,
            on_error,
            table: DocumentTable::default(),
            norms: Vec::new(),
        }
    }

    /// Documents that were left out because their id was taken.
    pub fn skipped(&self) -> &Skipped {
        &self.table.skipped
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

    fn all_mapped(&mut self, notes: Vec<DocumentNotes>) -> Result<()> {
        self.table = DocumentTable::new(&notes, self.on_error)?;
        let statistics = self.table.statistics();
        self.norms = self.table.documents.norms(&self.bm25, &statistics);
        Ok(())
    }

    fn reduce(
        &self,
        term: &str,
        places: impl Iterator<Item = DocumentPlace>,
        write: &mut impl FnMut(Weighed<'_>),
    ) {
        // Places come in the order of the input: those of a document are neighbours.
        let most = places.size_hint().0.min(self.norms.len());
        let mut documents: Vec<u32> = Vec::with_capacity(most);
        let mut tfs: Vec<u32> = Vec::with_capacity(most);
        let mut last = None;
        places.for_each(|place| match tfs.last_mut() {
            Some(tf) if last == Some(place) => *tf += 1,
            _ => {
                last = None;
                if let Some(number) = self.table.number(place) {
                    last = Some(place);
                    documents.push(number);
                    tfs.push(1);
                }
            }
        });
        let idf = self
            .bm25
            .idf(self.norms.len() as u64, documents.len() as u64);
        let mut weights = vec![0.0; documents.len()];
        self.bm25
            .weigh(idf, &documents, &tfs, &self.norms, &mut weights);
        if !documents.is_empty() {
            write(Weighed {
                term,
                documents: &documents,
                tfs: &tfs,
                weights: &weights,
                ids: self.table.ids(),
            });
        }
    }

    fn prefix(term: &&str) -> u64 {
        prefix(term)
    }
}

impl Portable for WeighOnePass {
    const NAME: &'static str = "bm25";

    fn functors() -> Option<Functors<Self>> {
        Some(Functors {
            map: MapFunction::Terms,
            reduce: ReduceFunction::Runs,
            record: |_, document, bytes, note| note.push(&document, push_terms(&document, bytes)),
            key: |key| key.text,
            values: |_, posting, each| {
                let place = posting.place((posting.word >> 32) as u32);
                each(place, posting.word & u64::from(u32::MAX));
                Ok(())
            },
        })
    }
}

impl TextJob for WeighOnePass {
    fn format(output: Self::Output<'_>, text: &mut Vec<u8>) {
        output.push(text);
    }
}
