//! Files that appear under their final name whole or not at all.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::{Error, Result};

/// A file being written: under a temporary name beside its final one, until it is whole.
///
/// Dropped before [`Staged::commit`], it leaves nothing. Standard output (`-`), pipes and devices
/// cannot be renamed over and are written as they are.
pub struct Staged {
    path: PathBuf,
    file: Destination,
}

enum Destination {
    Temporary(NamedTempFile),
    Direct(File),
    Stdout(io::Stdout),
}

impl Staged {
    /// Begins to write what will be `path`.
    ///
    /// # Errors
    /// The folder does not exist or cannot be written to; the path is a folder.
    pub fn create(path: &Path) -> Result<Self> {
        let failed = |source| Error::Write {
            path: path.to_path_buf(),
            source,
        };
        let file = if path == Path::new("-") {
            Destination::Stdout(io::stdout())
        } else {
            match std::fs::metadata(path) {
                Ok(metadata) if metadata.is_dir() => {
                    return Err(failed(io::Error::new(
                        io::ErrorKind::IsADirectory,
                        "it is a folder",
                    )));
                }
                Ok(metadata) if !metadata.is_file() => {
                    Destination::Direct(File::options().write(true).open(path).map_err(failed)?)
                }
                _ => {
                    let folder = path
                        .parent()
                        .filter(|folder| !folder.as_os_str().is_empty());
                    let mut name = std::ffi::OsString::from(".");
                    name.push(path.file_name().unwrap_or_default());
                    let mut builder = tempfile::Builder::new();
                    builder.prefix(&name).suffix(".tmp");
                    #[cfg(unix)]
                    {
                        use std::os::unix::fs::PermissionsExt;
                        // As any other new file: the user's mask takes away from this.
                        builder.permissions(std::fs::Permissions::from_mode(0o666));
                    }
                    let temporary = builder.tempfile_in(folder.unwrap_or(Path::new(".")));
                    Destination::Temporary(temporary.map_err(failed)?)
                }
            }
        };
        Ok(Staged {
            path: path.to_path_buf(),
            file,
        })
    }

    /// The final name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The error that writing failed with `source`.
    pub fn failed(&self, source: io::Error) -> Error {
        Error::Write {
            path: self.path.clone(),
            source,
        }
    }

    /// Puts the file under its final name once it is on disk.
    ///
    /// # Errors
    /// The disk is full, the folder is gone.
    pub fn commit(mut self) -> Result<()> {
        let path = self.path.clone();
        let failed = |source| Error::Write {
            path: path.clone(),
            source,
        };
        self.flush().map_err(failed)?;
        if let Destination::Temporary(temporary) = self.file {
            temporary.as_file().sync_all().map_err(failed)?;
            temporary
                .persist(&path)
                .map_err(|error| failed(error.error))?;
        }
        Ok(())
    }
}

impl Write for Staged {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.file {
            Destination::Temporary(file) => file.as_file_mut().write(bytes),
            Destination::Direct(file) => file.write(bytes),
            Destination::Stdout(stdout) => stdout.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.file {
            Destination::Temporary(file) => file.as_file_mut().flush(),
            Destination::Direct(file) => file.flush(),
            Destination::Stdout(stdout) => stdout.flush(),
        }
    }
}

/// Only files can be gone back in; pipes and standard output give an error.
impl Seek for Staged {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        match &mut self.file {
            Destination::Temporary(file) => file.as_file_mut().seek(position),
            Destination::Direct(file) => file.seek(position),
            Destination::Stdout(_) => Err(io::ErrorKind::NotSeekable.into()),
        }
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
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        let mut staged = Staged::create(&path).unwrap();
        staged.write_all(b"whole").unwrap();
        staged.commit().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"whole");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
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
