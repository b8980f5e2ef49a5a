//! The writer of an index.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::change::{AddOptions, Added, Appended, Deletion, Missing, Repeated};
use super::merge;
use super::merging::Merging;
use super::prepared::Prepared;
use super::state::Shared;
use super::transaction::Transaction;
use crate::build::Contents;
use crate::folder::{lock, sweep};
use crate::manifest::{Keep, Manifest};
use crate::part::window::Window;
use crate::reorder::Reordering;
use tokapi_storage::error::{Error, Result};
use tokapi_storage::memory::Memory;
use tokapi_storage::progress::{Progress, Stage};
use tokapi_text::analyze::Analyzer;
use tokapi_text::corpus::Corpus;
use tokapi_weigh::collection::{Storage, Stored};

/// An index that can be changed by one process at a time. Other processes search the last
/// committed state.
///
/// Parts are merged in the background, depending on their sizes.
///
/// ```
/// # use tokapi_index::{AddOptions, IndexBuilder, IndexWriter, Missing, Reorder, Reordering, Repeated};
/// # use tokapi_text::corpus::{Corpus, CorpusOptions, Document};
/// # fn main() -> tokapi_storage::error::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("index");
/// # let corpus = |documents: [Document; 1]| Corpus::from_documents(documents, CorpusOptions::default());
/// IndexBuilder::new(&path).build(corpus([Document::new("a", "Boundary layers")]))?;
///
/// let mut writer = IndexWriter::open(&path, 2)?;
/// let options = AddOptions::default().repeated(Repeated::Replace);
/// let added = writer.add(corpus([Document::new("b", "Wing flow")]), &options)?;
/// assert_eq!((added.documents, added.repeated), (1, 0));
/// let deletion = writer.delete(["a", "z"], Missing::Ignore)?;
/// assert_eq!((deletion.documents, deletion.unknown), (1, vec!["z".to_owned()]));
/// writer.reorder(&Reordering::new(Reorder::Id))?;
/// writer.wait()?;
/// # Ok(())
/// # }
/// ```
pub struct IndexWriter {
    shared: Arc<Shared>,
    merging: Merging,
    progress: Option<Progress>,
}

impl IndexWriter {
    /// Opens the index in the folder `path` for changes. Merges run on `threads` threads.
    ///
    /// # Errors
    /// There is no index; it is damaged; it stores impacts, which no change can keep valid;
    /// another process is changing it.
    pub fn open(path: &Path, threads: usize) -> Result<Self> {
        IndexWriter::open_within(path, threads, Memory::available())
    }

    /// As [`IndexWriter::open`]; changes stay within `memory`.
    ///
    /// # Errors
    /// As [`IndexWriter::open`].
    pub fn open_within(path: &Path, threads: usize, memory: Memory) -> Result<Self> {
        if let Some(impacts) = Manifest::read(path)?.impacts {
            return Err(Error::Usage(format!(
                "{}: its weights were computed by {} for all its documents, and would be others with other documents; \
                 build a new index, or one without impacts",
                path.display(),
                impacts.bm25
            )));
        }
        let lock = lock(path)?;
        // The state of the index now that it is locked.
        let manifest = Manifest::read(path)?;
        let earlier = Mutex::new(sweep(path, &manifest));
        let shared = Arc::new(Shared {
            path: path.to_path_buf(),
            threads: threads.max(1),
            memory,
            window: Window::within(&memory),
            names: AtomicU64::new(manifest.names),
            manifest: Mutex::new(manifest),
            earlier,
            _lock: lock,
        });
        Ok(IndexWriter {
            merging: Merging::of(&shared),
            shared,
            progress: None,
        })
    }

    /// Goes on from the newest state of the index after an [`Error::Busy`] of a change: another process, on a file system
    /// without locks, has changed the index too.
    ///
    /// # Errors
    /// The index is damaged.
    pub fn open_again(&mut self) -> Result<()> {
        // Nobody needs its error: what could not be merged is merged later.
        let _ = self.wait();
        let newest = Manifest::read(&self.shared.path)?;
        let mut manifest = self.shared.manifest();
        let earlier = sweep(&self.shared.path, &newest);
        *self.shared.earlier() = earlier;
        self.shared.names.fetch_max(newest.names, Ordering::Relaxed);
        *manifest = newest;
        Ok(())
    }

    /// Reports to `progress`; the `progress` of added corpora is not used. A cancellation ends the
    /// current change and the background merge, and leaves the index unchanged.
    pub fn with_progress(mut self, progress: Progress) -> Self {
        self.progress = Some(progress);
        self
    }

    fn progress(&self) -> Progress {
        self.progress.clone().unwrap_or_default()
    }

    /// The analyzer of the index; new documents must use the same.
    ///
    /// # Errors
    /// This program does not know the analyzer.
    pub fn analyzer(&self) -> Result<Analyzer> {
        Analyzer::new(&self.shared.manifest().analyzer)
    }

    /// The data of documents that the index keeps besides postings; new documents must keep the
    /// same.
    pub fn keep(&self) -> Keep {
        self.shared.manifest().keep.clone()
    }

    /// Reads the documents of `corpus` and adds them, all or none. They are cut by the analyzer of
    /// the index and stored with all data that the index keeps.
    ///
    /// # Errors
    /// A document cannot be read and errors are not skipped; an id is in the index already and
    /// repeated ids are an error; an input changes meanwhile; files cannot be read or written; the
    /// addition is cancelled.
    pub fn add(&mut self, corpus: Corpus, options: &AddOptions) -> Result<Added> {
        let prepared = self.prepare(corpus, options)?;
        let built = prepared.built().clone();
        let appended = self.commit(prepared, options.repeated)?;
        Ok(Added {
            documents: appended.documents,
            repeated: appended.repeated,
            built,
        })
    }

