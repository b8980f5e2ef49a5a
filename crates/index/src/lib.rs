//! An index on disk: the postings of a collection, ready to be searched.
//!
//! An index is a folder of immutable parts, mapped into memory, and a manifest that names them. [`crate::query`]
//! answers queries from it.
//!
//! The modules, each of which uses only those above it:
//!
//! | module | subject |
//! |---|---|
//! | `part` | the files of a part, written and read |
//! | `manifest`, `folder`, `document` | the parts of an index, its lock, the records of stored documents |
//! | `weighing` | the weights of postings and their bounds |
//! | `walk` | the lists of several parts as those of one |
//! | `parts` | these lists for programs that copy them, range by range |
//! | `build` | an inverted collection becomes a part |
//! | `reorder` | a part with its documents in another order |
//! | `create`, `update` | new indexes; documents added and deleted, parts merged |
//! | `exchange` | CIFF and bm25s |
//! | `query`, [`eval`] | search, and measures of its effectiveness |
//!
//! [`Index`] and [`IndexBuilder`] have examples.

mod build;
mod check;
mod create;
mod document;
pub mod eval;
mod exchange;
mod folder;
mod forge;
mod manifest;
mod part;
#[doc(hidden)]
pub mod parts;
pub mod query;
mod reorder;
mod update;
mod walk;
pub mod weighing;
mod wide;

pub use build::Built;
#[doc(hidden)]
pub use build::Contents;
pub use check::Checked;
#[doc(hidden)]
pub use create::IndexOptions;
pub use create::{IndexBuilder, Replaced};
pub use document::{StoredDocument, StoredValue};
pub use exchange::{Exported, ImportOptions, is_ciff};
pub use folder::LeftOver;
#[doc(hidden)]
pub use forge::forge;
pub use manifest::{Impacts, Keep};
pub use reorder::{Reorder, Reordering};
pub use update::{
    AddOptions, Added, Appended, Deletion, IndexWriter, Missing, Prepared, Repeated, Transaction,
};

use std::path::{Path, PathBuf};

use manifest::Manifest;
use manifest::epoch::Hold;
use part::Part;
use part::file;
use part::note::PartNote;
use part::window::Window;
use parts::{PartLists, TermRange};
use tokapi_storage::error::{Error, Result};
use tokapi_storage::memory::Memory;
use tokapi_text::analyze::Analyzer;
use tokapi_weigh::formula::Statistics;

/// An index, opened for reading.
///
/// ```
/// # use tokapi_index::query::{Query, SearchOptions};
/// # use tokapi_index::{Index, IndexBuilder};
/// # use tokapi_text::corpus::{Corpus, CorpusOptions, Document, Value};
/// # fn main() -> tokapi_storage::error::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("index");
/// let documents = [
///     Document::new("a", "Boundary layers").field("year", 1904.0),
///     Document::new("b", "Wing flow").field("year", 1957.0),
/// ];
/// let corpus = Corpus::from_documents(documents, CorpusOptions::default());
/// IndexBuilder::new(&path).store(true).field("year").build(corpus)?;
///
/// let index = Index::open(&path)?;
/// assert_eq!((index.info().postings, index.check()?.terms), (4, 4));
/// let query = Query::any(index.analyzer().terms("flow over wings"));
/// let hits = index.search(&query, &SearchOptions::default())?;
/// assert_eq!(index.id(hits[0].document)?, "b");
/// let found = index.document(hits[0].document)?;
/// assert_eq!(found.text.as_deref(), Some("Wing flow"));
/// let (name, values) = &found.fields[0];
/// assert_eq!((name.as_str(), values[0].text.as_str()), ("year", "1957"));
/// assert_eq!(values[0].value(), Value::Number(1957.0));
/// let explained = index.explain(&query, &SearchOptions::default(), hits[0].document)?;
/// assert_eq!((explained.terms[0].term.as_str(), explained.terms[0].df), ("flow", 1));
/// # Ok(())
/// # }
/// ```
pub struct Index {
    path: PathBuf,
    epoch: u64,
    /// Keeps its files.
    _hold: Hold,
    analyzer: Analyzer,
    parts: Vec<Part>,
    /// The number of documents ever added.
    added: u64,
    statistics: Statistics,
    keep: Keep,
    impacts: Option<Impacts>,
    attachment: Option<String>,
    /// The memory for a walk through the whole index; the available memory unless given.
    memory: Option<Memory>,
}

