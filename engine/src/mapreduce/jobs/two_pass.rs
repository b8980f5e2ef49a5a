//! BM25 in two passes, chunk by chunk: term lists and a df table stand between them.
//!
//! The local pass needs no global statistic: it makes the term lists of every chunk. From these
//! comes the df table. The global pass takes the lists, in pieces of any size, and weighs each
//! posting at once, because the table, N and the lengths are known.

use hashbrown::HashMap;
use serde::{Deserialize, Serialize};

use super::super::functors::push_terms;
use super::super::{
    Combine, Document, Documents, Emitter, Functors, Job, Line, Lines, MapFunction, Portable,
    ReduceFunction, TextJob, prefix,
};
use super::Tsv;
use super::bm25::Weighed;
use super::table::{DocumentNotes, DocumentTable};
use crate::collection::Statistics;
use crate::corpus::{OnError, Skipped};
use crate::error::Result;
use crate::strings::Strings;
use crate::weigh::Bm25;

/// The local pass: the term lists of every chunk.
#[derive(Serialize, Deserialize)]
pub struct LocalPass {
    on_error: OnError,
    #[serde(skip)]
    table: DocumentTable,
}

/// A posting of a term list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalPosting<'a> {
    /// The chunk.
    pub chunk: u32,
    /// The term.
    pub term: &'a str,
    /// The document's number among all.
    pub document: u32,
    /// How often the term occurs in it.
    pub tf: u32,
}

impl LocalPass {
    /// The job; where errors are skipped, documents whose id is taken are left out.
    pub fn new(on_error: OnError) -> Self {
        LocalPass {
            on_error,
            table: DocumentTable::default(),
        }
    }

    /// The id and the length of every document, by number, once the job has run.
    pub fn documents(&self) -> impl Iterator<Item = (&[u8], u32)> {
        let documents = &self.table.documents;
        documents.ids.iter().zip(documents.lengths.iter().copied())
    }

