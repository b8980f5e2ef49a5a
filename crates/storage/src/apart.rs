//! One rule for all paths of an operation: it never overwrites a file that it reads, or a part of an index.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// The manifest of an index of former versions. Today each state of an index has a manifest of its own.
pub const FORMER_MANIFEST: &str = "manifest.json";

/// The name of the manifest of a state of an index, its epoch.
///
/// ```
/// # use tokapi_storage::apart::{epoch_name, epoch_of};
/// assert_eq!(epoch_of(&epoch_name(7)), Some(7));
/// assert_eq!(epoch_of("manifest.json"), Some(0));
/// assert_eq!(epoch_of("epoch-07.json"), None);
/// ```
pub fn epoch_name(epoch: u64) -> String {
    format!("epoch-{epoch}.json")
}

/// The epoch of a manifest of this name; 0 for a manifest of former versions.
pub fn epoch_of(name: &str) -> Option<u64> {
    if name == FORMER_MANIFEST {
        return Some(0);
    }
    let number = name.strip_prefix("epoch-")?.strip_suffix(".json")?;
    let epoch = number.parse().ok()?;
    (epoch > 0 && epoch_name(epoch) == name).then_some(epoch)
}

/// The value of `format` in the manifest of an index.
pub const INDEX_FORMAT: &str = "tokapi index";

/// The paths that an operation reads and writes, checked before it begins.
///
/// Links and dots are resolved before paths are compared. Standard input and output, pipes and devices never conflict.
///
/// ```
/// # use tokapi_storage::apart::Paths;
/// let mut paths = Paths::default();
/// paths.read("queries.tsv");
/// paths.write("bm25.run");
/// paths.check()?;
/// # Ok::<(), tokapi_storage::error::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Paths {
    reads: Vec<Named>,
    writes: Vec<Named>,
    /// The last folder of a file, and its resolved path. Many files are in one folder.
    folder: Option<(PathBuf, PathBuf)>,
}

/// A path as the user names it, and the resolved path.
#[derive(Debug, Clone)]
struct Named {
    name: PathBuf,
    resolved: PathBuf,
}

impl Paths {
    /// Adds a file or folder that is read. A folder stands for all files in it.
    pub fn read(&mut self, path: impl AsRef<Path>) {
        let read = self.named(path.as_ref());
        self.reads.extend(read);
    }

    /// Adds a file or folder that is written, whether it exists or not.
    pub fn write(&mut self, path: impl AsRef<Path>) {
        let written = self.named(path.as_ref());
        self.writes.extend(written);
    }

    /// The resolved path; none for standard input and output, pipes and devices.
    fn named(&mut self, path: &Path) -> Option<Named> {
        let is_file = std::fs::symlink_metadata(path).is_ok_and(|m| m.is_file());
        if let (true, Some(folder), Some(name)) = (is_file, path.parent(), path.file_name()) {
            let known = self.folder.take().filter(|(known, _)| known == folder);
            let (_, resolved) = self.folder.insert(known.unwrap_or_else(|| {
                let resolved = match folder.as_os_str().is_empty() {
                    true => resolve(Path::new(".")),
                    false => resolve(folder),
                };
                (folder.to_path_buf(), resolved)
            }));
            return Some(Named {
                name: path.to_path_buf(),
                resolved: resolved.join(name),
            });
        }
        let special = std::fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir());
        (path != Path::new("-") && !special).then(|| Named {
            name: path.to_path_buf(),
            resolved: resolve(path),
        })
    }

    /// Checks that no written path is read, is part of an index, or is written twice.
    ///
    /// # Errors
    /// [`Error::Usage`] names the path and asks for another one.
    pub fn check(&self) -> Result<()> {
        for (place, write) in self.writes.iter().enumerate() {
            let is_same = |read: &&Named| write.resolved == read.resolved;
            let holds = |read: &&Named| {
                write.resolved.starts_with(&read.resolved)
                    || read.resolved.starts_with(&write.resolved)
            };
            if let Some(read) = self.reads.iter().find(is_same) {
                return refuse(&read.name, "the output would overwrite this input");
            }
            if let Some(folder) = write.resolved.ancestors().skip(1).find(|f| is_index(f)) {
                let what = format!("the output would be inside the index {}", folder.display());
                return refuse(&write.name, &what);
            }
            if let Some(read) = self.reads.iter().find(holds) {
                let what = format!("the output and the input {} overlap", read.name.display());
                return refuse(&write.name, &what);
            }
            let before = self.writes[..place].iter();
            if before.into_iter().any(|other| is_same(&other)) {
                return refuse(&write.name, "two outputs have this name");
            }
        }
        Ok(())
    }
}

