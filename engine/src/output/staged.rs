//! Files and folders that appear under their final name whole or not at all.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tempfile::{NamedTempFile, TempDir};

use crate::error::{Error, Result};
use crate::pipeline::StageTimes;

/// A file being written: under a temporary name beside its final one, until it is whole.
///
/// Dropped before [`Staged::commit`], it leaves nothing. A link is followed: its target is replaced.
/// Standard output (`-`), pipes and devices cannot be renamed over and are written as they are.
pub struct Staged {
    path: PathBuf,
    file: Destination,
    /// Where the time went that it took to write it, if a pipeline did.
    pub(super) times: StageTimes,
}

enum Destination {
    Temporary {
        file: NamedTempFile,
        /// The final name behind all links.
        target: PathBuf,
        _listed: Listed,
    },
    Direct(File),
    Stdout(io::Stdout),
}

impl Staged {
    /// Begins to write what will be `path`.
    ///
    /// # Errors
    /// The folder does not exist or cannot be written to; the path is a folder.
    pub fn create(path: &Path) -> Result<Self> {
        let file = Destination::create(path).map_err(Error::writing(path))?;
        Ok(Staged {
            path: path.to_path_buf(),
            file,
            times: StageTimes::default(),
        })
    }

    /// The final name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The name until it is whole; the final one where there is no other.
    pub(crate) fn temporary(&self) -> &Path {
        match &self.file {
            Destination::Temporary { file, .. } => file.path(),
            _ => &self.path,
        }
    }

    /// The error that writing failed with `source`.
    pub fn failed(&self, source: io::Error) -> Error {
        Error::writing(&self.path)(source)
    }

    /// Puts the file under its final name once it is on disk.
    ///
    /// # Errors
    /// The disk is full, the folder is gone.
    pub fn commit(self) -> Result<()> {
        self.sync()?;
        self.rename()
    }

    /// Writes past the cache of the system from now on, or through it again.
    ///
    /// # Errors
    /// It cannot be passed by.
    pub(super) fn pass_by_cache(&self, pass: bool) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        if let Destination::Temporary { file, .. } = &self.file {
            use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
            let mut flags = fcntl_getfl(file.as_file())?;
            flags.set(OFlags::DIRECT, pass);
            return Ok(fcntl_setfl(file.as_file(), flags)?);
        }
        match pass {
            true => Err(io::ErrorKind::Unsupported.into()),
            false => Ok(()),
        }
    }

    /// Waits until what has been written is on disk.
    pub(crate) fn sync(&self) -> Result<()> {
        match &self.file {
            Destination::Temporary { file, .. } => file
                .as_file()
                .sync_all()
                .map_err(|source| self.failed(source)),
            _ => Ok(()),
        }
    }

    /// As [`Staged::commit`], without waiting for the disk: for what can be made again.
    ///
    /// # Errors
    /// As [`Staged::commit`], but for what the system notices only later.
    pub(crate) fn rename(mut self) -> Result<()> {
        unless_closed(self.flush()).map_err(|source| self.failed(source))?;
        let Self { path, file, .. } = self;
        if let Destination::Temporary { file, target, .. } = file {
            file.persist(target)
                .map_err(|error| Error::writing(&path)(error.error))?;
        }
        Ok(())
    }
}

impl Destination {
    fn create(path: &Path) -> io::Result<Self> {
        if path == Path::new("-") {
            return Ok(Destination::Stdout(io::stdout()));
        }
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => Err(io::Error::new(
                io::ErrorKind::IsADirectory,
                "it is a folder",
            )),
            Ok(metadata) if !metadata.is_file() => {
                Ok(Destination::Direct(File::options().write(true).open(path)?))
            }
            _ => {
                let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
                let prefix = prefix(&target);
                let file = temporary(&prefix, 0o666).tempfile_in(folder_of(&target))?;
                let _listed = Listed::new(file.path());
                Ok(Destination::Temporary {
                    file,
                    target,
                    _listed,
                })
            }
        }
    }

    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Destination::Temporary { file, .. } => file.as_file_mut(),
            Destination::Direct(file) => file,
            Destination::Stdout(stdout) => stdout,
        }
    }
}

impl Write for Staged {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.writer().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.writer().flush()
    }
}

/// Only files can be gone back in; pipes and standard output give an error.
impl Seek for Staged {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        match &mut self.file {
            Destination::Temporary { file, .. } => file.as_file_mut().seek(position),
            Destination::Direct(file) => file.seek(position),
            Destination::Stdout(_) => Err(io::ErrorKind::NotSeekable.into()),
        }
    }
}

/// A folder being filled under a temporary name beside its final one, as [`Staged`] is for a file.
///
/// Dropped before it is renamed, it vanishes with all that is in it.
pub struct StagedFolder {
    path: PathBuf,
    temporary: TempDir,
    _listed: Listed,
}

