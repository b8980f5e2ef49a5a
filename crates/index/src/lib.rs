//! An index on disk: the postings of a collection, ready to be searched.
//!
//! A folder of immutable parts, mapped into memory, and a manifest that says which. Terms are found
//! by tries (`part.rs`), postings stand in blocks of 128 documents (`block.rs`), each with what bounds its
//! weights under any formula (`bounds.rs`). Every page of every file has a checksum that is
//! checked when the page is first touched (`file.rs`). [`crate::query`] answers queries from it.
//!
//! ```
//! use tokapi::{BuildOptions, Collection, Corpus, CorpusOptions, Index, analyze::Analyzer};
//! use tokapi::query::{Query, SearchOptions};
//!
//! # fn main() -> tokapi::Result<()> {
//! # let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/cranfield/docs.jsonl.zst");
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("index");
//! let corpus = Corpus::open(&[docs], CorpusOptions::default())?;
//! let analyzer = Analyzer::default();
//! let collection = Collection::build(corpus, &BuildOptions::default().analyzer(&analyzer))?;
//! Index::build(collection, &analyzer, &path)?;
//!
//! let index = Index::open(&path)?;
//! let query = Query::any(index.analyzer().terms("boundary layer flow"));
//! let hits = index.search(&query, &SearchOptions::default())?;
//! assert_eq!(hits.len(), 10);
//! # Ok(())
//! # }
//! ```

mod block;
mod bm25s;
mod bounds;
mod build;
mod check;
mod ciff;
mod contents;
mod create;
mod cursor;
mod deleted;
mod document;
mod encode;
pub mod eval;
mod fields;
mod file;
mod folder;
mod forge;
mod ids;
mod impacts;
mod keep;
mod layout;
mod lists;
mod live;
mod look_up;
mod manifest;
mod merge;
mod part;
pub mod query;
mod reorder;
mod retain;
mod shares;
mod sparse_set;
mod state;
mod store;
mod tokens;
mod update;
mod walk;
mod weigher;
pub mod weighing;
mod wide;
mod window;
mod writer;

pub(crate) use block::{BLOCK, Entry};
pub(crate) use bounds::{Point, tf_of};
pub use check::Checked;
pub use ciff::is_ciff;
pub use contents::Contents;
pub use create::{IndexOptions, Replaced};
pub(crate) use cursor::Cursor;
pub use document::{StoredDocument, StoredValue};
pub(crate) use fields::{MOST_VALUE_BYTES, key};
#[doc(hidden)]
pub use forge::forge;
pub use impacts::Impacts;
pub use keep::Keep;
pub(crate) use lists::Found;
pub use live::Exported;
pub(crate) use look_up::{LookUp, Posting};
pub(crate) use part::Part;
pub use reorder::{Reorder, ReorderProgress, Reordering};
pub use shares::Source;
pub(crate) use tokens::{Codes, Tokens};
pub use update::{Appended, Deletion, IndexWriter, Missing, Repeated};
pub use walk::{Renumbered, Walk};

use std::path::{Path, PathBuf};

pub use folder::LeftOver;
use manifest::Manifest;
use tokapi_storage::error::{Error, Result};
use tokapi_storage::memory::Memory;
use tokapi_text::analyze::Analyzer;
use tokapi_weigh::formula::Statistics;
use window::Window;

/// What the names of parts begin with.
const PART: &str = "part";

/// An index, opened for reading.
pub struct Index {
    path: PathBuf,
    analyzer: Analyzer,
    parts: Vec<Part>,
    statistics: Statistics,
    keep: Keep,
    impacts: Option<Impacts>,
    /// What a walk through all of it may take; what is available unless given.
    memory: Option<Memory>,
}

