//! A new index: written beside what is there, and put in its place at one moment.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::folder::{NewFolder, last_number, lock, sweep};
use super::manifest::{MANIFEST, Manifest, PartNote};
use super::part::Part;
use super::window::Window;
use super::{Contents, Index, PART, Reordering, build, impacts, reorder};
use tokapi_storage::error::{Error, Result};
use tokapi_storage::memory::Memory;
use tokapi_storage::pipeline::StageTimes;
use tokapi_storage::whole::{StagedFolder, sync_folder};
use tokapi_text::analyze::Analyzer;
use tokapi_weigh::collection::Stored;
use tokapi_weigh::formula::Bm25;

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
    /// The index in the folder that the new one takes the place of, where there is one.
    pub replaced: Option<Replaced>,
    /// What may be taken for all that; what is available unless given.
    pub memory: Option<Memory>,
}

/// An index that a new one is to take the place of. Nobody else can change it for as long as this lives; those who have
/// opened it go on with what they have.
#[derive(Debug)]
pub struct Replaced {
    path: PathBuf,
    _lock: File,
}

impl Replaced {
    /// The index in the folder `path`. None where nothing is there, or an empty folder.
    ///
    /// # Errors
    /// There is something else; another process changes the index.
    pub fn lock(path: &Path) -> Result<Option<Self>> {
        let is_free = match fs::read_dir(path) {
            Ok(mut entries) => entries.next().is_none(),
            Err(_) => fs::symlink_metadata(path).is_err(),
        };
        if is_free {
            return Ok(None);
        }
        if !Manifest::is_there(path) {
            return Err(Error::Usage(format!(
                "{} is not an index, and only an index is overwritten; name another folder",
                path.display()
            )));
        }
        Ok(Some(Replaced {
            path: path.to_path_buf(),
            _lock: lock(path)?,
        }))
    }
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
        Index::write_new(analyzer, path, None, |folder, _| {
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
        let memory = options.memory.unwrap_or_else(Memory::available);
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
                contents.write(first, &mut note, 0, read, analyzer)?;
            }
            if let (Some(how), Some(unordered)) = (options.reorder, unordered) {
                let window = Window::within(&how.memory);
                let part = Part::open_in(unordered.path(), &note, &window)?;
                note = reorder::write(&part, folder, how)?;
                drop(part);
                unordered.close().map_err(failed)?;
            }
            if let Some(bm25) = &options.impacts {
                let impacts = impacts::replace_tfs(bm25, folder, &mut note, threads, &memory)?;
                manifest.impacts = Some(impacts);
            }
            Ok((note, times))
        })
    }

    /// Writes an index of the one part that `write_part` writes to a folder; what is true of the whole index
    /// it notes in the manifest.
    pub(super) fn write_new(
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

    /// Tells before the work begins whether there can be a new index at `path`.
    ///
    /// # Errors
    /// As [`Index::build`], as far as they can be foreseen.
    pub fn check_new(path: &Path) -> Result<()> {
        StagedFolder::create(path).map(drop)
    }
}

impl Replaced {
    /// Writes a new part beside those that are there, and then a manifest that has no other: as ever, that is the moment
    /// of change, on every file system and whenever the process is killed.
    fn write(
        self,
        mut manifest: Manifest,
        write_part: impl FnOnce(&Path, &mut Manifest) -> Result<(PartNote, StageTimes)>,
    ) -> Result<StageTimes> {
        let path = &self.path;
        if let Ok(before) = Manifest::read(path) {
            sweep(path, &before);
            manifest.names = before.names;
        }
        // What cannot be read tells of no names.
        manifest.names = manifest.names.max(last_number(path));
        let folder = NewFolder::create(path, manifest.new_name(PART))?;
        let (mut note, times) = write_part(&folder.path, &mut manifest)?;
        note.name.clone_from(&folder.name);
        manifest.begin_with(note);
        sync_folder(&folder.path.join(MANIFEST));
        sync_folder(&folder.path);
        manifest.write(path)?;
        folder.keep();
        sweep(path, &manifest);
        Ok(times)
    }
}
