//! Scratch space: the files of a job that is larger than memory.
//!
//! Every scratch folder gets a subfolder named after the job. All files in it carry the job's stamp and are checked
//! when they are read (`frames.rs`). A journal in the first folder lists the finished steps, and an interrupted job
//! continues from there. At the end everything is removed.

pub mod frames;
mod journal;

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

use crate::disk;
use crate::error::{Error, Result};
use crate::progress::Progress;
use frames::{FrameFile, FrameWriter, scratch};
use journal::Journal;

/// The folders for data that does not fit into memory.
///
/// ```
/// # use tokapi_storage::scratch::ScratchOptions;
/// let scratch = ScratchOptions::default().folders(["/disk1", "/disk2"]).resume(true);
/// assert_eq!(scratch.folders.len(), 2);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScratchOptions {
    /// One folder on each disk to use; beside the output if empty.
    pub folders: Vec<PathBuf>,
    /// Whether an interrupted job is continued.
    pub resume: bool,
}

impl ScratchOptions {
    crate::setters! { folders: each impl Into<PathBuf>, resume: bool }
}

/// The identity of a job in its journal.
#[derive(Debug, Clone)]
pub struct JobIdentity {
    /// The name that identifies the job: the output's path.
    pub name: String,
    /// The options that must be the same when the job continues.
    pub terms: Value,
    /// A file that is read, if any. Its disk is busy, and so is the output's.
    pub input: Option<PathBuf>,
    /// The folder of the output.
    pub output: PathBuf,
}

/// The open scratch space of a job.
pub struct Scratch {
    /// The job's folders, the best disk for runs first.
    disks: Vec<Disk>,
    stamp: u64,
    journal: Journal,
    next_file: AtomicU64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Disk {
    folder: PathBuf,
    device: u64,
}

impl JobIdentity {
    /// The folders of the job below the scratch folders of `options`.
    fn folders(&self, options: &ScratchOptions) -> Vec<PathBuf> {
        let mut hasher = DefaultHasher::new();
        self.name.hash(&mut hasher);
        let name = format!("tokapi-{:016x}", hasher.finish());
        let beside = [self.output.clone()];
        let roots = match options.folders.is_empty() {
            true => &beside[..],
            false => &options.folders[..],
        };
        roots.iter().map(|root| root.join(&name)).collect()
    }

    /// Whether an interrupted run of the job has left files.
    pub fn is_begun(&self, options: &ScratchOptions) -> bool {
        self.folders(options)[0].join(JOURNAL).exists()
    }

    /// Checks before the work begins that no other run of the job blocks this one.
    ///
    /// # Errors
    /// Another process does the same job; an interrupted run exists and is not to be continued; a scratch folder does
    /// not exist.
    pub fn check(&self, options: &ScratchOptions) -> Result<()> {
        for folder in &options.folders {
            if !folder.is_dir() {
                return Err(Error::Usage(format!(
                    "{}: there is no such folder for scratch files",
                    folder.display()
                )));
            }
        }
        let first = &self.folders(options)[0];
        if !self.is_begun(options) {
            return Ok(());
        }
        // The folder of a running job must not be taken for that of an interrupted one, which may be removed.
        journal::check_free(&first.join(JOURNAL))?;
        match options.resume {
            true => Ok(()),
            false => Err(interrupted(first)),
        }
    }
}

/// The bytes of a write. Cancellation is tested between writes.
const PIECE_BYTES: usize = 4 << 20;

const JOURNAL: &str = "journal";

fn interrupted(folder: &Path) -> Error {
    Error::Interrupted {
        path: folder.to_path_buf(),
    }
}

impl Scratch {
    /// Opens the scratch space of `job`. Returns it with the journal entries of the interrupted run that is continued,
    /// if any.
    ///
    /// # Errors
    /// A folder cannot be written to; an interrupted run exists and is not to be continued, or had another input or
    /// other options; another process does the same job.
    pub fn open(job: &JobIdentity, options: &ScratchOptions) -> Result<(Self, Vec<Value>)> {
        let folders = job.folders(options);
        let mut disks = Vec::new();
        for folder in folders {
            fs::create_dir_all(&folder).map_err(scratch(&folder))?;
            let device = device(&folder);
            disks.push(Disk { folder, device });
        }
        let first = disks[0].folder.clone();
        let (mut journal, mut entries) = Journal::open(&first.join(JOURNAL))?;
        let stamp = match entries.first() {
            None => {
                let stamp = new_stamp(&first);
                journal.append(&json!({"stamp": stamp, "terms": job.terms}))?;
                stamp
            }
            Some(_) if !options.resume => return Err(interrupted(&first)),
            Some(begun) => {
                differs(&begun["terms"], &job.terms, &first)?;
                let stamp = begun["stamp"].as_u64().ok_or_else(|| Error::Damaged {
                    path: first.join(JOURNAL),
                    what: "its first entry is not that of a job; remove its folder and begin again"
                        .into(),
                })?;
                entries.remove(0);
                stamp
            }
        };
        let input = job.input.as_deref().map(device);
        order(&mut disks, input, device(&job.output));
        for disk in &disks {
            log::info!("scratch folder: {}", disk.folder.display());
        }
        log::info!("journal: {} entries", entries.len());
        let scratch = Scratch {
            disks,
            stamp,
            journal,
            next_file: AtomicU64::new(0),
        };
        Ok((scratch, entries))
    }

