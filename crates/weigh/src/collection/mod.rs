//! A collection in memory: a local pass over its chunks, then a global pass that weighs it.
//!
//! The local pass inverts the chunks on all threads. Every chunk becomes one part: its postings sorted by term. After
//! the last chunk, N, the lengths and the lexicon with df are merged. The global pass then weighs by term over the
//! whole collection ([`Collection::weigh`]), or by document within each part ([`Collection::rows`]).

mod documents;
mod engines;
pub mod external;
mod local;
mod merge;
mod note;
mod options;
mod rows;
pub mod run;
mod storage;
mod stored;

pub use documents::Documents;
pub use merge::{CollectionPostings, Posting, Weights};
pub use note::{ChunkNote, repeated_id};
pub use options::{BuildOptions, Engine, thread_pool};
pub(crate) use rows::ByDocument;
pub use rows::Rows;
pub use storage::Storage;
pub use stored::{Stored, StoredIn, WeighedDocument, Written};

use std::sync::Arc;
use std::time::Instant;

use rayon::prelude::*;

use crate::formula::{Bm25, Prune, Statistics};
use crate::invert::Inverted;
use crate::lexicon::{Lexicon, PartTerms};
use crate::postings::Postings;
use local::Local;
use tokapi_storage::error::Result;
use tokapi_storage::pipeline::StageTimes;
use tokapi_storage::progress::Progress;
use tokapi_text::analyze::Analyzer;
use tokapi_text::corpus::{Corpus, OnError, Skipped};

/// The part of a collection from one chunk.
struct Part {
    postings: Postings,
    /// The number of its first document in the collection.
    first: u32,
    documents: usize,
    /// The id in the lexicon of each of its terms.
    term_ids: Vec<u32>,
}

/// An inverted collection.
///
/// ```
/// # use tokapi_text::corpus::{Corpus, CorpusOptions, Document};
/// # use tokapi_weigh::collection::{BuildOptions, Collection};
/// # use tokapi_weigh::formula::Bm25;
/// # fn main() -> tokapi_storage::error::Result<()> {
/// let documents = [Document::new("1", "to be or not to be"), Document::new("2", "to sleep")];
/// let corpus = Corpus::from_documents(documents, CorpusOptions::default());
/// let collection = Collection::build(corpus, &BuildOptions::default())?;
/// assert_eq!(collection.documents().lengths, [6, 2]);
/// assert_eq!(collection.lexicon().terms.get(0), b"be");
/// assert_eq!(collection.lexicon().df, [1, 1, 1, 1, 2]);
///
/// let weights = collection.weigh(&Bm25::default())?;
/// let first = weights.iter().next().expect("a posting");
/// assert_eq!((first.term, first.document, first.tf), (&b"be"[..], &b"1"[..], 2));
/// # Ok(())
/// # }
/// ```
pub struct Collection {
    parts: Vec<Part>,
    documents: Documents,
    lexicon: Lexicon,
    statistics: Statistics,
    bytes: u64,
    skipped: Skipped,
    fallback: Option<String>,
    times: StageTimes,
    pool: Arc<rayon::ThreadPool>,
    analyzer: Analyzer,
    progress: Progress,
}

impl Collection {
    /// Reads and inverts a whole corpus. This and all later operations on the collection report to the progress of the
    /// corpus.
    ///
    /// # Errors
    /// The first document that cannot be read, or the first repeated id, unless errors are skipped; 2^32 or more
    /// documents or distinct terms.
    pub fn build(mut corpus: Corpus, options: &BuildOptions) -> Result<Self> {
        let pool = thread_pool(options)?;
        corpus.share_among(pool.current_num_threads());
        let (on_error, progress) = (corpus.on_error(), corpus.progress());
        let local = local::pass(corpus, options, &pool, None)?;
        Collection::of_local(local, on_error, pool, options, progress)
    }