fn refuse(path: &Path, what: &str) -> Result<()> {
    Err(Error::Usage(format!(
        "{}: {what}; name another file to write",
        path.display()
    )))
}

/// The path with links and dots resolved, as far as it exists.
fn resolve(path: &Path) -> PathBuf {
    if let Ok(resolved) = path.canonicalize() {
        return resolved;
    }
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) if folder.as_os_str().is_empty() => {
            resolve(Path::new(".")).join(name)
        }
        (Some(folder), Some(name)) => resolve(folder).join(name),
        _ => path.to_path_buf(),
    }
}

/// Whether `folder` has the manifest of an epoch, perhaps a damaged one.
pub fn has_epoch(folder: &Path) -> bool {
    let mut entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.any(|entry| entry.file_name().to_str().and_then(epoch_of) > Some(0))
}

/// Whether `folder` is an index, of any version.
pub fn is_index(folder: &Path) -> bool {
    /// The format is the first entry of a manifest.
    const BEGINNING_BYTES: u64 = 256;
    let is_manifest = |path: PathBuf| -> std::io::Result<bool> {
        let mut beginning = Vec::new();
        let file = std::fs::File::open(path)?;
        std::io::Read::read_to_end(
            &mut std::io::Read::take(file, BEGINNING_BYTES),
            &mut beginning,
        )?;
        Ok(memchr::memmem::find(&beginning, INDEX_FORMAT.as_bytes()).is_some())
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut manifests = entries.filter(|entry| {
        let name = entry.file_name();
        name.to_str().and_then(epoch_of).is_some()
    });
    manifests.any(|entry| is_manifest(entry.path()).is_ok_and(|is_one| is_one))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// The message of [`Paths::check`] for `read` and `written`, in a folder with an index and some files.
    fn check(read: &[&str], written: &[&str]) -> Option<String> {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| match name {
            "-" => PathBuf::from("-"),
            name => dir.path().join(name),
        };
        for folder in ["ix", "ix/part-1", "docs"] {
            fs::create_dir(path(folder)).unwrap();
        }
        fs::write(path("ix/epoch-1.json"), "{\"format\":\"tokapi index\"}").unwrap();
        for file in ["a", "docs/b"] {
            fs::write(path(file), "").unwrap();
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(path("a"), path("link")).unwrap();
            std::os::unix::fs::symlink(path("ix"), path("to-ix")).unwrap();
        }
        let mut paths = Paths::default();
        read.iter().for_each(|name| paths.read(path(name)));
        written.iter().for_each(|name| paths.write(path(name)));
        paths.check().err().map(|error| error.to_string())
    }

    #[test]
    fn what_is_read_is_not_written() {
        for (read, written) in [
            ("a", "a"),
            ("a", "docs/../a"),
            ("docs/b", "docs/b"),
            ("docs/b", "docs"),
            ("docs", "docs/new"),
            ("new", "new"),
            ("new/a", "new"),
            #[cfg(unix)]
            ("link", "a"),
            #[cfg(unix)]
            ("a", "link"),
        ] {
            let said = check(&["-", read], &["-", written]);
            assert!(
                said.as_ref()
                    .is_some_and(|said| said.contains("name another")),
                "{read} {written}: {said:?}"
            );
        }
        for (read, written) in [("a", "b"), ("docs/b", "docs/c"), ("ix", "iy"), ("-", "-")] {
            assert_eq!(check(&[read], &[written]), None, "{read} {written}");
        }
    }

    #[test]
    fn an_index_is_left_alone() {
        let inside = [
            "ix/epoch-1.json",
            "ix/new",
            "ix/part-1/postings",
            "ix/part-2/new",
        ];
        for written in inside.iter().chain(cfg!(unix).then_some(&"to-ix/new")) {
            let said = check(&[], &[written]).unwrap();
            assert!(said.contains("inside the index"), "{written}: {said}");
        }
        assert_eq!(check(&["a"], &["ix"]), None, "for updates");
    }

    #[test]
    fn outputs_have_names_of_their_own() {
        let said = check(&[], &["x", "docs/../x"]).unwrap();
        assert!(said.contains("two outputs"), "{said}");
    }
}