/// The size of an index.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexInfo {
    /// N and the total length.
    pub statistics: Statistics,
    /// Documents that are deleted, and still take room.
    pub deleted: u64,
    /// Distinct (term, document) pairs, those of deleted documents among them.
    pub postings: u64,
    /// The terms of every part, added up.
    pub terms: u64,
    /// The number of parts.
    pub parts: usize,
    /// The bytes of the files of each name.
    pub files: Vec<(&'static str, u64)>,
    /// How text is cut into terms, in words.
    pub analyzer: String,
    /// What is kept of documents besides postings.
    pub keep: Keep,
    /// How weights were computed, where it has impacts.
    pub impacts: Option<Impacts>,
    /// What interrupted changes have left in its folder.
    pub left_over: LeftOver,
}

impl Index {
    /// Opens the index in the folder `path`.
    ///
    /// # Errors
    /// There is none; it is of another version or damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Index::open_with(path.as_ref(), &Window::default())
    }

    /// As [`Index::open`], for a walk through all of it: no more of its files is in memory than `memory` has room
    /// for. Queries would be answered too, but more slowly.
    ///
    /// # Errors
    /// As [`Index::open`].
    pub fn open_within(path: impl AsRef<Path>, memory: &Memory) -> Result<Self> {
        let mut index = Index::open_with(path.as_ref(), &Window::within(memory))?;
        index.memory = Some(*memory);
        Ok(index)
    }

    fn open_with(path: &Path, window: &Window) -> Result<Self> {
        let mut manifest = Manifest::read(path)?;
        loop {
            let error = match Index::of_manifest(path, &manifest, window) {
                Ok(index) => return Ok(index),
                Err(error) => error,
            };
            // Its parts may have been merged meanwhile.
            let now = Manifest::read(path)?;
            if now == manifest {
                return Err(error);
            }
            manifest = now;
        }
    }

    fn of_manifest(path: &Path, manifest: &Manifest, window: &Window) -> Result<Self> {
        let analyzer = Analyzer::new(&manifest.analyzer)?;
        let parts = manifest.parts.iter();
        let parts: Vec<Part> = parts
            .map(|note| Part::open(path, note, window))
            .collect::<Result<_>>()?;
        let keep = manifest.keep.clone();
        if !parts.iter().all(|part| keep.is_kept_by(part)) {
            return Err(file::damaged(path, "a part lacks what the others keep"));
        }
        let live = parts.iter().map(|part| part.note.live());
        let statistics = live.fold(Statistics::default(), |sum, part| Statistics {
            documents: sum.documents + part.documents,
            total_length: sum.total_length + part.total_length,
        });
        Ok(Index {
            path: path.to_path_buf(),
            analyzer,
            parts,
            statistics,
            keep,
            impacts: manifest.impacts,
            memory: None,
        })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The analyzer that cut its terms.
    pub fn analyzer(&self) -> &Analyzer {
        &self.analyzer
    }

    /// N and the total length.
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }

    /// What it keeps of its documents besides postings.
    pub fn keep(&self) -> &Keep {
        &self.keep
    }

    /// How its weights were computed, where it has impacts in the place of tfs.
    pub fn impacts(&self) -> Option<&Impacts> {
        self.impacts.as_ref()
    }

    /// How large it is.
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

    /// Gives every term that a document has, ascending, and its df to `each`.
    ///
    /// # Errors
    /// The index is damaged.
    pub fn each_term(&self, mut each: impl FnMut(&[u8], u64)) -> Result<()> {
        let numbers = Renumbered::as_in_index(&self.parts)?;
        let mut walk = Walk::new(self.parts.iter().map(|part| &part.lists), &numbers)?;
        let mut term = Vec::new();
        while let Some(df) = walk.next_term(&mut term)? {
            each(&term, df);
        }
        Ok(())
    }

    /// What a walk through all of it may take.
    pub(crate) fn memory(&self) -> Memory {
        self.memory.unwrap_or_else(Memory::available)
    }

    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The number of the part that has a document, and the number of the document there.
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

    /// The documents that have a number, deleted or not.
    pub(crate) fn numbered(&self) -> u64 {
        self.parts.iter().map(|part| part.note.documents).sum()
    }
}
