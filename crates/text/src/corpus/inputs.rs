//! From the paths of the user to the list of files.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use tokapi_storage::error::{Error, Result};

/// One input file, standard input, or a file's bytes in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// The path; `-` is standard input.
    pub path: PathBuf,
    /// The size; 0 if unknown: standard input, pipes, devices.
    pub bytes: u64,
    /// The content, if it is in memory already.
    pub(super) memory: Option<bytes::Bytes>,
    /// The file into which an input that can be read only once was copied.
    pub(super) spooled: Option<PathBuf>,
    /// Whether that file holds documents from memory.
    pub(super) holds_documents: bool,
}

impl Input {
    /// The file at `path`.
    pub fn of_file(path: &Path) -> Self {
        let metadata = std::fs::metadata(path).ok().filter(|m| m.is_file());
        Input {
            path: path.to_path_buf(),
            bytes: metadata.map_or(0, |metadata| metadata.len()),
            memory: None,
            spooled: None,
            holds_documents: false,
        }
    }

    /// The file to open.
    pub(super) fn file(&self) -> &Path {
        self.spooled.as_deref().unwrap_or(&self.path)
    }

    /// Whether it can be read only once.
    pub(super) fn is_read_once(&self) -> bool {
        let is_kept = self.memory.is_some() || self.spooled.is_some();
        // A missing file is reported when it is opened.
        let is_pipe = || std::fs::metadata(&self.path).is_ok_and(|metadata| !metadata.is_file());
        !is_kept && (self.is_stdin() || is_pipe())
    }

    /// Whether this is standard input.
    pub fn is_stdin(&self) -> bool {
        self.memory.is_none() && self.path == Path::new("-")
    }

    /// The name, size and time of change at this moment.
    pub fn description(&self) -> String {
        let metadata = std::fs::metadata(self.file()).ok();
        let metadata = metadata.filter(|metadata| metadata.is_file());
        let size = metadata.as_ref().map_or(0, |metadata| metadata.len());
        let time = metadata.and_then(|metadata| metadata.modified().ok());
        let time = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        // Links are not resolved: that takes several system calls a file, and size and time are enough.
        let path = std::path::absolute(&self.path);
        let path = path.as_ref().unwrap_or(&self.path).display();
        let time = time.unwrap_or_default().as_nanos();
        format!("{path} {size} {time}")
    }

    /// Whether it can be opened again and read from any position.
    pub(super) fn is_seekable(&self) -> bool {
        self.memory.is_none() && self.bytes > 0
    }
}

/// Every file of `paths`, in the given order; those of a folder or glob in path order.
pub(super) fn expand<P: AsRef<Path>>(paths: &[P]) -> Result<Vec<Input>> {
    let mut inputs = Vec::new();
    for path in paths {
        let path = path.as_ref().to_path_buf();
        // A name that is not UTF-8 is a file, not a pattern.
        let pattern = path.to_str().filter(|name| name.contains(['*', '?', '[']));
        if path == Path::new("-") {
            inputs.push(Input {
                path,
                bytes: 0,
                memory: None,
                spooled: None,
                holds_documents: false,
            });
        } else if let Some(name) = pattern.filter(|_| !path.exists()) {
            let pattern = glob::glob(name)
                .map_err(|error| Error::Usage(format!("{name}: not a pattern: {error}")))?;
            let before = inputs.len();
            for found in pattern {
                let found = found.map_err(|error| Error::Read {
                    path: error.path().to_path_buf(),
                    source: error.into(),
                })?;
                add(found, &mut inputs)?;
            }
            if inputs.len() == before {
                return Err(Error::Usage(format!(
                    "{name}: no file matches this pattern"
                )));
            }
        } else {
            let before = inputs.len();
            add(path.clone(), &mut inputs)?;
            if inputs.len() == before {
                log::warn!("{}: no file in this folder", path.display());
            }
        }
    }
    Ok(inputs)
}

/// Adds a file, or all files below a folder except hidden ones (names that begin with a dot).
fn add(path: PathBuf, inputs: &mut Vec<Input>) -> Result<()> {
    match std::fs::metadata(&path) {
        Err(source) => Err(Error::Read { path, source }),
        Ok(metadata) if metadata.is_dir() => {
            let entries = std::fs::read_dir(&path).and_then(Iterator::collect);
            let entries = entries.map_err(|source| Error::Read { path, source })?;
            add_entries(entries, inputs);
            Ok(())
        }
        Ok(metadata) => {
            inputs.push(Input {
                path,
                bytes: if metadata.is_file() {
                    metadata.len()
                } else {
                    0
                },
                memory: None,
                spooled: None,
                holds_documents: false,
            });
            Ok(())
        }
    }
}

/// Adds all files below a folder, in path order. Unreachable files, such as broken links, are added too: opening them
/// is an error, or they are skipped and counted.
fn add_entries(entries: Vec<std::fs::DirEntry>, inputs: &mut Vec<Input>) {
    let mut paths = Vec::new();
    for entry in entries {
        let linked_folder =
            entry.file_type().is_ok_and(|kind| kind.is_symlink()) && entry.path().is_dir();
        // A link to a folder could form a cycle.
        if !entry.file_name().as_encoded_bytes().starts_with(b".") && !linked_folder {
            paths.push(entry.path());
        }
    }
    paths.sort();
    for path in paths {
        if add(path.clone(), inputs).is_err() {
            inputs.push(Input::of_file(&path));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_globs_and_files_in_a_stable_order() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        std::fs::create_dir_all(root.join("b/c")).unwrap();
        for name in ["z.txt", "b/2.txt", "b/10.txt", "b/c/1.jsonl", "b/.hidden"] {
            std::fs::write(root.join(name), "x").unwrap();
        }
        let names = |paths: &[String]| -> Vec<String> {
            let inputs = expand(paths).unwrap();
            let relative = |input: &Input| {
                input
                    .path
                    .strip_prefix(root)
                    .unwrap_or(&input.path)
                    .display()
                    .to_string()
            };
            inputs.iter().map(relative).collect()
        };
        let at = |name: &str| root.join(name).display().to_string();
        assert_eq!(
            names(&[at("z.txt"), at("b"), "-".into()]),
            ["z.txt", "b/10.txt", "b/2.txt", "b/c/1.jsonl", "-"]
        );
        assert_eq!(names(&[at("**/*.txt")]), ["b/10.txt", "b/2.txt", "z.txt"]);
        assert!(
            expand(&[at("*.none")])
                .unwrap_err()
                .to_string()
                .contains("no file matches")
        );
        assert!(
            expand(&[at("none")])
                .unwrap_err()
                .to_string()
                .contains("there is no such file")
        );
    }
}
