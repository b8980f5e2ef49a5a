//! Temporary names: made beside the final one, locked while in use, removed when abandoned.
//!
//! A killed process leaves its temporary file or folder, and its lock ends with it. So the next writer of the same path
//! can tell abandoned files from files in use, and removes the abandoned ones.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tempfile::{NamedTempFile, TempDir};

use crate::error::{Error, Result};

/// A file under a temporary name. It is removed unless it is renamed.
pub(super) struct TemporaryFile {
    /// Locked for as long as it is open.
    file: NamedTempFile,
    _listed: Listed,
}

impl TemporaryFile {
    /// A new file beside `target`, with the permissions of the existing file. Removes abandoned temporary files of
    /// `target`.
    pub fn create(target: &Path) -> io::Result<Self> {
        let folder = existing_folder_of(target)?;
        remove_left_over(target);
        let replaced = fs::metadata(target).ok();
        // Until the permissions are set, only the owner can read it.
        let mode = if replaced.is_some() { 0o600 } else { 0o666 };
        let prefix = prefix(target);
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).suffix(SUFFIX);
        loop {
            // These errors do not hold the temporary name.
            let file = builder.make_in(folder, |path| create_new(path, mode))?;
            if !is_held(file.as_file(), file.path()) {
                continue;
            }
            if let Some(replaced) = &replaced {
                keep_permissions(file.as_file(), replaced);
            }
            let _listed = Listed::new(file.path());
            return Ok(TemporaryFile { file, _listed });
        }
    }

    pub fn path(&self) -> &Path {
        self.file.path()
    }

    pub fn file(&self) -> &File {
        self.file.as_file()
    }

    pub fn file_mut(&mut self) -> &mut File {
        self.file.as_file_mut()
    }

    /// Renames it to `target`.
    pub fn rename(self, target: &Path) -> io::Result<()> {
        let renamed = self.file.persist(target);
        renamed.map(drop).map_err(|error| error.error)
    }

    /// Renames it to `target`, unless that exists: of several processes, one succeeds.
    pub fn rename_new(self, target: &Path) -> io::Result<()> {
        let renamed = self.file.persist_noclobber(target);
        renamed.map(drop).map_err(|error| error.error)
    }
}

/// A folder under a temporary name. It is removed with all its files unless it is renamed.
pub(super) struct TemporaryFolder {
    folder: TempDir,
    /// The folder itself, locked.
    _lock: File,
    _listed: Listed,
}

impl TemporaryFolder {
    /// A new folder beside `target`, with the permissions of the existing one. Removes abandoned temporary folders of
    /// `target`.
    pub fn create(target: &Path) -> io::Result<Self> {
        let around = existing_folder_of(target)?;
        if let Err(error) = fs::metadata(target)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error);
        }
        remove_left_over(target);
        let replaced = fs::metadata(target).ok();
        let prefix = prefix(target);
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).suffix(SUFFIX);
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
        loop {
            // Strips the temporary name off the error.
            let folder = builder.tempdir_in(around);
            let folder = folder.map_err(|error| io::Error::from(error.kind()))?;
            let lock = match File::open(folder.path()) {
                Ok(lock) => lock,
                // Another process removed it before it could be locked.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            if !is_held(&lock, folder.path()) {
                continue;
            }
            if let Some(replaced) = &replaced {
                keep_permissions(&lock, replaced);
            }
            return Ok(TemporaryFolder {
                _listed: Listed::new(folder.path()),
                _lock: lock,
                folder,
            });
        }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Renames it to `target`, which is empty or missing.
    pub fn rename(self, target: &Path) -> io::Result<()> {
        fs::rename(self.folder.path(), target)?;
        // The folder has moved: nothing is left under the temporary name.
        let _ = self.folder.keep();
        Ok(())
    }

    /// Takes the place of `folder`, and removes it with all its files.
    fn remove(self, folder: &Path) -> io::Result<()> {
        fs::rename(folder, self.folder.path())?;
        self.folder.close()
    }
}

/// A new file of this mode, less the user's mask.
fn create_new(path: &Path, mode: u32) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    options.open(path)
}