impl StagedFolder {
    /// Begins to fill what will be the folder `path`, which is new or empty.
    ///
    /// # Errors
    /// [`Error::Usage`] when something is there; [`Error::Write`] when the folder around it does not exist or cannot be
    /// written to.
    pub fn create(path: &Path) -> Result<Self> {
        let occupied = match fs::read_dir(path) {
            Ok(mut entries) => entries.next().is_some(),
            Err(_) => path.exists(),
        };
        if occupied {
            let name = path.display();
            return Err(Error::Usage(format!(
                "{name} exists already; name a new or an empty folder"
            )));
        }
        let temporary = temporary(&prefix(path), 0o777).tempdir_in(folder_of(path));
        let temporary = temporary.map_err(Error::writing(path))?;
        Ok(Self {
            path: path.to_path_buf(),
            _listed: Listed::new(temporary.path()),
            temporary,
        })
    }

    /// Where the files go until the folder is whole.
    pub fn temporary(&self) -> &Path {
        self.temporary.path()
    }

    /// Puts the folder under its final name.
    ///
    /// # Errors
    /// The name has been taken meanwhile.
    pub(crate) fn rename(self) -> Result<()> {
        fs::rename(self.temporary.path(), &self.path).map_err(Error::writing(&self.path))?;
        // The folder has moved: there is nothing to remove under the temporary name.
        let _ = self.temporary.keep();
        Ok(())
    }
}

/// The temporary names in use.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes the temporary files of all outputs that are being written: for a program that ends
/// here and now because of a signal, and so drops nothing.
pub fn remove_unfinished() {
    let unfinished = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
    for path in unfinished.iter() {
        // What cannot be removed stays: there is nobody left to tell.
        let _ = match path.is_dir() {
            true => fs::remove_dir_all(path),
            false => fs::remove_file(path),
        };
    }
}

/// An entry in the list of temporary names, for as long as it lives.
struct Listed(PathBuf);

impl Listed {
    fn new(path: &Path) -> Self {
        let mut unfinished = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
        unfinished.push(path.to_path_buf());
        Listed(path.to_path_buf())
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        let mut unfinished = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
        unfinished.retain(|path| *path != self.0);
    }
}

/// The result, where a reader that has closed its end of a pipe is no failure: it has what it wanted.
pub(crate) fn unless_closed(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Removes what killed processes have left of their attempts to write `path`. The caller knows that
/// nobody else writes it.
pub(crate) fn remove_left_over(path: &Path) {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let prefix = prefix(&target);
    let entries = fs::read_dir(folder_of(&target)).into_iter().flatten();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        if name.starts_with(prefix.as_encoded_bytes()) && name.ends_with(SUFFIX.as_bytes()) {
            // What cannot be removed is in nobody's way.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Waits until the names in the folder of `path` are on disk, where the system can do that.
pub(crate) fn sync_folder(path: &Path) {
    let _ = File::open(folder_of(path)).and_then(|folder| folder.sync_all());
}

const SUFFIX: &str = ".tmp";

/// How the temporary names of what will be `path` begin.
fn prefix(path: &Path) -> OsString {
    /// Leaves room for what makes the name a temporary one: most systems allow 255 bytes.
    const NAME_CHARACTERS: usize = 50;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name: String = name.chars().take(NAME_CHARACTERS).collect();
    format!(".{name}.tokapi-").into()
}

/// A temporary name, with the permissions (less the user's mask) that the final one is to have.
fn temporary(prefix: &OsStr, mode: u32) -> tempfile::Builder<'_, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix).suffix(SUFFIX);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
    #[cfg(not(unix))]
    let _ = mode;
    builder
}

/// The folder that `path` stands in.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_before_commit_and_nothing_after_drop() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        let mut staged = Staged::create(&path).unwrap();
        staged.write_all(b"half").unwrap();
        assert!(!path.exists());
        drop(staged);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        let mut staged = Staged::create(&path).unwrap();
        staged.write_all(b"whole").unwrap();
        staged.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_folder_appears_whole_and_takes_the_place_of_an_empty_one_only() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        fs::create_dir(&path).unwrap();
        let staged = StagedFolder::create(&path).unwrap();
        fs::write(staged.temporary().join("a"), b"half").unwrap();
        drop(staged);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        let staged = StagedFolder::create(&path).unwrap();
        fs::write(staged.temporary().join("a"), b"whole").unwrap();
        assert!(!path.join("a").exists());
        staged.rename().unwrap();
        assert_eq!(fs::read(path.join("a")).unwrap(), b"whole");
        assert!(matches!(StagedFolder::create(&path), Err(Error::Usage(_))));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_followed() {
        let dir = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let (link, file) = (dir.path().join("link"), elsewhere.path().join("file"));
        fs::write(&file, b"before").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let mut staged = Staged::create(&link).unwrap();
        staged.write_all(b"after").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"before");
        staged.commit().unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"after");
        assert!(link.is_symlink());
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_folder_or_a_missing_one_is_an_error_that_names_it() {
        let dir = tempfile::tempdir().unwrap();
        for path in [dir.path().to_path_buf(), dir.path().join("none/out")] {
            let error = Staged::create(&path).err().unwrap().to_string();
            assert!(error.starts_with(path.to_str().unwrap()), "{error}");
        }
    }
}
