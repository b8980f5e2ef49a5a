//! Files and folders that appear under their final name whole, or not at all.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::temporary::{TemporaryFile, TemporaryFolder};
use crate::disk;
use crate::error::{Error, Result};
use crate::pipeline::StageTimes;
use crate::progress::Progress;

/// A file that is written under a temporary name beside its final one, until it is whole.
///
/// If it is dropped before [`Staged::commit`], it leaves nothing. If the process is killed, it leaves a temporary file,
/// which the next writer of the same path removes. A link is followed: its target is replaced. The new file gets the
/// permissions of the old one, and its owner and group if the system permits. Standard output (`-`), pipes and devices
/// cannot be renamed over, so they are written directly.
pub struct Staged {
    path: PathBuf,
    file: Destination,
    /// The times of the pipeline that wrote it, if any.
    pub times: StageTimes,
}

enum Destination {
    Temporary {
        file: TemporaryFile,
        /// The final name, links resolved.
        target: PathBuf,
    },
    Direct(File),
    Stdout(io::Stdout),
}

impl Staged {
    /// Begins to write the file `path`.
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

    /// Checks before the work begins that `path` can be written.
    ///
    /// # Errors
    /// As [`Staged::create`].
    pub fn check(path: &Path) -> Result<()> {
        // Opening a pipe here would end it for its reader.
        let special = fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir());
        match special {
            true => Ok(()),
            false => Staged::create(path).map(drop),
        }
    }

    /// The final name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The temporary name; the final one if there is no temporary one.
    pub fn temporary(&self) -> &Path {
        match &self.file {
            Destination::Temporary { file, .. } => file.path(),
            _ => &self.path,
        }
    }

    /// The error for a failed write with cause `source`.
    pub fn failed(&self, source: io::Error) -> Error {
        Error::writing(&self.path)(source)
    }

    /// Puts the file under its final name once it is on disk.
    ///
    /// # Errors
    /// The disk is full; the folder is gone.
    pub fn commit(self) -> Result<()> {
        self.sync_all()?;
        self.rename()
    }

    /// Puts the file under the name `path` in the same folder once it is on disk, unless that name is taken. Returns
    /// whether it was free: of several processes that take it at the same time, one succeeds.
    ///
    /// # Errors
    /// As [`Staged::commit`].
    pub fn commit_new(mut self, path: &Path) -> Result<bool> {
        self.flush().map_err(|source| self.failed(source))?;
        self.sync_all()?;
        let Destination::Temporary { file, .. } = self.file else {
            return Ok(false);
        };
        match file.rename_new(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            renamed => renamed.map(|()| true).map_err(Error::writing(path)),
        }
    }

    fn sync_all(&self) -> Result<()> {
        match &self.file {
            Destination::Temporary { file, .. } => {
                let synced = file.file().sync_all();
                synced.map_err(|source| self.failed(source))
            }
            _ => Ok(()),
        }
    }

    /// Turns writing past the system's cache on or off.
    ///
    /// # Errors
    /// The system does not support it.
    pub(super) fn pass_by_cache(&self, pass: bool) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        if let Destination::Temporary { file, .. } = &self.file {
            use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
            let mut flags = fcntl_getfl(file.file())?;
            flags.set(OFlags::DIRECT, pass);
            return Ok(fcntl_setfl(file.file(), flags)?);
        }
        match pass {
            true => Err(io::ErrorKind::Unsupported.into()),
            false => Ok(()),
        }
    }

    /// Waits until the written bytes are on disk.
    ///
    /// # Errors
    /// The disk is full; `progress` is cancelled.
    pub fn sync(&self, progress: &Progress) -> Result<()> {
        match &self.file {
            Destination::Temporary { file, .. } => {
                disk::sync(file.file(), progress, |source| self.failed(source))
            }
            _ => Ok(()),
        }
    }

    /// As [`Staged::commit`], without waiting for the disk: for files that can be made again.
    ///
    /// # Errors
    /// As [`Staged::commit`], except for errors that the system reports later.
    pub fn rename(mut self) -> Result<()> {
        unless_closed(self.flush()).map_err(|source| self.failed(source))?;
        let Self { path, file, .. } = self;
        if let Destination::Temporary { file, target, .. } = file {
            file.rename(&target).map_err(Error::writing(&path))?;
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
            // An invalid name, or a folder without permission.
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => {
                let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
                let file = TemporaryFile::create(&target)?;
                Ok(Destination::Temporary { file, target })
            }
        }
    }

    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Destination::Temporary { file, .. } => file.file_mut(),
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

