//! An index on disk: the postings of a collection, ready to be searched.
//!
//! A folder of immutable parts, mapped into memory, and a manifest that says which. Terms are found
//! by tries (`part.rs`), postings stand in blocks of 128 documents (`block.rs`), each with what bounds its
//! weights under any formula (`bounds.rs`). Every page of every file has a checksum that is
//! checked when the page is first touched (`file.rs`). [`crate::query`] answers queries from it.
//!
//! ```
//! use tokapi::collection::Stored;
//! use tokapi::{Collection, Corpus, CorpusOptions, Index, analyze::Analyzer};
//! use tokapi::query::{Query, SearchOptions};
//!
//! # fn main() -> tokapi::Result<()> {
//! # let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../data/cranfield/docs.jsonl.zst");
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("index");
//! let corpus = Corpus::open(&[docs], CorpusOptions::default())?;
//! let analyzer = Analyzer::default();
//! let collection = Collection::build(corpus, &analyzer, &Default::default())?;
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
mod cursor;
mod deleted;
mod document;
mod encode;
mod fields;
mod file;
mod forge;
mod keep;
mod layout;
mod lists;
mod live;
mod look_up;
mod manifest;
mod merge;
mod part;
mod reorder;
mod shares;
mod store;
mod tokens;
mod update;
mod walk;
mod writer;

pub(crate) use block::{BLOCK, Entry};
pub(crate) use bounds::{Point, tf_of};
pub use check::Checked;
pub use ciff::is_ciff;
pub use contents::Contents;
pub(crate) use cursor::Cursor;
pub use document::StoredDocument;
pub(crate) use fields::{MOST_VALUE_BYTES, key};
#[doc(hidden)]
pub use forge::forge;
pub use keep::Keep;
pub(crate) use lists::Found;
pub use live::Exported;
pub(crate) use look_up::LookUp;
pub(crate) use part::Part;
pub use reorder::{Reorder, ReorderProgress, Reordering};
pub(crate) use tokens::{Codes, Tokens};
pub use update::{Appended, Deletion, IndexWriter, Repeated};

use std::path::{Path, PathBuf};

use crate::analyze::Analyzer;
use crate::collection::{Statistics, Stored};
use crate::error::{Error, Result};
use crate::output::StagedFolder;
use crate::pipeline::StageTimes;
use manifest::{MANIFEST, Manifest, PartNote};

/// What the names of parts begin with.
const PART: &str = "part";

/// An index, opened for reading.
pub struct Index {
    path: PathBuf,
    analyzer: Analyzer,
    parts: Vec<Part>,
    statistics: Statistics,
    keep: Keep,
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
}

impl Index {
    /// Writes an index of `collection`, whose terms `analyzer` has cut, to the new folder `path`: whole
    /// or not at all.
    ///
    /// # Errors
    /// There is something at `path`; a file cannot be written; scratch cannot be read.
    pub fn build(
        collection: impl Into<Stored>,
        analyzer: &Analyzer,
        path: &Path,
    ) -> Result<StageTimes> {
        let stored = collection.into();
        Index::write_new(analyzer, path, Keep::default(), |folder| {
            build::write_part(stored, folder, 0)
        })
    }

    /// As [`Index::build`], and keeps what `contents` say. The documents are read once more for that.
    ///
    /// # Errors
    /// As [`Index::build`]; an input has changed since it was read at first.
    pub fn build_with_contents(
        collection: impl Into<Stored>,
        analyzer: &Analyzer,
        path: &Path,
        contents: Contents<'_>,
    ) -> Result<StageTimes> {
        let stored = collection.into();
        Index::write_new(analyzer, path, contents.keep().clone(), |folder| {
            let (mut note, times) = build::write_part(stored, folder, 0)?;
            contents.write(folder, &mut note, 0, analyzer)?;
            Ok((note, times))
        })
    }

    /// As [`Index::build`], or [`Index::build_with_contents`] where there are some, with the documents in
    /// another order than they come. Takes twice the room while it is written.
    ///
    /// # Errors
    /// As these; there is too little memory for the order.
    pub fn build_reordered(
        collection: impl Into<Stored>,
        analyzer: &Analyzer,
        path: &Path,
        contents: Option<Contents<'_>>,
        how: &Reordering<'_>,
    ) -> Result<StageTimes> {
        let stored = collection.into();
        let keep = contents.as_ref().map(Contents::keep);
        let keep = keep.cloned().unwrap_or_default();
        Index::write_new(analyzer, path, keep, |folder| {
            let failed = Error::writing(path);
            let unordered = tempfile::tempdir_in(folder).map_err(failed)?;
            let (mut note, times) = build::write_part(stored, unordered.path(), 0)?;
            if let Some(contents) = contents {
                contents.write(unordered.path(), &mut note, 0, analyzer)?;
            }
            let part = Part::open_in(unordered.path(), &note)?;
            let note = reorder::write(&part, folder, how)?;
            drop(part);
            unordered.close().map_err(failed)?;
            Ok((note, times))
        })
    }

    /// Writes an index of the one part that `write_part` writes to a folder.
    fn write_new(
        analyzer: &Analyzer,
        path: &Path,
        keep: Keep,
        write_part: impl FnOnce(&Path) -> Result<(PartNote, StageTimes)>,
    ) -> Result<StageTimes> {
        let staged = StagedFolder::create(path)?;
        let mut manifest = Manifest::new(analyzer.options());
        let name = manifest.new_name(PART);
        let folder = staged.temporary().join(&name);
        std::fs::create_dir(&folder).map_err(Error::writing(path))?;
        let (mut note, times) = write_part(&folder)?;
        note.name = name;
        manifest.added = note.documents;
        manifest.keep = keep;
        manifest.parts.push(note);
        manifest.write(staged.temporary())?;
        crate::output::sync_folder(&folder.join(MANIFEST));
        staged.rename()?;
        crate::output::sync_folder(path);
        Ok(times)
    }

    /// Tells before the work begins whether there can be a new index at `path`.
    ///
    /// # Errors
    /// As [`Index::build`], as far as they can be foreseen.
    pub fn check_new(path: &Path) -> Result<()> {
        StagedFolder::create(path).map(drop)
    }

    /// Opens the index in the folder `path`.
    ///
    /// # Errors
    /// There is none; it is of another version or damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let mut manifest = Manifest::read(path)?;
        loop {
            let error = match Index::of_manifest(path, &manifest) {
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

    fn of_manifest(path: &Path, manifest: &Manifest) -> Result<Self> {
        let analyzer = Analyzer::new(&manifest.analyzer)?;
        let parts = manifest.parts.iter();
        let parts: Vec<Part> = parts
            .map(|note| Part::open(path, note))
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
        }
    }

    pub(crate) fn parts(&self) -> &[Part] {
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
    fn numbered(&self) -> u64 {
        self.parts.iter().map(|part| part.note.documents).sum()
    }
}
