//! Builds an index from documents in one call.

use std::path::{Path, PathBuf};

use super::{IndexOptions, Replaced};
use crate::Index;
use crate::build::{Built, Contents};
use crate::manifest::Keep;
use crate::reorder::{Reorder, Reordering};
use tokapi_storage::error::Result;
use tokapi_storage::memory::Memory;
use tokapi_storage::progress::Progress;
use tokapi_storage::scratch::ScratchOptions;
use tokapi_text::analyze::Analyzer;
use tokapi_text::corpus::Corpus;
use tokapi_weigh::collection::{BuildOptions, Storage, Stored};
use tokapi_weigh::formula::Bm25;

/// Builds an index from documents: whole or not at all.
///
/// ```
/// # use tokapi_index::IndexBuilder;
/// # use tokapi_text::corpus::{Corpus, CorpusOptions};
/// # fn main() -> tokapi_storage::error::Result<()> {
/// # let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/cranfield/docs.jsonl.zst");
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("index");
/// let corpus = Corpus::open(&[docs], CorpusOptions::default())?;
/// let built = IndexBuilder::new(&path)
///     .store(true)
///     .field("author")
///     .positions(true)
///     .build(corpus)?;
/// assert_eq!(built.statistics.documents, 1400);
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct IndexBuilder {
    path: PathBuf,
    keep: Keep,
    impacts: Option<Bm25>,
    reorder: Option<Reorder>,
    replaced: Option<Replaced>,
    memory: Option<Memory>,
    scratch: ScratchOptions,
    options: BuildOptions,
    progress: Option<Progress>,
}

impl IndexBuilder {
    /// A new index in the folder `path`, with postings only.
    pub fn new(path: impl AsRef<Path>) -> Self {
        IndexBuilder {
            path: path.as_ref().to_path_buf(),
            ..IndexBuilder::default()
        }
    }

    /// Keeps the texts of documents, for snippets. A second pass over the documents reads them;
    /// input that can be read only once is first copied to a file beside the index.
    pub fn store(mut self, store: bool) -> Self {
        self.keep.text = store;
        self
    }

    /// Keeps a field, for filters and for display.
    pub fn field(mut self, name: impl Into<String>) -> Self {
        self.keep.fields.push(name.into());
        self
    }

    /// Keeps the order of terms, for phrases.
    pub fn positions(mut self, positions: bool) -> Self {
        self.keep.positions = positions;
        self
    }

    /// Keeps exactly the data that `keep` names.
    pub fn keep(mut self, keep: Keep) -> Self {
        self.keep = keep;
        self
    }

    /// Weighs every posting by `bm25` at build time, and stores the weights, quantised to 8 bits,
    /// instead of tfs. Scores are then sums of these weights, and no other formula is possible.
    /// Every weight depends on N and df, so documents can be neither added nor deleted.
    pub fn impacts(mut self, bm25: impl Into<Option<Bm25>>) -> Self {
        self.impacts = bm25.into();
        self
    }

    /// Reorders the documents. The index takes twice the space while it is being written.
    pub fn reorder(mut self, by: impl Into<Option<Reorder>>) -> Self {
        self.reorder = by.into();
        self
    }

    /// Replaces an existing index.
    pub fn replace(mut self, replaced: impl Into<Option<Replaced>>) -> Self {
        self.replaced = replaced.into();
        self
    }

    /// Limits the memory; the available memory unless given.
    pub fn memory(mut self, memory: Memory) -> Self {
        self.memory = Some(memory);
        self
    }

    /// Sets the folders for scratch files, used if the memory is too small; the folder of the
    /// index unless given.
    pub fn scratch(mut self, scratch: ScratchOptions) -> Self {
        self.scratch = scratch;
        self
    }

    /// Sets the number of threads; 0 means one a processor.
    pub fn threads(mut self, threads: usize) -> Self {
        self.options.threads = threads;
        self
    }

    /// Sets the analyzer of the text.
    pub fn analyzer(mut self, analyzer: impl Into<Analyzer>) -> Self {
        self.options.analyzer = analyzer.into();
        self
    }

    /// Sets the options for reading and inverting documents, analyzer and threads included.
    pub fn options(mut self, options: BuildOptions) -> Self {
        self.options = options;
        self
    }

    /// Reports to `progress`, and stops if that is cancelled; the `progress` of the corpus unless
    /// given.
    pub fn progress(mut self, progress: Progress) -> Self {
        self.progress = Some(progress);
        self
    }

    /// Reads the documents of `corpus` and writes the index.
    ///
    /// # Errors
    /// Something exists at the path and may not be replaced; a document cannot be read and errors
    /// are not skipped; an input changes meanwhile; files cannot be written; there is too little
    /// memory; the parameters of impacts are out of range, or give a term no weight above 0; the
    /// build is cancelled.
    pub fn build(self, mut corpus: Corpus) -> Result<Built> {
        let memory = self.memory.unwrap_or_else(Memory::available);
        if let Some(progress) = self.progress {
            corpus = corpus.with_progress(progress);
        }
        if self.replaced.is_none() {
            Index::check_new(&self.path)?;
        }
        let storage = Storage::new(memory)
            .scratch(self.scratch)
            .output(self.path.clone());
        let contents = Contents::prepare(&mut corpus, &self.keep, &self.options, &storage)?;
        let stored = Stored::build(corpus, &self.options, &storage)?;
        let mut built = Built::of(&stored);
        let reordering = self.reorder.map(|by| {
            Reordering::new(by)
                .memory(memory)
                .threads(stored.threads())
                .progress(stored.progress().clone())
        });
        let options = IndexOptions {
            contents,
            reorder: reordering.as_ref(),
            impacts: self.impacts,
            replaced: self.replaced,
            memory: Some(memory),
        };
        built.written = Index::build_with(stored, &self.path, options)?;
        Ok(built)
    }
}