    /// The stamp of all files of the job.
    pub fn stamp(&self) -> u64 {
        self.stamp
    }

    /// Adds an entry to the journal.
    pub fn append(&mut self, entry: &Value) -> Result<()> {
        self.journal.append(entry)
    }

    /// A new name on the best disk for runs. If a run is read meanwhile, that is another disk than the one of `read`.
    pub fn new_path(&self, kind: &str, read: Option<&Path>) -> PathBuf {
        let read = read.map(device);
        let disk = self.disks.iter().find(|disk| Some(disk.device) != read);
        let folder = &disk.unwrap_or(&self.disks[0]).folder;
        loop {
            let number = self.next_file.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!("{kind}-{number}"));
            if !path.exists() {
                return path;
            }
        }
    }

    /// A new file of frames at [`Scratch::new_path`].
    pub fn create(&self, kind: &str, read: Option<&Path>) -> Result<FrameWriter> {
        FrameWriter::create(self.new_path(kind, read), self.stamp)
    }

    /// Writes a whole file of frames, header included, and waits until it is on disk.
    ///
    /// # Errors
    /// The file cannot be written; `progress` is cancelled.
    pub fn write(
        &self,
        kind: &str,
        bytes: &[u8],
        read: Option<&Path>,
        progress: &Progress,
    ) -> Result<FrameFile> {
        let path = self.new_path(kind, read);
        let failed = scratch(&path);
        let mut file = fs::File::create(&path).map_err(failed)?;
        for piece in bytes.chunks(PIECE_BYTES) {
            progress.check()?;
            file.write_all(piece).map_err(failed)?;
        }
        disk::sync(&file, progress, failed)?;
        Ok(FrameFile {
            path,
            stamp: self.stamp,
            length: bytes.len() as u64,
        })
    }

    /// Removes every file that is not in `kept`: the unfinished files of an interrupted run.
    pub fn remove_others(&self, kept: &[&Path]) {
        for disk in &self.disks {
            let files = fs::read_dir(&disk.folder).into_iter().flatten().flatten();
            for file in files.map(|file| file.path()) {
                if file.file_name() != Some(JOURNAL.as_ref()) && !kept.contains(&file.as_path()) {
                    // A file that cannot be removed does no harm.
                    let _ = fs::remove_file(file);
                }
            }
        }
    }

    /// Removes everything: the job is done, or cannot be continued.
    pub fn remove(&self) {
        // The journal goes first. Files without a journal are not continued, and the next job removes them.
        let _ = fs::remove_file(self.journal.path());
        for disk in &self.disks {
            let _ = fs::remove_dir_all(&disk.folder);
        }
    }
}

/// The device of a path, or of the nearest existing folder above it; 0 if unknown.
fn device(path: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    path.ancestors()
        .map(|path| {
            if path.as_os_str().is_empty() {
                Path::new(".")
            } else {
                path
            }
        })
        .find_map(|path| fs::metadata(path).ok())
        .map_or(0, |metadata| metadata.dev())
}

