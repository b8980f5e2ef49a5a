//! An index that changes: documents are added as new parts, deleted by new lists of what is no more,
//! and parts are merged, while others search.
//!
//! Whatever is new is written beside what is there and synced; then the manifest takes the place of
//! the one before, and that is the moment of change. A process that is killed leaves the state before,
//! and perhaps files that no manifest names; whoever writes next removes them.

use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use hashbrown::{HashMap, HashSet};

use super::folder::{lock, sweep};
use super::manifest::{MANIFEST, Manifest};
use super::part::Part;
use super::state::{InPart, Shared};
use super::walk::Renumbered;
use super::{Contents, Keep, Reordering, build, merge};
use crate::analyze::Analyzer;
use crate::collection::Stored;
use crate::error::{Error, Result};
use crate::output::sync_folder;
use crate::pipeline::StageTimes;

/// Ids that are sought at a time.
const BATCH_IDS: u32 = 1 << 22;

/// An index that can be changed: by one process at a time, while others search what was committed last.
///
/// Parts are merged in the background, as their sizes demand.
pub struct IndexWriter {
    shared: Arc<Shared>,
    merging: Option<JoinHandle<Result<()>>>,
    /// Why parts could not be merged.
    failed: Option<Error>,
}

/// What becomes of a new document whose id is in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Repeated {
    /// Nothing is added.
    #[default]
    Stop,
    /// The one that is in the index stays.
    Skip,
    /// It takes the place of the other, at the same moment.
    Replace,
}

/// What was added.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Appended {
    /// New documents.
    pub documents: u64,
    /// Documents whose id was in the index already: left out, or replaced.
    pub repeated: u64,
    /// Where the time went.
    pub times: StageTimes,
}

/// What was deleted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Deletion {
    /// Documents.
    pub documents: u64,
    /// The ids that no document has.
    pub unknown: Vec<String>,
}

impl IndexWriter {
    /// Opens the index in the folder `path` for changes, merged on `threads` threads.
    ///
    /// # Errors
    /// There is no index; it is damaged; it has impacts, which any change would make wrong; another process
    /// changes it.
    pub fn open(path: &Path, threads: usize) -> Result<Self> {
        if let Some(impacts) = Manifest::read(path)?.impacts {
            return Err(Error::Index {
                path: path.to_path_buf(),
                what: format!(
                    "its weights were computed by {} for all its documents, and would be others with other \
                     documents; build a new index, or one without impacts",
                    impacts.bm25
                ),
            });
        }
        let lock = lock(path)?;
        // As it is now that nobody else changes it.
        let manifest = Manifest::read(path)?;
        sweep(path, &manifest);
        Ok(IndexWriter {
            shared: Arc::new(Shared {
                path: path.to_path_buf(),
                threads: threads.max(1),
                names: AtomicU64::new(manifest.names),
                manifest: Mutex::new(manifest),
                merged: Arc::default(),
                _lock: lock,
            }),
            merging: None,
            failed: None,
        })
    }

    /// The analyzer that cut the terms of the index; what is added must be cut in the same way.
    ///
    /// # Errors
    /// It is one that this program does not know.
    pub fn analyzer(&self) -> Result<Analyzer> {
        Analyzer::new(&self.shared.manifest().analyzer)
    }

    /// What the index keeps of its documents besides postings; what is added must keep the same.
    pub fn keep(&self) -> Keep {
        self.shared.manifest().keep.clone()
    }

