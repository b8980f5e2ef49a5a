//! The journal of a job: a checked line for every finished step, on disk before the step counts.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::error::{Error, Result};

/// An open journal. No other process can open it meanwhile.
pub(super) struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// Opens the journal at `path`, or creates it. Returns its entries. A last entry that a crash has torn is removed.
    ///
    /// # Errors
    /// Another process has it open; it cannot be read; an entry before the last is damaged.
    pub(super) fn open(path: &Path) -> Result<(Self, Vec<Value>)> {
        let failed = |source| Error::Scratch {
            path: path.to_path_buf(),
            source,
        };
        let mut options = File::options();
        let mut file = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(failed)?;
        free(file.try_lock(), path)?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(failed)?;
        let mut entries = Vec::new();
        let mut good = 0;
        for line in text.split_inclusive(|&byte| byte == b'\n') {
            match entry(line) {
                Some(entry) => entries.push(entry),
                // A torn last entry is dropped.
                None if good + line.len() == text.len() => break,
                None => {
                    return Err(Error::Damaged {
                        path: path.to_path_buf(),
                        what: format!(
                            "entry {} is damaged; remove its folder and begin again",
                            entries.len() + 1
                        ),
                    });
                }
            }
            good += line.len();
        }
        file.set_len(good as u64).map_err(failed)?;
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        let path = path.to_path_buf();
        Ok((Journal { path, file }, entries))
    }

    /// The path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds an entry, which is on disk when this returns.
    pub(super) fn append(&mut self, entry: &Value) -> Result<()> {
        let text = entry.to_string();
        let line = format!("{:08x} {text}\n", crc32fast::hash(text.as_bytes()));
        self.write(line.as_bytes())
            .map_err(|source| Error::Scratch {
                path: self.path.clone(),
                source,
            })
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        self.file.write_all(line)?;
        self.file.sync_data()
    }
}

/// Checks that no process has the journal at `path` open. A journal that is not there, or cannot be read, is free.
///
/// # Errors
/// Another process has it open.
pub(super) fn check_free(path: &Path) -> Result<()> {
    // Shared: two processes that check at the same time do not block each other.
    File::open(path).map_or(Ok(()), |file| free(file.try_lock_shared(), path))
}

/// The error if another process holds the lock of the journal at `path`.
fn free(locked: Result<(), TryLockError>, path: &Path) -> Result<()> {
    match locked {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(Error::Busy {
            path: path.to_path_buf(),
            what: "another process does the same job; let it end, or write to another name".into(),
        }),
        // Some file systems have no locks.
        Err(TryLockError::Error(error)) => {
            log::info!("{}: no lock: {error}", path.display());
            Ok(())
        }
    }
}

/// The entry on a line, if it is whole.
fn entry(line: &[u8]) -> Option<Value> {
    let line = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
    let (checksum, text) = line.split_once(' ')?;
    let checksum = u32::from_str_radix(checksum, 16).ok()?;
    if checksum != crc32fast::hash(text.as_bytes()) {
        return None;
    }
    serde_json::from_str(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_torn_entry_is_as_if_it_had_never_been_and_a_damaged_one_an_error() {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        let entries = [json!({"a": 1}), json!({"b": [2, 3]}), json!("ü\n")];
        let (mut journal, none) = Journal::open(&path).unwrap();
        assert!(none.is_empty());
        assert!(matches!(Journal::open(&path), Err(Error::Busy { .. })));
        for entry in &entries {
            journal.append(entry).unwrap();
        }
        drop(journal);
        let whole = std::fs::read(&path).unwrap();
        let ends: Vec<usize> = memchr::memchr_iter(b'\n', &whole)
            .map(|at| at + 1)
            .collect();
        for cut in 0..=whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let (mut journal, found) = Journal::open(&path).unwrap();
            let count = ends.iter().filter(|&&end| end <= cut).count();
            assert_eq!(found, entries[..count], "cut at {cut}");
            journal.append(&json!("more")).unwrap();
            drop(journal);
            let (_, found) = Journal::open(&path).unwrap();
            assert_eq!(found.len(), count + 1);
        }
        for at in 0..ends[1] {
            let mut damaged = whole.clone();
            damaged[at] ^= 4;
            std::fs::write(&path, &damaged).unwrap();
            // Without its line end an entry joins the next one. The first error may then be the last line.
            let opened = Journal::open(&path).map(|(_, found)| found);
            assert!(!opened.is_ok_and(|found| found.len() == 3), "at {at}");
        }
    }
}