/// Puts the best disk for runs first: one that serves neither the input nor the output, or else one that does not serve
/// the input.
fn order(disks: &mut [Disk], input: Option<u64>, output: u64) {
    disks.sort_by_key(|disk| (Some(disk.device) == input, disk.device == output));
}

/// A number that no other job has.
fn new_stamp(folder: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    (folder, std::process::id(), std::time::SystemTime::now()).hash(&mut hasher);
    // Not 0; and JSON's numbers are exact up to 2^53.
    (hasher.finish() >> 11) | 1
}

/// Checks that a job to be continued has the options that it began with. The error names the difference.
fn differs(begun: &Value, now: &Value, folder: &Path) -> Result<()> {
    if begun == now {
        return Ok(());
    }
    let (none, empty) = (Value::Null, serde_json::Map::new());
    let (begun, now) = (
        begun.as_object().unwrap_or(&empty),
        now.as_object().unwrap_or(&empty),
    );
    let names = begun.keys().chain(now.keys());
    let differing = names
        .clone()
        .find(|&name| begun.get(name).unwrap_or(&none) != now.get(name).unwrap_or(&none));
    Err(Error::Usage(format!(
        "{}: the interrupted run had other {}; continue it with the same, or remove the folder to begin again",
        folder.display(),
        differing.map_or("options", String::as_str)
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(folder: &Path, terms: Value) -> JobIdentity {
        JobIdentity {
            name: "a.parquet".into(),
            terms,
            input: None,
            output: folder.to_path_buf(),
        }
    }

    #[test]
    fn an_interrupted_job_is_continued_only_if_asked_for_and_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let job_of = |k| job(folder, json!({"inputs": k}));
        let (fresh, resumed) = (
            ScratchOptions::default(),
            ScratchOptions::default().resume(true),
        );
        let (mut first, entries) = Scratch::open(&job_of(1), &fresh).unwrap();
        assert!(entries.is_empty());
        first.append(&json!({"run": 0})).unwrap();
        let busy = Scratch::open(&job_of(1), &resumed).err().unwrap();
        assert!(busy.to_string().contains("another process"), "{busy}");
        for options in [&fresh, &resumed] {
            let busy = job_of(1).check(options);
            assert!(matches!(busy, Err(Error::Busy { .. })), "{busy:?}");
        }
        let file = first.create("run", None).unwrap().finish().unwrap();
        let half = first.create("run", None).unwrap().finish().unwrap();
        drop(first);
        let blocked = job_of(1).check(&fresh);
        assert!(
            matches!(blocked, Err(Error::Interrupted { .. })),
            "{blocked:?}"
        );
        assert!(job_of(1).check(&resumed).is_ok());
        assert!(Scratch::open(&job_of(1), &fresh).is_err());
        let other = Scratch::open(&job_of(2), &resumed).err().unwrap();
        assert!(other.to_string().contains("other inputs"), "{other}");
        let (again, entries) = Scratch::open(&job_of(1), &resumed).unwrap();
        assert_eq!(entries, [json!({"run": 0})]);
        again.remove_others(&[&file.path]);
        assert!(file.path.exists() && !half.path.exists());
        again.remove();
        assert_eq!(fs::read_dir(folder).unwrap().count(), 0);
    }

    #[test]
    fn runs_go_to_the_disk_that_is_free() {
        let disk = |device| Disk {
            folder: format!("{device}").into(),
            device,
        };
        let first = |devices: &[u64], input, output| {
            let mut disks: Vec<Disk> = devices.iter().map(|&device| disk(device)).collect();
            order(&mut disks, input, output);
            disks[0].device
        };
        assert_eq!(first(&[1, 2], Some(1), 1), 2);
        assert_eq!(first(&[1, 2], Some(2), 2), 1);
        assert_eq!(first(&[1, 2, 3], Some(1), 2), 3);
        assert_eq!(first(&[1, 2], Some(1), 2), 2);
        assert_eq!(first(&[1, 2], None, 1), 2);
        assert_eq!(first(&[1, 1], Some(1), 1), 1);
    }
}