    /// Adds the documents of `collection` as a new part, all or none. If the index keeps data of
    /// documents besides postings, `contents` supplies it.
    ///
    /// # Errors
    /// The collection has another analyzer; an id is in the index already and repeated ids are an
    /// error; files cannot be read or written; the addition is cancelled.
    pub fn append(
        &mut self,
        collection: impl Into<Stored>,
        contents: Option<Contents<'_>>,
        repeated: Repeated,
    ) -> Result<Appended> {
        let prepared = Prepared::write(&self.shared, collection.into(), contents)?;
        self.commit(prepared, repeated)
    }

    /// Writes the documents of `corpus` as [`IndexWriter::add`] does, without a commit: a [`Transaction`] adds them.
    /// Several threads may prepare documents at the same time.
    ///
    /// # Errors
    /// As [`IndexWriter::add`], except for repeated ids.
    pub fn prepare(&self, corpus: Corpus, options: &AddOptions) -> Result<Prepared> {
        let mut corpus = match &self.progress {
            Some(progress) => corpus.with_progress(progress.clone()),
            None => corpus,
        };
        let storage = Storage::new(self.shared.memory)
            .scratch(options.scratch.clone())
            .output(self.shared.path.clone());
        let build = options.build.clone().analyzer(self.analyzer()?);
        let mut keep = self.keep();
        for field in &options.fields {
            if !keep.fields.contains(field) {
                keep.fields.push(field.clone());
            }
        }
        let contents = Contents::prepare(&mut corpus, &keep, &build, &storage)?;
        let stored = Stored::build(corpus, &build, &storage)?;
        Prepared::write(&self.shared, stored, contents.map(Contents::added))
    }

    /// Begins changes that are committed together. Meanwhile, no merge ends.
    ///
    /// # Errors
    /// The index is damaged.
    pub fn begin(&mut self) -> Result<Transaction<'_>> {
        let progress = self.progress();
        Transaction::begin(&self.shared, &mut self.merging, progress)
    }

    /// The epoch of the index: the number of its last change.
    pub fn epoch(&self) -> u64 {
        self.shared.manifest().epoch
    }

    fn commit(&mut self, prepared: Prepared, repeated: Repeated) -> Result<Appended> {
        let mut appended = Appended {
            documents: prepared.documents(),
            repeated: 0,
            times: prepared.times(),
        };
        let mut transaction = self.begin()?;
        appended.repeated = transaction.add(prepared, repeated)?;
        if repeated == Repeated::Skip {
            appended.documents -= appended.repeated;
        }
        transaction.commit()?;
        Ok(appended)
    }

    /// Deletes the documents with these ids: all of them, or, depending on `missing`, those that
    /// exist.
    ///
    /// # Errors
    /// No document has one of the ids, and nothing was deleted; files cannot be read or written;
    /// the deletion is cancelled.
    pub fn delete(
        &mut self,
        ids: impl IntoIterator<Item: AsRef<str>>,
        missing: Missing,
    ) -> Result<Deletion> {
        let mut transaction = self.begin()?;
        let deletion = transaction.delete(ids, missing)?;
        transaction.commit()?;
        Ok(deletion)
    }

    /// Merges all parts into one, without deleted documents; into as few as possible if one part
    /// cannot hold all.
    ///
    /// # Errors
    /// Files cannot be written or read.
    pub fn merge(&mut self) -> Result<()> {
        // Parts that a merge in the background could not merge are merged now.
        let _ = self.wait();
        let manifest = self.shared.manifest().clone();
        let postings = manifest.parts.iter().map(|part| part.postings).sum();
        let progress = self.progress();
        progress.begin(Stage::Writing, postings);
        let mut from = 0;
        loop {
            let merged = self.shared.merge(&progress, true, |parts| {
                let rest = &parts[from..];
                let fits = |&count: &usize| merge::sum_fits(&rest[..count]);
                let count = (1..=rest.len()).rev().find(fits)?;
                let is_one = count == 1 && rest[0].deleted.is_none();
                (!is_one).then_some(from..from + count)
            })?;
            let parts = self.shared.manifest().parts.len();
            // All documents of the merged parts may have been deleted meanwhile.
            if !merged || parts > from {
                from += 1;
            }
            if from >= parts {
                return Ok(());
            }
        }
    }

    /// Merges all parts into one, and reorders its documents. Documents added later follow them in
    /// their own order.
    ///
    /// # Errors
    /// As [`IndexWriter::merge`]; there is too little memory for the order. The parts may have
    /// been merged before the error.
    pub fn reorder(&mut self, how: &Reordering) -> Result<()> {
        self.merge()?;
        let parts = self.shared.manifest().parts.clone();
        parts
            .iter()
            .try_for_each(|part| self.shared.reorder(part, how))
    }

    /// The error of a merge in the background that has failed since the last call. Later changes try again.
    pub fn failed_merge(&mut self) -> Option<Error> {
        self.merging.failed()
    }

    /// Waits for the end of all merges.
    ///
    /// # Errors
    /// Files cannot be read or written. Additions and deletions are committed nevertheless.
    pub fn wait(&mut self) -> Result<()> {
        self.merging.wait()
    }
}