    /// Documents that were left out because their id was taken.
    pub fn skipped(&self) -> &Skipped {
        &self.table.skipped
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

    fn all_mapped(&mut self, notes: Vec<DocumentNotes>) -> Result<()> {
        self.table = DocumentTable::new(&notes, self.on_error)?;
        Ok(())
    }

    fn reduce(
        &self,
        (chunk, term): (u32, &str),
        documents: impl Iterator<Item = u32>,
        write: &mut impl FnMut(LocalPosting<'_>),
    ) {
        let mut end = |index: Option<u32>, tf: u32| {
            let place = index.map(|index| super::super::DocumentPlace {
                split: chunk,
                index,
            });
            if let Some(document) = place.and_then(|place| self.table.number(place)) {
                write(LocalPosting {
                    chunk,
                    term,
                    document,
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
    }

    /// Chunk by chunk: each is one partition's alone.
    fn partition(&self, (chunk, _): &(u32, &str), _: u64, partitions: u32) -> u32 {
        chunk % partitions
    }

    fn prefix((chunk, term): &(u32, &str)) -> u64 {
        u64::from(*chunk) << 32 | prefix(term) >> 32
    }
}

/// The df table, from lines `term<TAB>...`, one for every posting of a list.
#[derive(Serialize, Deserialize)]
pub struct DocumentFrequencies;

impl Job for DocumentFrequencies {
    type Input = Lines;
    type Key<'a> = &'a str;
    type Value = u64;
    type Note = ();
    type Output<'a> = (&'a str, u64);

    fn map(&self, line: Line<'_>, emit: &mut Emitter<Self>) {
        let term = line.text.split('\t').next().unwrap_or_default();
        emit.pair(term, 1);
    }

    fn reduce(
        &self,
        term: &str,
        dfs: impl Iterator<Item = u64>,
        write: &mut impl FnMut((&str, u64)),
    ) {
        write((term, dfs.sum()));
    }

    fn combiner(&self) -> Option<Combine<u64>> {
        Some(|sum, df| *sum += df)
    }

    fn prefix(term: &&str) -> u64 {
        prefix(term)
    }
}

/// The global pass: lines `term<TAB>document<TAB>tf` of all lists, weighed.
#[derive(Serialize, Deserialize)]
pub struct GlobalPass {
    bm25: Bm25,
    ids: Strings,
    norms: Vec<f64>,
    /// df by term.
    dfs: HashMap<Box<str>, u64>,
}

impl GlobalPass {
    /// The job, with what is known of all chunks: documents with their lengths, by number, and
    /// the df table.
    pub fn new(
        bm25: Bm25,
        documents: impl IntoIterator<Item = (Vec<u8>, u32)>,
        dfs: impl IntoIterator<Item = (Box<str>, u64)>,
    ) -> Self {
        let (mut ids, mut lengths) = (Strings::default(), Vec::new());
        for (id, length) in documents {
            ids.push(&id);
            lengths.push(length);
        }
        let statistics = Statistics {
            documents: lengths.len() as u64,
            total_length: lengths.iter().map(|&length| u64::from(length)).sum(),
        };
        let norms = lengths.iter().map(|&length| bm25.norm(length, &statistics));
        GlobalPass {
            norms: norms.collect(),
            bm25,
            ids,
            dfs: dfs.into_iter().collect(),
        }
    }

    /// The posting on a line, with its weight.
    fn read<'a>(&self, line: &'a str) -> Result<(&'a str, (u32, u32, f32)), &'static str> {
        let mut fields = line.split('\t');
        let mut next = || fields.next().ok_or(WRONG);
        let (term, document, tf) = (next()?, next()?, next()?);
        let document: u32 = document.parse().map_err(|_| WRONG)?;
        let tf: u32 = tf.parse().map_err(|_| WRONG)?;
        Ok((term, self.weigh(term, document, tf)?))
    }

    /// A posting with its weight.
    fn weigh(&self, term: &str, document: u32, tf: u32) -> Result<(u32, u32, f32), &'static str> {
        let df = self.dfs.get(term).ok_or(WRONG)?;
        let norm = self.norms.get(document as usize).ok_or(WRONG)?;
        let idf = self.bm25.idf(self.norms.len() as u64, *df);
        let mut weight = [0.0];
        self.bm25.weigh(idf, &[0], &[tf], &[*norm], &mut weight);
        Ok((document, tf, weight[0]))
    }
}

const WRONG: &str = "it is no posting of a term list; run bm25-local again";

impl Job for GlobalPass {
    type Input = Lines;
    type Key<'a> = &'a str;
    /// Document, tf, weight.
    type Value = (u32, u32, f32);
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
        postings: impl Iterator<Item = (u32, u32, f32)>,
        write: &mut impl FnMut(Weighed<'_>),
    ) {
        let (mut documents, mut tfs, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        for (document, tf, weight) in postings {
            documents.push(document);
            tfs.push(tf);
            weights.push(weight);
        }
        write(Weighed {
            term,
            documents: &documents,
            tfs: &tfs,
            weights: &weights,
            ids: &self.ids,
        });
    }

    fn prefix(term: &&str) -> u64 {
        prefix(term)
    }
}

impl Portable for LocalPass {
    const NAME: &'static str = "bm25-local";

    fn functors() -> Option<Functors<Self>> {
        Some(Functors {
            map: MapFunction::Terms,
            reduce: ReduceFunction::Runs,
            record: |_, document, bytes, note| note.push(&document, push_terms(&document, bytes)),
            key: |key| (key.split, key.text),
            values: |_, posting, each| {
                let place = posting.place((posting.word >> 32) as u32);
                each(place.index, posting.word & u64::from(u32::MAX));
                Ok(())
            },
        })
    }
}

impl TextJob for LocalPass {
    fn format(output: Self::Output<'_>, text: &mut Vec<u8>) {
        output.push(text);
    }
}

impl Portable for DocumentFrequencies {
    const NAME: &'static str = "document-frequencies";

    fn functors() -> Option<Functors<Self>> {
        Some(Functors {
            map: MapFunction::FirstField,
            reduce: ReduceFunction::Count,
            record: |_, line, bytes, ()| bytes.extend_from_slice(line.text.as_bytes()),
            key: |key| key.text,
            values: |_, count, each| {
                each(count.word, 1);
                Ok(())
            },
        })
    }
}

impl TextJob for DocumentFrequencies {
    fn format(output: Self::Output<'_>, text: &mut Vec<u8>) {
        let (term, df) = output;
        text.extend_from_slice(term.as_bytes());
        text.extend_from_slice(format!("\t{df}\n").as_bytes());
    }
}

impl Portable for GlobalPass {
    const NAME: &'static str = "bm25-global";

    fn functors() -> Option<Functors<Self>> {
        Some(Functors {
            map: MapFunction::Postings,
            reduce: ReduceFunction::Nothing,
            record: |_, line, bytes, ()| bytes.extend_from_slice(line.text.as_bytes()),
            key: |key| key.text,
            values: |job, posting, each| {
                // A chunk has fewer than 2^32 records.
                let found = posting.note(posting.word as u32)[0];
                each(
                    job.weigh(posting.key, (found >> 32) as u32, found as u32)?,
                    1,
                );
                Ok(())
            },
        })
    }
}

impl TextJob for GlobalPass {
    fn format(output: Self::Output<'_>, text: &mut Vec<u8>) {
        output.push(text);
    }
}