/// The size of an index.
///
/// [`Index`] has an example.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct IndexInfo {
    /// N and the total length.
    pub statistics: Statistics,
    /// Deleted documents that still take space.
    pub deleted: u64,
    /// Distinct (term, document) pairs, including those of deleted documents.
    pub postings: u64,
    /// The sum of the numbers of terms of all parts.
    pub terms: u64,
    /// The number of parts.
    pub parts: usize,
    /// The total size in bytes of the files of each name.
    pub files: Vec<(&'static str, u64)>,
    /// The analyzer, in words.
    pub analyzer: String,
    /// The data of documents that the index keeps besides postings.
    pub keep: Keep,
    /// The formula of its impacts, if it has impacts.
    pub impacts: Option<Impacts>,
    /// Files left in its folder by interrupted changes.
    pub left_over: LeftOver,
}

/// Some postings of a term.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ListPiece<'a> {
    /// The term.
    pub term: &'a [u8],
    /// The numbers of documents, ascending.
    pub documents: &'a [u32],
    /// The tf of the term in each document.
    pub tfs: &'a [u32],
    /// Whether these are the last postings of the term.
    pub is_last: bool,
}

impl Index {
    /// Opens the index in the folder `path`.
    ///
    /// # Errors
    /// There is no index; it has another version or is damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Index::open_with(path.as_ref(), &Window::default())
    }

    /// Opens the index as [`Index::open`] does, for a walk through all of it: `memory` limits its
    /// pages in memory. Queries work too, but are slower.
    ///
    /// # Errors
    /// As [`Index::open`].
    pub fn open_within(path: impl AsRef<Path>, memory: &Memory) -> Result<Self> {
        let mut index = Index::open_with(path.as_ref(), &Window::within(memory))?;
        index.memory = Some(*memory);
        Ok(index)
    }

    /// Opens the index as it was at `epoch`: the newest one, or an earlier one that somebody has open.
    ///
    /// # Errors
    /// As [`Index::open`]; the epoch is not there.
    pub fn open_at(path: impl AsRef<Path>, epoch: u64) -> Result<Self> {
        let path = path.as_ref();
        let (manifest, hold) = Manifest::hold_at(path, epoch)?;
        Index::of_manifest(path, &manifest, hold, |note| {
            Part::open(path, note, &Window::default())
        })
    }

    /// Opens the newest state of the index. The files that both states have are shared: they are neither opened nor
    /// checked again.
    ///
    /// # Errors
    /// As [`Index::open`].
    pub fn open_again(&self) -> Result<Self> {
        Index::newest(&self.path, |note| {
            let known = self.parts.iter().find(|part| part.note.name == note.name);
            match known {
                Some(part) => part.open_again(&self.path, note, &Window::default()),
                None => Part::open(&self.path, note, &Window::default()),
            }
        })
    }

    fn open_with(path: &Path, window: &Window) -> Result<Self> {
        Index::newest(path, |note| Part::open(path, note, window))
    }

    /// Opens the newest state of an index, each part by `open`.
    fn newest(path: &Path, open: impl Fn(&PartNote) -> Result<Part>) -> Result<Self> {
        let mut tried = None;
        loop {
            let (manifest, hold) = Manifest::hold(path)?;
            match Index::of_manifest(path, &manifest, hold, &open) {
                // On a file system without locks, the parts may have been merged meanwhile.
                Err(_) if tried != Some(manifest.epoch) => tried = Some(manifest.epoch),
                opened => return opened,
            }
        }
    }

    fn of_manifest(
        path: &Path,
        manifest: &Manifest,
        hold: Hold,
        open: impl Fn(&PartNote) -> Result<Part>,
    ) -> Result<Self> {
        let analyzer = Analyzer::new(&manifest.analyzer)?;
        let parts = manifest.parts.iter();
        let parts: Vec<Part> = parts.map(open).collect::<Result<_>>()?;
        let keep = manifest.keep.clone();
        if !parts.iter().all(|part| keep.is_kept_by(part)) {
            return Err(file::damaged(path, "a part lacks what the others keep"));
        }
        Ok(Index {
            path: path.to_path_buf(),
            epoch: manifest.epoch,
            _hold: hold,
            analyzer,
            parts,
            added: manifest.added,
            statistics: manifest.live(),
            keep,
            impacts: manifest.impacts,
            attachment: manifest.attachment.clone(),
            memory: None,
        })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of its state: each committed change has the next number. An index of former versions has 0.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The analyzer of its terms.
    pub fn analyzer(&self) -> &Analyzer {
        &self.analyzer
    }

    /// N and the total length.
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }

    /// The data of documents that it keeps besides postings.
    pub fn keep(&self) -> &Keep {
        &self.keep
    }

    /// The text that [`Transaction::attach`] has attached to it.
    pub fn attachment(&self) -> Option<&str> {
        self.attachment.as_deref()
    }

    /// The formula of its impacts, if it stores impacts instead of tfs.
    pub fn impacts(&self) -> Option<&Impacts> {
        self.impacts.as_ref()
    }

    /// The size of the index.
    pub fn info(&self) -> IndexInfo {
        let mut files: Vec<(&'static str, u64)> = Vec::new();
        for part in &self.parts {
            for (name, file) in part.files() {
                let bytes = file.file_bytes();
                match files.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, sum)) => *sum += bytes,
                    None => files.push((name, bytes)),
                }
            }
        }
        IndexInfo {
            statistics: self.statistics,
            deleted: self.numbered() - self.statistics.documents,
            postings: self.parts.iter().map(|part| part.note.postings).sum(),
            terms: self.parts.iter().map(|part| part.note.terms).sum(),
            parts: self.parts.len(),
            files,
            analyzer: self.analyzer.description(),
            keep: self.keep.clone(),
            impacts: self.impacts,
            left_over: LeftOver::of(&self.path),
        }
    }

    /// The number of documents that have a term.
    ///
    /// # Errors
    /// The index is damaged.
    pub fn df(&self, term: &str) -> Result<u64> {
        let mut df = 0;
        for part in &self.parts {
            if let Some(found) = part.find(term.as_bytes())? {
                df += part.live_df(&found)?;
            }
        }
        Ok(df)
    }

    /// Passes every term of at least one document, ascending, and its df to `each`.
    ///
    /// # Errors
    /// The index is damaged.
    pub fn each_term(&self, each: impl FnMut(&[u8], u64)) -> Result<()> {
        PartLists::of(self, |_| true)?.each_term(&TermRange::default(), each)
    }

    /// Calls `wants` with every term, ascending, and its df. If `wants` returns true, passes the
    /// postings of the term to `each` in pieces of at most `room`.
    ///
    /// # Errors
    /// The index is damaged; an error of `each`.
    pub fn each_list<E: From<Error>>(
        &self,
        room: usize,
        wants: impl FnMut(&[u8], u64) -> bool,
        each: impl FnMut(ListPiece<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        PartLists::of(self, |_| true)?.each_list(&TermRange::default(), room, wants, each)
    }

    /// The length of every document by its number, deleted documents included.
    ///
    /// # Errors
    /// The index is damaged.
    pub fn lengths(&self) -> Result<Vec<u32>> {
        let mut lengths = Vec::new();
        for part in &self.parts {
            lengths.extend_from_slice(part.all_lengths()?);
        }
        Ok(lengths)
    }

    /// The memory for a walk through the whole index.
    pub(crate) fn memory(&self) -> Memory {
        self.memory.unwrap_or_else(Memory::available)
    }

    /// Its parts.
    pub(crate) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The number of the part that has a document, and the document's number in that part.
    pub(crate) fn locate(&self, document: u64) -> Result<(usize, u32)> {
        let mut number = document;
        for (place, part) in self.parts.iter().enumerate() {
            match number.checked_sub(part.note.documents) {
                Some(later) => number = later,
                // A part has fewer than 2^32.
                None => return Ok((place, number as u32)),
            }
        }
        Err(Error::Usage(format!(
            "there is no document {document}; the index has numbered {}",
            self.numbered()
        )))
    }

    /// The sequence number of a document: documents are numbered in the order of addition, from 0 on. Additions,
    /// deletions and merges do not change the numbers; reordering gives them to the documents in their new order.
    ///
    /// # Errors
    /// The document does not exist; the index is damaged.
    pub fn sequence(&self, document: u64) -> Result<u64> {
        let (part, document) = self.locate(document)?;
        self.parts[part].sequences().of(document)
    }

    /// The number of the document with this id, unless it is deleted.
    ///
    /// # Errors
    /// The index is damaged.
    pub fn find(&self, id: &str) -> Result<Option<u64>> {
        let mut first = 0;
        for part in &self.parts {
            if let Some(document) = part.find_id(id.as_bytes())?
                && !part.is_deleted(document)?
            {
                return Ok(Some(first + u64::from(document)));
            }
            first += part.note.documents;
        }
        Ok(None)
    }

    /// The number of document numbers in use, deleted documents included.
    pub fn numbered(&self) -> u64 {
        self.parts.iter().map(|part| part.note.documents).sum()
    }
}
