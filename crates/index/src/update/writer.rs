//! The writer of an index.

use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use super::change::{AddOptions, Added, Appended, Deletion, Missing, Repeated};
use super::ids::{IdSet, InPart, ids_of};
use super::merge;
use super::state::Shared;
use crate::build::{self, Built, Contents};
use crate::folder::{lock, sweep};
use crate::manifest::Keep;
use crate::manifest::{MANIFEST, Manifest};
use crate::part::window::Window;
use crate::reorder::Reordering;
use tokapi_storage::error::{Error, Place, Position, Result};
use tokapi_storage::memory::Memory;
use tokapi_storage::progress::{Progress, Stage};
use tokapi_storage::whole::sync_folder;
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
    merging: Option<JoinHandle<Result<()>>>,
    /// The error of the last background merge.
    failed: Option<Error>,
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
        sweep(path, &manifest);
        Ok(IndexWriter {
            shared: Arc::new(Shared {
                path: path.to_path_buf(),
                threads: threads.max(1),
                memory,
                window: Window::within(&memory),
                names: AtomicU64::new(manifest.names),
                manifest: Mutex::new(manifest),
                _lock: lock,
            }),
            merging: None,
            failed: None,
            progress: None,
        })
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
        let mut corpus = match &self.progress {
            Some(progress) => corpus.with_progress(progress.clone()),
            None => corpus,
        };
        let storage = Storage::new(self.shared.memory)
            .scratch(options.scratch.clone())
            .output(self.shared.path.clone());
        let build = options.build.clone().analyzer(self.analyzer()?);
        let contents = Contents::prepare(&mut corpus, &self.keep(), &build, &storage)?;
        let stored = Stored::build(corpus, &build, &storage)?;
        let mut built = Built::of(&stored);
        let appended = self.append(stored, contents, options.repeated)?;
        built.written = appended.times;
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
        let stored = collection.into();
        let (analyzer, progress) = (self.analyzer()?, &stored.progress().clone());
        if stored.analyzer().options() != analyzer.options() {
            return Err(Error::Usage(format!(
                "{} has the analyzer ({analyzer}), and the new documents were cut by another ({}): read them with that \
                 of the index",
                self.shared.path.display(),
                stored.analyzer()
            )));
        }
        let shared = Arc::clone(&self.shared);
        let first = shared.manifest().added;
        let gives = contents.as_ref().map(Contents::keep);
        if gives.cloned().unwrap_or_default() != self.keep() {
            return Err(Error::Usage(format!(
                "{} keeps {}, and the new documents come with something else",
                shared.path.display(),
                self.keep()
            )));
        }
        let folder = shared.new_folder()?;
        let read = stored.documents_read();
        let (mut note, times) = build::write_part(stored, &folder.path, first)?;
        note.name.clone_from(&folder.name);
        if let Some(contents) = contents {
            contents.write(&folder.path, &mut note, first, read, &analyzer, progress)?;
        }
        sync_folder(&folder.path.join(MANIFEST));
        let mut appended = Appended {
            documents: note.documents,
            repeated: 0,
            times,
        };
        if note.documents == 0 {
            return Ok(appended);
        }
        let mut manifest = shared.manifest();
        let mut next = manifest.clone();
        next.added += note.documents;
        let new = shared.open_part(&note)?;
        let parts = shared.open_parts(&next)?;
        let known = ids_of(&new, &parts, &shared.memory, progress)?;
        appended.repeated = known.new.len() as u64;
        match repeated {
            _ if known.new.is_empty() => {}
            Repeated::Stop => {
                let id = String::from_utf8_lossy(new.id(known.new[0])?).into_owned();
                return Err(Error::Input {
                    place: Place {
                        path: shared.path.clone(),
                        position: Position::Whole,
                    },
                    what: format!(
                        "{} of {} new documents have an id that the index has already, the first of them {id:?}; \
                         nothing was added",
                        known.new.len(),
                        note.documents,
                    ),
                });
            }
            Repeated::Skip => {
                let gone = shared.write_deleted(&new, &folder.path, &known.new)?;
                appended.documents -= gone.documents;
                if appended.documents == 0 {
                    return Ok(appended);
                }
                note.deleted = Some(gone);
                sync_folder(&folder.path.join(MANIFEST));
            }
            Repeated::Replace => shared.mark_deleted(&mut next, &parts, &known.old)?,
        }
        next.parts.push(note);
        sync_folder(&folder.path);
        shared.commit(&mut manifest, next)?;
        folder.keep();
        drop(manifest);
        self.start_merging();
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
        let shared = Arc::clone(&self.shared);
        let progress = self.progress();
        let mut manifest = shared.manifest();
        let mut next = manifest.clone();
        let parts = shared.open_parts(&next)?;
        let mut found: Vec<InPart> = (0..parts.len()).map(|part| (part, Vec::new())).collect();
        let mut deletion = Deletion::default();
        let mut ids = ids.into_iter().peekable();
        while ids.peek().is_some() {
            let mut set = IdSet::default();
            while let Some(id) = ids.next_if(|_| !set.is_full(&shared.memory)) {
                set.insert(id.as_ref().as_bytes());
            }
            let mut is_known = vec![false; set.len()];
            for (part, (_, found)) in parts.iter().zip(&mut found) {
                set.each_in(part, &progress, |document, number| {
                    is_known[number as usize] = true;
                    found.push(document);
                })?;
            }
            let unknown = (0..set.len()).filter(|&number| !is_known[number]);
            deletion.unknown.extend(
                unknown.map(|number| String::from_utf8_lossy(set.get(number)).into_owned()),
            );
        }
        deletion.unknown.sort_unstable();
        // Several sets may have had the same id.
        deletion.unknown.dedup();
        for (_, found) in &mut found {
            found.sort_unstable();
            found.dedup();
            deletion.documents += found.len() as u64;
        }
        if missing == Missing::Stop && !deletion.unknown.is_empty() {
            return Err(Error::Damaged {
                path: shared.path.clone(),
                what: format!(
                    "there is no document {}; nothing was deleted",
                    named(&deletion.unknown)
                ),
            });
        }
        if deletion.documents > 0 {
            shared.mark_deleted(&mut next, &parts, &found)?;
            shared.commit(&mut manifest, next)?;
            drop(manifest);
            self.start_merging();
        }
        Ok(deletion)
    }

    /// Merges all parts into one, without deleted documents; into as few as possible if one part
    /// cannot hold all.
    ///
    /// # Errors
    /// Files cannot be written or read.
    pub fn merge(&mut self) -> Result<()> {
        self.wait()?;
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

    /// Waits for the end of all merges.
    ///
    /// # Errors
    /// Files cannot be read or written. Additions and deletions are committed nevertheless.
    pub fn wait(&mut self) -> Result<()> {
        let merged = self.merging.take().map(JoinHandle::join);
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        match merged {
            None => Ok(()),
            Some(Ok(result)) => result,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
        }
    }

    /// Starts a background merge if one is due and none is running. [`IndexWriter::wait`] returns
    /// its error, because the preceding change is committed already.
    fn start_merging(&mut self) {
        let is_running = |merging: &JoinHandle<_>| !merging.is_finished();
        if self.merging.as_ref().is_some_and(is_running) {
            return;
        }
        self.failed = self.wait().err();
        if self.failed.is_some() || merge::worth_merging(&self.shared.manifest().parts).is_none() {
            return;
        }
        let shared = Arc::clone(&self.shared);
        let progress = self.progress();
        let merge = move || {
            // Changes in the foreground may count postings meanwhile.
            while shared.merge(&progress, false, merge::worth_merging)? {}
            Ok(())
        };
        match std::thread::Builder::new().spawn(merge) {
            Ok(thread) => self.merging = Some(thread),
            Err(error) => {
                self.failed = Some(Error::Limit(format!("cannot start a thread: {error}")));
            }
        }
    }
}

impl Drop for IndexWriter {
    fn drop(&mut self) {
        // A caller learns the result from `wait`.
        let _ = self.merging.take().map(JoinHandle::join);
    }
}

/// A list of ids for a message: the first of them, and the number of further ones.
fn named(ids: &[String]) -> String {
    const NAMED: usize = 5;
    let first: Vec<String> = ids.iter().take(NAMED).map(|id| format!("{id:?}")).collect();
    let first = first.join(", ");
    match ids.len().saturating_sub(NAMED) {
        0 => first,
        more => format!("{first} nor {more} more"),
    }
}