/// Whether a new temporary file is ours: locked, and not removed by another process before.
fn is_held(file: &File, path: &Path) -> bool {
    match file.try_lock() {
        Ok(()) => fs::symlink_metadata(path).is_ok(),
        Err(TryLockError::WouldBlock) => false,
        // Without locks nobody removes a file as abandoned.
        Err(TryLockError::Error(_)) => true,
    }
}

/// Gives a file the mode of another, and its owner and group if the system permits. If the group differs, it gets only
/// the permissions of everybody.
fn keep_permissions(file: &File, of: &Metadata) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
        let _ = fchown(file, Some(of.uid()), Some(of.gid()))
            .or_else(|_| fchown(file, None, Some(of.gid())));
        let now = file.metadata().map(|now| (now.uid(), now.gid()));
        let mut mode = of.mode() & 0o7777;
        if now
            .as_ref()
            .map_or(true, |now| *now != (of.uid(), of.gid()))
        {
            mode &= 0o777;
        }
        if now.map_or(true, |(_, group)| group != of.gid()) {
            mode = mode & !0o070 | (mode & (mode << 3) & 0o070);
        }
        // Some file systems have no modes.
        let _ = file.set_permissions(PermissionsExt::from_mode(mode));
    }
    #[cfg(not(unix))]
    let _ = (file, of);
}

/// The temporary names in use.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes the temporary files of all outputs that are being written: for a program that a signal ends without dropping
/// them.
pub fn remove_unfinished() {
    let unfinished = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
    for path in unfinished.iter() {
        // A file that cannot be removed stays: there is nobody to report to.
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

/// Removes the folder `path` with all its files. Its name is gone first: a process that is killed meanwhile leaves a
/// temporary folder.
///
/// # Errors
/// The folder does not exist or cannot be removed.
pub fn remove_folder(path: &Path) -> Result<()> {
    let failed = Error::writing(path);
    let removed = TemporaryFolder::create(path).and_then(|gone| gone.remove(path));
    removed.map_err(failed)?;
    sync_folder(path)
}

/// Removes abandoned temporary files of `path`.
pub fn remove_left_over(path: &Path) {
    remove_all(abandoned(path));
}

/// Removes all abandoned temporary files in a folder, whatever their final names.
pub fn remove_left_over_in(folder: &Path) {
    remove_all(abandoned_in(folder, |name| {
        let start = name.windows(MARK.len()).rposition(|part| part == MARK)?;
        name.starts_with(b".").then(|| &name[start + MARK.len()..])
    }));
}

fn remove_all(abandoned: impl Iterator<Item = (PathBuf, File)>) {
    for (left, _lock) in abandoned {
        // A file that cannot be removed does no harm.
        let _ = match left.is_dir() {
            true => fs::remove_dir_all(&left),
            false => fs::remove_file(&left),
        };
    }
}

/// The abandoned temporary files of `path`.
pub fn left_over(path: &Path) -> Vec<PathBuf> {
    abandoned(path).map(|(left, _)| left).collect()
}

/// The temporary files and folders of `path` that nobody holds, each locked so that nobody takes it meanwhile.
fn abandoned(path: &Path) -> impl Iterator<Item = (PathBuf, File)> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let prefix = prefix(&target);
    abandoned_in(folder_of(&target), move |name| {
        name.strip_prefix(prefix.as_encoded_bytes())
    })
}

/// As [`abandoned`], for the names in `folder` of which `after_prefix` gives the rest.
fn abandoned_in<F: Fn(&[u8]) -> Option<&[u8]>>(
    folder: &Path,
    after_prefix: F,
) -> impl Iterator<Item = (PathBuf, File)> + use<F> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.flatten().filter_map(move |entry| {
        let name = entry.file_name();
        let rest = after_prefix(name.as_encoded_bytes())?;
        let random = rest.strip_suffix(SUFFIX.as_bytes())?;
        // Opening a pipe would wait.
        let kind = entry.file_type().ok()?;
        let is_ours = random.len() == RANDOM_BYTES && random.iter().all(u8::is_ascii_alphanumeric);
        if !is_ours || !(kind.is_file() || kind.is_dir()) {
            return None;
        }
        let file = File::open(entry.path()).ok()?;
        file.try_lock().ok()?;
        Some((entry.path(), file))
    })
}

