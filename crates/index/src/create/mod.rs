//! Creates an index: it is written beside the old one, and replaces it in one step.

mod builder;
mod copy;
mod replaced;

use std::fs;
use std::path::Path;

use crate::Index;
use crate::build::{self, Contents};
use crate::folder::{PART, sync_part};
use crate::manifest::Manifest;
use crate::part::Part;
use crate::part::note::PartNote;
use crate::part::window::Window;
use crate::reorder::{self, Reordering};
use tokapi_storage::error::{Error, Result};
use tokapi_storage::memory::Memory;
use tokapi_storage::pipeline::StageTimes;
use tokapi_storage::whole::{StagedFolder, sync_folder};
use tokapi_text::analyze::Analyzer;
use tokapi_weigh::collection::Stored;
use tokapi_weigh::formula::Bm25;

pub use builder::IndexBuilder;
pub use replaced::Replaced;

/// The options of an index besides its postings.
#[doc(hidden)]
#[derive(Default)]
pub struct IndexOptions<'a> {
    /// The second pass over the documents, if it is needed.
    pub contents: Option<Contents<'a>>,
    /// The order of its documents, if it differs from the order of the input. The index takes
    /// twice the space while it is being written.
    pub reorder: Option<&'a Reordering>,
    /// The formula of impacts, if the index stores weights, quantised to 8 bits, instead of tfs.
    /// Scores are then sums of these weights, and no other formula is possible. Every weight
    /// depends on N and df, so documents can be neither added nor deleted.
    pub impacts: Option<Bm25>,
    /// The existing index in the folder, which the new one replaces.
    pub replaced: Option<Replaced>,
    /// The memory limit; the available memory unless given.
    pub memory: Option<Memory>,
}

impl Index {
    /// Writes an index of `collection` to the new folder `path`, whole or not at all. It reports
    /// to the progress of the collection, whose analyzer also cuts queries.
    ///
    /// # Errors
    /// Something exists at `path`; a file cannot be written; scratch cannot be read; the build is
    /// cancelled.
    pub fn build(collection: impl Into<Stored>, path: impl AsRef<Path>) -> Result<StageTimes> {
        let stored = collection.into();
        let analyzer = stored.analyzer().clone();
        Index::write_new(&analyzer, path.as_ref(), None, |folder, _| {
            build::write_part(stored, folder, 0)
        })
    }

    /// Writes an index as [`Index::build`] does, with `options`. [`IndexBuilder`] is easier to
    /// use.
    ///
    /// # Errors
    /// As [`Index::build`]; an input has changed since the first pass; there is too little memory
    /// for the order; parameters are out of range, or give a term no weight above 0.
    #[doc(hidden)]
    pub fn build_with(
        collection: impl Into<Stored>,
        path: &Path,
        options: IndexOptions<'_>,
    ) -> Result<StageTimes> {
        let stored = collection.into();
        let (threads, read) = (stored.threads(), stored.documents_read());
        let memory = options.memory.unwrap_or_else(Memory::available);
        let (analyzer, progress) = (&stored.analyzer().clone(), &stored.progress().clone());
        Index::write_new(analyzer, path, options.replaced, |folder, manifest| {
            let failed = Error::writing(path);
            let unordered = match options.reorder {
                Some(_) => Some(tempfile::tempdir_in(folder).map_err(failed)?),
                None => None,
            };
            let first = unordered.as_ref().map_or(folder, |folder| folder.path());
            let (mut note, times) = build::write_part(stored, first, 0)?;
            if let Some(contents) = options.contents {
                manifest.keep = contents.keep().clone();
                contents.write(first, &mut note, 0, read, analyzer, progress)?;
            }
            if let (Some(how), Some(unordered)) = (options.reorder, unordered) {
                let window = Window::within(&how.memory);
                let part = Part::open_in(unordered.path(), &note, &window)?;
                note = reorder::write(&part, folder, how)?;
                drop(part);
                unordered.close().map_err(failed)?;
            }
            if let Some(bm25) = &options.impacts {
                let impacts =
                    build::replace_tfs(bm25, folder, &mut note, threads, &memory, progress)?;
                manifest.impacts = Some(impacts);
            }
            Ok((note, times))
        })
    }

    /// Creates an index of the one part that `write_part` writes to a folder. `write_part` records
    /// the facts about the whole index in the manifest.
    pub(crate) fn write_new(
        analyzer: &Analyzer,
        path: &Path,
        replaced: Option<Replaced>,
        write_part: impl FnOnce(&Path, &mut Manifest) -> Result<(PartNote, StageTimes)>,
    ) -> Result<StageTimes> {
        let mut manifest = Manifest::new(analyzer.options());
        if let Some(replaced) = replaced {
            return replaced.write(manifest, write_part);
        }
        let staged = StagedFolder::create(path)?;
        let name = manifest.new_name(PART);
        let folder = staged.temporary().join(&name);
        fs::create_dir(&folder).map_err(Error::writing(path))?;
        let (mut note, times) = write_part(&folder, &mut manifest)?;
        note.name = name;
        manifest.begin_with(note);
        sync_part(&folder)?;
        manifest.commit(staged.temporary())?;
        staged.rename()?;
        sync_folder(path)?;
        Ok(times)
    }

    /// Checks, before the work begins, that a new index can be written at `path`.
    ///
    /// # Errors
    /// As [`Index::build`], as far as they can be foreseen.
    pub fn check_new(path: &Path) -> Result<()> {
        StagedFolder::create(path).map(drop)
    }
}
