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
mod folder;
mod forge;
mod impacts;
mod keep;
mod layout;
mod lists;
mod live;
mod look_up;
mod manifest;
mod merge;
mod part;
mod reorder;
mod retain;
mod shares;
mod sparse_set;
mod state;
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
pub use impacts::Impacts;
pub use keep::Keep;
pub(crate) use lists::Found;
pub use live::Exported;
pub(crate) use look_up::{LookUp, Posting};
pub(crate) use part::Part;
pub use reorder::{Reorder, ReorderProgress, Reordering};
pub(crate) use shares::Source;
pub(crate) use tokens::{Codes, Tokens};
pub use update::{Appended, Deletion, IndexWriter, Repeated};
pub(crate) use walk::{Renumbered, Walk};

use std::path::{Path, PathBuf};

use crate::analyze::Analyzer;
use crate::collection::{Statistics, Stored};
use crate::error::{Error, Result};
use crate::output::StagedFolder;
use crate::pipeline::StageTimes;
use crate::weigh::Bm25;
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
    impacts: Option<Impacts>,
}

/// What an index is to be besides lists of postings.
#[derive(Default)]
pub struct IndexOptions<'a> {
    /// What it keeps of its documents. They are read once more for that.
    pub contents: Option<Contents<'a>>,
    /// The order of its documents, where it is another than that in which they come. Takes twice the room
    /// while the index is written.
    pub reorder: Option<&'a Reordering<'a>>,
    /// By what every posting is weighed, where the index is to have the weights, quantised to 8 bits, in
    /// the place of tfs. Scores are sums of these then, and no other formula can be asked for. N and df are
    /// part of every weight, so that documents can be neither added nor deleted.
    pub impacts: Option<Bm25>,
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
        Index::write_new(analyzer, path, |folder, _| {
            build::write_part(stored, folder, 0)
        })
    }

    /// As [`Index::build`], with `options`.
    ///
    /// # Errors
    /// As [`Index::build`]; an input has changed since it was read at first; there is too little memory for
    /// another order; parameters out of range, or a term that weighs nothing or less by them.
    pub fn build_with(
        collection: impl Into<Stored>,
        analyzer: &Analyzer,
        path: &Path,
        options: IndexOptions<'_>,
    ) -> Result<StageTimes> {
        let stored = collection.into();
        let (threads, read) = (stored.threads(), stored.documents_read());
        Index::write_new(analyzer, path, |folder, manifest| {
            let failed = Error::writing(path);
            let unordered = match options.reorder {
                Some(_) => Some(tempfile::tempdir_in(folder).map_err(failed)?),
                None => None,
            };
            let first = unordered.as_ref().map_or(folder, |folder| folder.path());
            let (mut note, times) = build::write_part(stored, first, 0)?;
            if let Some(contents) = options.contents {
                manifest.keep = contents.keep().clone();
                contents.write(first, &mut note, 0, read, analyzer)?;
            }
            if let (Some(how), Some(unordered)) = (options.reorder, unordered) {
                let part = Part::open_in(unordered.path(), &note)?;
                note = reorder::write(&part, folder, how)?;
                drop(part);
                unordered.close().map_err(failed)?;
            }
            if let Some(bm25) = &options.impacts {
                manifest.impacts = Some(impacts::replace_tfs(bm25, folder, &mut note, threads)?);
            }
            Ok((note, times))
        })
    }

    /// Writes an index of the one part that `write_part` writes to a folder; what is true of the whole index
    /// it notes in the manifest.
    fn write_new(
        analyzer: &Analyzer,
        path: &Path,
        write_part: impl FnOnce(&Path, &mut Manifest) -> Result<(PartNote, StageTimes)>,
    ) -> Result<StageTimes> {
        let staged = StagedFolder::create(path)?;
        let mut manifest = Manifest::new(analyzer.options());
        let name = manifest.new_name(PART);
        let folder = staged.temporary().join(&name);
        std::fs::create_dir(&folder).map_err(Error::writing(path))?;
        let (mut note, times) = write_part(&folder, &mut manifest)?;
        note.name = name;
        manifest.added = note.documents;
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
            impacts: manifest.impacts,
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
    pub(crate) fn numbered(&self) -> u64 {
        self.parts.iter().map(|part| part.note.documents).sum()
    }
}