    /// Assembles the collection from the local pass.
    fn of_local(
        mut local: Local,
        on_error: OnError,
        pool: rayon::ThreadPool,
        options: &BuildOptions,
        progress: Progress,
    ) -> Result<Self> {
        let mut documents = local::documents(&local.chunks, &progress)?;
        let repeated = pool.install(|| documents.repeated(&progress))?;
        for &(repeat, of) in &repeated {
            match on_error {
                OnError::Stop => return Err(local.repeated_id(&documents, repeat, of)),
                OnError::Skip => {
                    let mut skipped = std::mem::take(&mut local.note.skipped);
                    skipped.add(|| local.repeated_id(&documents, repeat, of));
                    local.note.skipped = skipped;
                }
            }
        }
        if !repeated.is_empty() {
            let gone: Vec<u32> = repeated.iter().map(|&(repeat, _)| repeat).collect();
            documents.remove(&gone, &progress)?;
            local.remove(&gone, &progress)?;
        }
        let started = Instant::now();
        let views: Vec<PartTerms<'_>> = local.chunks.iter().map(|chunk| chunk.terms()).collect();
        let (lexicon, ids) = pool.install(|| Lexicon::merge(&views, &progress))?;
        log::info!(
            "lexicon: {} terms in {:.3} s",
            lexicon.terms.len(),
            started.elapsed().as_secs_f64()
        );
        let mut first = 0;
        let parts = local.chunks.into_iter().zip(ids).map(|(chunk, term_ids)| {
            let Inverted { postings, lengths } = chunk.inverted;
            let part = Part {
                postings,
                first,
                documents: lengths.len(),
                term_ids,
            };
            // All documents together are fewer than 2^32: `local::documents` counted them.
            first += lengths.len() as u32;
            part
        });
        let parts: Vec<Part> = parts.collect();
        let statistics = documents.statistics();
        log::info!(
            "{} documents, total length {} terms",
            statistics.documents,
            statistics.total_length
        );
        Ok(Collection {
            parts,
            documents,
            lexicon,
            statistics,
            bytes: local.note.bytes,
            skipped: local.note.skipped,
            fallback: local.fallback,
            times: local.times,
            pool: Arc::new(pool),
            analyzer: options.analyzer.clone(),
            progress,
        })
    }

    /// The analyzer of its terms.
    pub fn analyzer(&self) -> &Analyzer {
        &self.analyzer
    }

    /// The progress of all operations on the collection.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// The documents: ids and lengths.
    pub fn documents(&self) -> &Documents {
        &self.documents
    }

    /// The distinct terms with their df.
    pub fn lexicon(&self) -> &Lexicon {
        &self.lexicon
    }

    /// N and the total length.
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }

    /// The number of postings: distinct (term, document) pairs.
    pub fn postings_count(&self) -> u64 {
        self.parts
            .iter()
            .map(|part| part.postings.len() as u64)
            .sum()
    }

    /// The bytes of text read, after decompression.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The skipped documents.
    pub fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    /// The reason why the CPU took over from a GPU, if it did.
    pub fn fallback(&self) -> Option<&str> {
        self.fallback.as_deref()
    }

    /// The threads for this collection.
    pub fn pool(&self) -> Arc<rayon::ThreadPool> {
        Arc::clone(&self.pool)
    }

    /// Keeps only the postings that `prune` keeps under `bm25`; df and lengths stay as they are.
    ///
    /// # Errors
    /// Parameters out of range; [`Error::Cancelled`](tokapi_storage::error::Error::Cancelled).
    pub fn prune(&mut self, bm25: &Bm25, prune: &Prune) -> Result<()> {
        bm25.check()?;
        if prune.keeps_all() {
            return Ok(());
        }
        let norms = self.norms(bm25);
        let Collection {
            parts,
            lexicon,
            statistics,
            pool,
            progress,
            ..
        } = self;
        let weigher = Weigher {
            bm25,
            norms: &norms,
            df: &lexicon.df,
            statistics,
        };
        pool.install(|| {
            parts.par_iter_mut().try_for_each(|part| {
                progress.check()?;
                let weights = weigher.part(part);
                let keep = prune.mask(&part.postings, &weights, part.documents);
                part.postings.retain(&keep);
                Ok(())
            })
        })
    }

    /// L of every document.
    fn norms(&self, bm25: &Bm25) -> Vec<f64> {
        self.documents.norms(bm25, &self.statistics)
    }
}

/// The inputs of a weight beside the posting itself.
struct Weigher<'a> {
    bm25: &'a Bm25,
    norms: &'a [f64],
    df: &'a [u64],
    statistics: &'a Statistics,
}

impl Weigher<'_> {
    fn idf(&self, term: usize) -> f64 {
        self.bm25.idf(self.statistics.documents, self.df[term])
    }

    /// The weight of every posting of a part.
    fn part(&self, part: &Part) -> Vec<f32> {
        let postings = &part.postings;
        let tfs = postings.frequencies.expand(0..postings.len());
        let norms = &self.norms[part.first as usize..];
        let mut weights = vec![0.0; postings.len()];
        for (term, &id) in part.term_ids.iter().enumerate() {
            let range = postings.range(term);
            let (documents, tfs) = (&postings.documents[range.clone()], &tfs[range.clone()]);
            self.bm25.weigh(
                self.idf(id as usize),
                documents,
                tfs,
                norms,
                &mut weights[range],
            );
        }
        weights
    }
}