    /// Adds the documents of `collection` as a new part, all or none. Where the index keeps something of
    /// them besides postings, `contents` give that.
    ///
    /// # Errors
    /// An id that is in the index, where that stops; files cannot be written or read.
    pub fn append(
        &mut self,
        collection: impl Into<Stored>,
        contents: Option<Contents<'_>>,
        repeated: Repeated,
    ) -> Result<Appended> {
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
        let stored = collection.into();
        let read = stored.documents_read();
        let (mut note, times) = build::write_part(stored, &folder.path, first)?;
        note.name.clone_from(&folder.name);
        if let Some(contents) = contents {
            contents.write(&folder.path, &mut note, first, read, &self.analyzer()?)?;
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
        let new = Part::open(&shared.path, &note)?;
        let parts = shared.open_parts(&next)?;
        let known = ids_of(&new, &parts)?;
        appended.repeated = known.new.len() as u64;
        match repeated {
            _ if known.new.is_empty() => {}
            Repeated::Stop => {
                let id = String::from_utf8_lossy(new.id(known.new[0])?).into_owned();
                return Err(Error::Usage(format!(
                    "{}: there is a document {id:?} in the index, and {} more of the new ones; nothing was added",
                    shared.path.display(),
                    known.new.len() - 1,
                )));
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

    /// Deletes the documents with these ids.
    ///
    /// # Errors
    /// Files cannot be written or read.
    pub fn delete<'a>(&mut self, ids: impl IntoIterator<Item = &'a str>) -> Result<Deletion> {
        let shared = Arc::clone(&self.shared);
        let mut manifest = shared.manifest();
        let mut next = manifest.clone();
        let parts = shared.open_parts(&next)?;
        let mut unknown: HashSet<&[u8]> = ids.into_iter().map(str::as_bytes).collect();
        let mut found: Vec<InPart> = Vec::new();
        for (number, part) in parts.iter().enumerate() {
            let live = live(part)?;
            let mut documents = Vec::new();
            let mut ids = part.ids(0..part.documents())?;
            while let Some((document, id)) = ids.next()? {
                if unknown.contains(id) && live.of(document).is_some() {
                    unknown.remove(id);
                    documents.push(document);
                }
            }
            found.push((number, documents));
        }
        let mut unknown: Vec<String> = unknown
            .into_iter()
            .map(|id| String::from_utf8_lossy(id).into_owned())
            .collect();
        unknown.sort_unstable();
        let documents = found.iter().map(|(_, documents)| documents.len() as u64);
        let deletion = Deletion {
            documents: documents.sum(),
            unknown,
        };
        if deletion.documents > 0 {
            shared.mark_deleted(&mut next, &parts, &found)?;
            shared.commit(&mut manifest, next)?;
            drop(manifest);
            self.start_merging();
        }
        Ok(deletion)
    }

    /// Merges all parts into one, without what is deleted; or as few as a part can hold.
    ///
    /// # Errors
    /// Files cannot be written or read.
    pub fn merge(&mut self) -> Result<()> {
        self.wait()?;
        let mut from = 0;
        loop {
            let merged = self.shared.merge(|parts| {
                let rest = &parts[from..];
                let fits = |&count: &usize| merge::sum_fits(&rest[..count]);
                let count = (1..=rest.len()).rev().find(fits)?;
                let is_one = count == 1 && rest[0].deleted.is_none();
                (!is_one).then_some(from..from + count)
            })?;
            let parts = self.shared.manifest().parts.len();
            // What was merged may have been all deleted.
            if !merged || parts > from {
                from += 1;
            }
            if from >= parts {
                return Ok(());
            }
        }
    }

    /// Merges all parts into one, and puts its documents in another order. What is added later comes behind
    /// them, as it is given.
    ///
    /// # Errors
    /// As [`IndexWriter::merge`]; there is too little memory for the order. The parts may have been merged then.
    pub fn reorder(&mut self, how: &Reordering<'_>) -> Result<()> {
        self.merge()?;
        let parts = self.shared.manifest().parts.clone();
        parts
            .iter()
            .try_for_each(|part| self.shared.reorder(part, how))
    }

    /// The postings that have been merged so far, to be followed.
    pub fn merged_postings(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.shared.merged)
    }

    /// Waits until no parts are merged any more.
    ///
    /// # Errors
    /// Files cannot be written or read. What was added and deleted is in the index nevertheless.
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

    /// Merges what is worth it in the background, unless that is being done. What goes wrong is for
    /// [`IndexWriter::wait`] to tell: the change before has happened.
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
        let merge = move || {
            while shared.merge(merge::worth_merging)? {}
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
        // Whoever wants to know how it ends calls `wait`.
        let _ = self.merging.take().map(JoinHandle::join);
    }
}

/// Documents that others have the ids of.
#[derive(Default)]
struct Known {
    /// In the new part, ascending.
    new: Vec<u32>,
    /// In each of the old ones.
    old: Vec<InPart>,
}

/// The documents of `parts` that are not deleted and have the id of one in `new`, and these.
fn ids_of(new: &Part, parts: &[Part]) -> Result<Known> {
    let mut known = Known {
        new: Vec::new(),
        old: (0..parts.len()).map(|part| (part, Vec::new())).collect(),
    };
    let mut from = 0;
    while from < new.documents() {
        let end = new.documents().min(from.saturating_add(BATCH_IDS));
        let mut ids: HashMap<&[u8], u32> = HashMap::with_capacity((end - from) as usize);
        let mut of_new = new.ids(from..end)?;
        while let Some((document, id)) = of_new.next()? {
            ids.insert(id, document);
        }
        for (part, (_, old)) in parts.iter().zip(&mut known.old) {
            let live = live(part)?;
            let mut of_part = part.ids(0..part.documents())?;
            while let Some((document, id)) = of_part.next()? {
                if let Some(&repeat) = ids.get(id)
                    && live.of(document).is_some()
                {
                    known.new.push(repeat);
                    old.push(document);
                }
            }
        }
        from = end;
    }
    known.new.sort_unstable();
    Ok(known)
}

/// Which documents of a part are not deleted.
fn live(part: &Part) -> Result<Renumbered> {
    let mut all = Renumbered::all(std::slice::from_ref(part))?;
    Ok(all.remove(0))
}