/// Waits until the names in the folder of `path` are on disk, if the system supports that.
///
/// # Errors
/// The disk is full or fails: then the names may be lost with the next loss of power.
pub fn sync_folder(path: &Path) -> Result<()> {
    let folder = folder_of(path);
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        // Some file systems sync files only.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
            ) =>
        {
            Ok(())
        }
        synced => synced.map_err(Error::writing(folder)),
    }
}

/// The end of the prefix of temporary names, and their suffix.
const MARK: &[u8] = b".tokapi-";
const SUFFIX: &str = ".tmp";
/// The length of the random part of a name, by `tempfile`.
const RANDOM_BYTES: usize = 6;

/// The prefix of the temporary names of `path`.
fn prefix(path: &Path) -> OsString {
    /// Leaves room for the temporary parts of the name: most systems allow 255 bytes.
    const NAME_CHARACTERS: usize = 50;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name: String = name.chars().take(NAME_CHARACTERS).collect();
    format!(".{name}.tokapi-").into()
}

/// The parent folder of `path`.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// The parent folder of `path`.
///
/// # Errors
/// It does not exist; the error tells what to do.
fn existing_folder_of(path: &Path) -> io::Result<&Path> {
    let folder = folder_of(path);
    match fs::metadata(folder) {
        Ok(_) => Ok(folder),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(io::Error::new(
            error.kind(),
            format!(
                "the folder {} does not exist; make it, or name another",
                folder.display()
            ),
        )),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn what_nobody_holds_is_removed_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("out");
        let held = TemporaryFile::create(&target).unwrap();
        let held_folder = TemporaryFolder::create(&target).unwrap();
        fs::write(held_folder.path().join("a"), b"half").unwrap();
        let put = |name: &str| fs::write(dir.path().join(name), b"left").unwrap();
        let left = [".out.tokapi-ab12Cd.tmp", ".out.tokapi-zzzzzz.tmp"];
        let others = [".other.tokapi-ab12Cd.tmp", ".out.tokapi-my own.tmp", "out"];
        left.into_iter().chain(others).for_each(put);
        let folder = dir.path().join(".out.tokapi-FOLDER.tmp");
        fs::create_dir_all(folder.join("part-1")).unwrap();
        assert_eq!(left_over(&target).len(), 3);
        drop(TemporaryFile::create(&target).unwrap());
        assert_eq!(left_over(&target).len(), 0);
        for name in others {
            assert!(dir.path().join(name).exists(), "{name}");
        }
        for path in [held.path(), &held_folder.path().join("a")] {
            assert!(path.exists(), "{}", path.display());
        }
        assert_eq!(names(dir.path()), others.len() + 2);
        remove_left_over_in(dir.path());
        assert!(!dir.path().join(others[0]).exists() && dir.path().join(others[1]).exists());
        assert_eq!(names(dir.path()), others.len() + 1);
    }

    #[test]
    fn a_folder_is_removed_with_its_name_first() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("index");
        fs::create_dir_all(folder.join("part-1")).unwrap();
        fs::write(folder.join("part-1/terms"), b"some").unwrap();
        remove_folder(&folder).unwrap();
        assert_eq!(names(dir.path()), 0);
        let error = remove_folder(&folder).unwrap_err().to_string();
        assert!(error.starts_with(folder.to_str().unwrap()), "{error}");
        assert_eq!(names(dir.path()), 0);
    }

    #[test]
    fn those_who_begin_at_once_do_not_take_each_other_for_left_over() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("out");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let file = TemporaryFile::create(&target).unwrap();
                        let folder = TemporaryFolder::create(&target).unwrap();
                        std::thread::yield_now();
                        assert!(file.path().exists() && folder.path().exists());
                    }
                });
            }
        });
        assert_eq!(names(dir.path()), 0);
    }
}
