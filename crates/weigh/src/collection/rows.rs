//! The global pass by document: the terms of every document with their weights.

use super::{Collection, Weigher};
use crate::formula::{Bm25, by_document};
use crate::postings::Postings;
use tokapi_storage::error::Result;
use tokapi_storage::pipeline::Stages;
use tokapi_storage::progress::Progress;
use tokapi_storage::strings::Strings;

/// The weighed terms of consecutive documents, as rows of a sparse matrix.
///
/// ```
/// # use tokapi_text::corpus::{Corpus, CorpusOptions, Document};
/// # use tokapi_weigh::collection::{BuildOptions, Collection};
/// # use tokapi_weigh::formula::Bm25;
/// # fn main() -> tokapi_storage::error::Result<()> {
/// let documents = [Document::new("1", "to be or not to be"), Document::new("2", "to sleep")];
/// let corpus = Corpus::from_documents(documents, CorpusOptions::default());
/// let collection = Collection::build(corpus, &BuildOptions::default())?;
/// let bm25 = Bm25::default();
/// let rows_of_part = collection.rows(&bm25)?;
/// let rows = rows_of_part(0);
/// assert_eq!((rows.len(), rows.starts), (2, vec![0, 4, 6]));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Rows {
    /// The number of the first document.
    pub first: usize,
    /// The ids of the documents.
    pub ids: Strings,
    /// The entries of document `first + d` are `starts[d]..starts[d + 1]`.
    pub starts: Vec<usize>,
    /// The term of every entry, as an index into `names`; ascending within a document.
    pub terms: Vec<u32>,
    /// The term frequency of every entry.
    pub frequencies: Vec<u32>,
    /// The weight of every entry.
    pub weights: Vec<f32>,
    /// The terms of these documents, and possibly others, ascending by bytes.
    pub names: Strings,
    /// The id of each name in the lexicon of the collection.
    pub term_ids: Vec<u32>,
}

impl Rows {
    /// The number of documents.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The id in the lexicon of the term of entry `entry`.
    pub fn term_id(&self, entry: usize) -> u32 {
        self.term_ids[self.terms[entry] as usize]
    }

    /// The term of entry `entry`.
    pub fn term(&self, entry: usize) -> &[u8] {
        self.names.get(self.terms[entry] as usize)
    }

    /// Puts the weighed postings of a part in document order. `ids` are the ids of its documents.
    pub(crate) fn of_postings(
        first: usize,
        ids: Strings,
        postings: &Postings,
        weights: &[f32],
        names: Strings,
        term_ids: Vec<u32>,
    ) -> Self {
        let (starts, order) = by_document(postings, ids.len());
        let tfs = postings.frequencies.expand(0..postings.len());
        let mut term_of = Vec::with_capacity(postings.len());
        for term in 0..term_ids.len() {
            // Indices into a part's list of terms, of which there are fewer than 2^32.
            term_of.resize(term_of.len() + postings.range(term).len(), term as u32);
        }
        Rows {
            first,
            ids,
            starts,
            terms: order.iter().map(|&posting| term_of[posting]).collect(),
            frequencies: order.iter().map(|&posting| tfs[posting]).collect(),
            weights: order.iter().map(|&posting| weights[posting]).collect(),
            names,
            term_ids,
        }
    }
}

/// A collection by document: the interface for the writers of rows.
pub(crate) trait ByDocument: Sync {
    /// The number of parts.
    fn part_count(&self) -> usize;

    /// The rows of a part. The parts are consecutive.
    ///
    /// # Errors
    /// Scratch cannot be read; the progress is cancelled.
    fn rows(&self, part: usize) -> Result<Rows>;

    /// The numbers of documents, terms and entries in all rows.
    fn shape(&self) -> [u64; 3];

    /// The stages of the pass over the parts.
    fn stages(&self) -> Stages;

    /// The stages that encode groups of entries.
    fn encoding_stages(&self) -> Stages;

    /// The progress of the pass over the parts.
    fn progress(&self) -> &Progress;
}

/// A collection in memory, weighed by document.
pub(crate) struct MemoryRows<'a> {
    collection: &'a Collection,
    bm25: Bm25,
    norms: Vec<f64>,
}

impl ByDocument for MemoryRows<'_> {
    fn part_count(&self) -> usize {
        self.collection.parts.len()
    }

    fn rows(&self, part: usize) -> Result<Rows> {
        let progress = &self.collection.progress;
        progress.check()?;
        let rows = self.of_part(part);
        progress.add(rows.terms.len() as u64);
        Ok(rows)
    }

    fn shape(&self) -> [u64; 3] {
        [
            self.collection.documents.len() as u64,
            self.collection.lexicon.terms.len() as u64,
            self.collection.postings_count(),
        ]
    }

    fn stages(&self) -> Stages {
        Stages::new(self.collection.pool.current_num_threads(), true)
    }

    fn encoding_stages(&self) -> Stages {
        self.stages()
    }

    fn progress(&self) -> &Progress {
        &self.collection.progress
    }
}

impl MemoryRows<'_> {
    fn of_part(&self, number: usize) -> Rows {
        let part = &self.collection.parts[number];
        let weights = Weigher {
            bm25: &self.bm25,
            norms: &self.norms,
            df: &self.collection.lexicon.df,
            statistics: &self.collection.statistics,
        }
        .part(part);
        let first = part.first as usize;
        let ids = &self.collection.documents.ids;
        let ids = (first..first + part.documents).map(|document| ids.get(document));
        Rows::of_postings(
            first,
            ids.collect(),
            &part.postings,
            &weights,
            part.postings.terms.clone(),
            part.term_ids.clone(),
        )
    }
}

impl Collection {
    /// The number of parts for [`Collection::rows`].
    pub fn part_count(&self) -> usize {
        self.parts.len()
    }

    /// A function from a part's number to the rows of its documents under `bm25`, in input order.
    ///
    /// # Errors
    /// Parameters out of range.
    pub fn rows(&self, bm25: &Bm25) -> Result<impl Fn(usize) -> Rows + Sync> {
        let rows = self.by_document(bm25)?;
        Ok(move |part| rows.of_part(part))
    }

    pub(crate) fn by_document(&self, bm25: &Bm25) -> Result<MemoryRows<'_>> {
        bm25.check()?;
        Ok(MemoryRows {
            collection: self,
            bm25: *bm25,
            norms: self.norms(bm25),
        })
    }
}
