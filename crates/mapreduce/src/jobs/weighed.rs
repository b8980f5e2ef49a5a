//! The weighed postings of a term, computed in pieces, because ids and lengths may be on scratch.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::super::Text;
use super::table::DocumentTable;
use super::tsv::{decimal, number, tab};
use tokapi_storage::error::Result;
use tokapi_storage::strings::Strings;
use tokapi_weigh::formula::{Bm25, Statistics};
use tokapi_weigh::output::push_field;

/// Number of postings weighed together.
const PIECE: usize = 1 << 14;

/// Weighed postings of a term, in the order of documents. A frequent term comes in several pieces.
#[derive(Debug, Clone, Copy)]
pub struct Weighed<'a> {
    /// The term.
    pub term: &'a str,
    /// The numbers of the documents that have it.
    pub documents: &'a [u32],
    /// The term's number of occurrences in each.
    pub tfs: &'a [u32],
    /// Its weight in each.
    pub weights: &'a [f32],
    ids: Ids<'a>,
}

/// The ids of documents.
#[derive(Debug, Clone, Copy)]
enum Ids<'a> {
    /// The ids of all documents, by number.
    All(&'a Strings),
    /// The ids of the documents that have the term.
    Fetched(&'a Strings),
}

impl<'a> Weighed<'a> {
    /// Id, tf and weight of every posting.
    pub fn postings(&self) -> impl Iterator<Item = (&'a [u8], u32, f32)> + use<'a> {
        let ids = self.ids;
        let postings = self.documents.iter().zip(self.tfs).zip(self.weights);
        postings
            .enumerate()
            .map(move |(place, ((&document, &tf), &weight))| {
                let id = match ids {
                    Ids::All(ids) => ids.get(document as usize),
                    Ids::Fetched(ids) => ids.get(place),
                };
                (id, tf, weight)
            })
    }
}

/// The format of `tokapi weigh`: term, document, tf and weight, one line a posting.
impl Text for Weighed<'_> {
    fn push(&self, text: &mut Vec<u8>) {
        let mut prefix = Vec::new();
        push_field(&mut prefix, self.term.as_bytes());
        tab(&mut prefix);
        for (id, tf, weight) in self.postings() {
            text.extend_from_slice(&prefix);
            push_field(text, id);
            tab(text);
            number(tf, text);
            tab(text);
            decimal(weight, text);
            text.push(b'\n');
        }
    }
}

/// Weighs the postings of all terms, after all documents are known.
#[derive(Serialize, Deserialize)]
pub(super) struct Weigher {
    bm25: Bm25,
    pub table: DocumentTable,
    /// L of every document, if all are in memory.
    #[serde(skip)]
    norms: OnceLock<Vec<f64>>,
}

impl Weigher {
    pub(super) fn new(bm25: Bm25, table: DocumentTable) -> Self {
        Weigher {
            bm25,
            table,
            norms: OnceLock::new(),
        }
    }

    /// Weighs postings of a term with this `df`, and passes them to `write`. Documents are given
    /// by their number in the input, ascending, with their tfs.
    ///
    /// # Errors
    /// A scratch file cannot be read, or is damaged.
    pub(super) fn write(
        &self,
        term: &str,
        df: u64,
        (documents, tfs): (&[u32], &[u32]),
        write: &mut impl FnMut(Weighed<'_>),
    ) -> Result<()> {
        let statistics = self.table.statistics();
        let idf = self.bm25.idf(statistics.documents, df);
        let mut weights = vec![0.0; documents.len().min(PIECE)];
        for (documents, tfs) in documents.chunks(PIECE).zip(tfs.chunks(PIECE)) {
            let weights = &mut weights[..documents.len()];
            let Some((ids, lengths)) = self.table.in_memory() else {
                self.write_fetched(term, &statistics, idf, (documents, tfs), weights, write)?;
                continue;
            };
            let norm = |&length: &u32| self.bm25.norm(length, &statistics);
            let norms = || lengths.iter().map(norm).collect();
            let norms = self.norms.get_or_init(norms);
            self.bm25.weigh(idf, documents, tfs, norms, weights);
            write(Weighed {
                term,
                documents,
                tfs,
                weights,
                ids: Ids::All(ids),
            });
        }
        Ok(())
    }

    fn write_fetched(
        &self,
        term: &str,
        statistics: &Statistics,
        idf: f64,
        (documents, tfs): (&[u32], &[u32]),
        weights: &mut [f32],
        write: &mut impl FnMut(Weighed<'_>),
    ) -> Result<()> {
        let mut ids = Strings::default();
        let mut norms = Vec::with_capacity(documents.len());
        self.table.fetch(documents.iter().copied(), |id, length| {
            ids.push(id);
            norms.push(self.bm25.norm(length, statistics));
            Ok(())
        })?;
        // A piece has far fewer than 2^32 postings.
        let places: Vec<u32> = (0..documents.len() as u32).collect();
        self.bm25.weigh(idf, &places, tfs, &norms, weights);
        let documents = documents.iter().map(|&number| self.table.number(number));
        write(Weighed {
            term,
            documents: &documents.collect::<Vec<u32>>(),
            tfs,
            weights,
            ids: Ids::Fetched(&ids),
        });
        Ok(())
    }
}