/// Only files can seek; pipes and standard output give an error.
impl Seek for Staged {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        match &mut self.file {
            Destination::Temporary { file, .. } => file.file_mut().seek(position),
            Destination::Direct(file) => file.seek(position),
            Destination::Stdout(_) => Err(io::ErrorKind::NotSeekable.into()),
        }
    }
}

/// A folder that is filled under a temporary name beside its final one, as [`Staged`] is for a file.
///
/// If it is dropped before it is renamed, it is removed with all its files.
pub struct StagedFolder {
    path: PathBuf,
    temporary: TemporaryFolder,
}

impl StagedFolder {
    /// Begins to fill the folder `path`, which is new or empty.
    ///
    /// # Errors
    /// [`Error::Usage`] if the folder is not empty; [`Error::Write`] if its parent does not exist or cannot be written
    /// to.
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
        Ok(Self {
            path: path.to_path_buf(),
            temporary: TemporaryFolder::create(path).map_err(Error::writing(path))?,
        })
    }

    /// The folder for the files, until it is renamed.
    pub fn temporary(&self) -> &Path {
        self.temporary.path()
    }

    /// Puts the folder under its final name.
    ///
    /// # Errors
    /// The name has been taken meanwhile.
    pub fn rename(self) -> Result<()> {
        let Self { path, temporary } = self;
        temporary.rename(&path).map_err(Error::writing(&path))
    }
}

/// Turns the error of a closed pipe into success: its reader has all it wanted.
pub fn unless_closed(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
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

    #[test]
    fn one_of_several_takes_a_free_name() {
        let dir = tempfile::tempdir().unwrap();
        for round in 0..500 {
            let path = dir.path().join(format!("epoch-{round}"));
            let take = |who: &'static str| {
                let mut staged = Staged::create(&dir.path().join("epoch")).unwrap();
                staged.write_all(who.as_bytes()).unwrap();
                staged.commit_new(&path).unwrap().then_some(who)
            };
            let takers = ["a", "b", "c"];
            let won: Vec<&str> = std::thread::scope(|scope| {
                let takers = takers.map(|who| scope.spawn(move || take(who)));
                takers
                    .into_iter()
                    .filter_map(|taker| taker.join().unwrap())
                    .collect()
            });
            assert_eq!(won.len(), 1, "{won:?}");
            assert_eq!(fs::read_to_string(&path).unwrap(), won[0]);
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 500);
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

    #[cfg(unix)]
    #[test]
    fn what_takes_the_place_of_a_file_has_its_permissions() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        let dir = tempfile::tempdir().unwrap();
        let (file, folder) = (dir.path().join("file"), dir.path().join("folder"));
        fs::write(&file, b"before").unwrap();
        fs::create_dir(&folder).unwrap();
        let group = fs::metadata(&file).unwrap().gid();
        for mode in [0o600, 0o640, 0o444, 0o666, 0o755] {
            fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
            let mut staged = Staged::create(&file).unwrap();
            let metadata = fs::metadata(staged.temporary()).unwrap();
            assert_eq!(
                metadata.mode() & 0o7777,
                mode,
                "nobody else reads it meanwhile"
            );
            staged.write_all(b"after").unwrap();
            staged.commit().unwrap();
            let metadata = fs::metadata(&file).unwrap();
            assert_eq!(metadata.mode() & 0o7777, mode);
            assert_eq!(metadata.gid(), group);
        }
        fs::set_permissions(&folder, PermissionsExt::from_mode(0o750)).unwrap();
        StagedFolder::create(&folder).unwrap().rename().unwrap();
        let metadata = fs::metadata(&folder).unwrap();
        assert_eq!(metadata.mode() & 0o7777, 0o750);
    }

    #[test]
    fn no_error_has_a_temporary_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("none/out");
        let long = dir.path().join("long".repeat(100));
        let file = dir.path().join("file");
        fs::write(&file, b"").unwrap();
        for path in [path.as_path(), &long, &file.join("out")] {
            let of_file = Staged::create(path).err().unwrap().to_string();
            let of_folder = StagedFolder::create(path).err().unwrap().to_string();
            for error in [of_file, of_folder] {
                assert!(error.starts_with(path.to_str().unwrap()), "{error}");
                assert!(!error.contains("tokapi-"), "{error}");
            }
        }
        let error = Staged::create(&path).err().unwrap().to_string();
        let folder = format!(
            "the folder {} does not exist",
            dir.path().join("none").display()
        );
        assert!(error.contains(&folder), "{error}");
    }
}
