//! A new index: written beside the old one, and put in its place at one moment.

mod builder;
mod replaced;

use std::fs;
use std::path::Path;

use crate::Index;
use crate::build::{self, Contents};
use crate::folder::PART;
use crate::manifest::{MANIFEST, Manifest};
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
    /// The second pass over the documents, if parts of them are kept.
    pub contents: Option<Contents<'a>>,
    /// The order of its documents, where it is another than that in which they come. Takes twice the room
    /// while the index is written.
    pub reorder: Option<&'a Reordering>,
    /// By what every posting is weighed, where the index is to have the weights, quantised to 8 bits, in
    /// the place of tfs. Scores are sums of these then, and no other formula can be asked for. N and df are
    /// part of every weight, so that documents can be neither added nor deleted.
    pub impacts: Option<Bm25>,
    /// The index in the folder that the new one takes the place of, where there is one.
    pub replaced: Option<Replaced>,
    /// The memory to stay within; what is available unless given.
    pub memory: Option<Memory>,
}

impl Index {
    /// Writes an index of `collection` to the new folder `path`: whole or not at all. It reports to the progress of
    /// the collection, and queries are cut by its analyzer.
    ///
    /// # Errors
    /// There is something at `path`; a file cannot be written; scratch cannot be read; it is cancelled.
    pub fn build(collection: impl Into<Stored>, path: impl AsRef<Path>) -> Result<StageTimes> {
        let stored = collection.into();
        let analyzer = stored.analyzer().clone();
        Index::write_new(&analyzer, path.as_ref(), None, |folder, _| {
            build::write_part(stored, folder, 0)
        })
    }

    /// As [`Index::build`], with `options`: [`IndexBuilder`] is easier to use.
    ///
    /// # Errors
    /// As [`Index::build`]; an input has changed since it was read at first; there is too little memory for
    /// another order; parameters out of range, or a term that weighs nothing or less by them.
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

    /// Writes an index of the one part that `write_part` writes to a folder; what is true of the whole index
    /// it notes in the manifest.
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
        manifest.write(staged.temporary())?;
        sync_folder(&folder.join(MANIFEST));
        staged.rename()?;
        sync_folder(path);
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
