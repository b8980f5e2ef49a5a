//! The manifest: the parts of an index and their files. Each state of an index, an epoch, has a manifest of its own. It
//! appears as a whole, so an index is always in one state or the next.

pub(crate) mod epoch;
mod impacts;
mod keep;

use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::part::file::{self, VERSION};
use crate::part::note::PartNote;
use tokapi_storage::apart::INDEX_FORMAT;
use tokapi_storage::error::{Error, Result};
use tokapi_storage::whole::{Staged, sync_folder};
use tokapi_text::analyze::{AnalyzerOptions, Cut};
use tokapi_weigh::formula::Statistics;

pub use impacts::Impacts;
pub(crate) use impacts::MOST_IMPACT;
pub use keep::Keep;

/// The name under which manifests are written until they are whole.
pub(crate) const STAGED: &str = "epoch";
/// The version of manifests without epochs, in one file that was replaced, and of those with.
const FORMER_VERSION: u32 = VERSION;
const EPOCH_VERSION: u32 = 2;

/// The parts of an index, and the facts about all of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// Identifies the file as a manifest of an index.
    pub format: String,
    /// The version of the index format.
    pub version: u32,
    /// The number of the state, from 1 on; 0 for an index of former versions.
    #[serde(default)]
    pub epoch: u64,
    /// The number of documents that are not deleted, and their total length.
    #[serde(default)]
    pub documents: u64,
    #[serde(default)]
    pub total_length: u64,
    /// The analyzer of the text.
    pub analyzer: AnalyzerOptions,
    /// The data of documents that is kept besides postings.
    #[serde(default)]
    pub keep: Keep,
    /// The computation of impacts, if lists store impacts instead of tfs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impacts: Option<Impacts>,
    /// A text of the program that uses the index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attachment: Option<String>,
    /// The parts, in the order of their documents.
    pub parts: Vec<PartNote>,
    /// The highest number used in a name.
    #[serde(default)]
    pub names: u64,
    /// Number of documents ever added: the sequence number of the next one.
    #[serde(default)]
    pub added: u64,
}

impl Manifest {
    /// An index without parts.
    pub fn new(analyzer: AnalyzerOptions) -> Self {
        Manifest {
            format: INDEX_FORMAT.into(),
            version: EPOCH_VERSION,
            epoch: 1,
            documents: 0,
            total_length: 0,
            analyzer,
            keep: Keep::default(),
            impacts: None,
            attachment: None,
            parts: Vec::new(),
            names: 0,
            added: 0,
        }
    }

    /// A number for a new folder or file name, unused so far.
    pub fn new_name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}-{}", self.names)
    }

    /// Makes `part` the only part. All its documents are new.
    pub fn begin_with(&mut self, part: PartNote) {
        self.added = part.documents;
        self.parts = vec![part];
    }

    /// The number of documents that are not deleted, and their total length.
    pub fn live(&self) -> Statistics {
        let live = self.parts.iter().map(PartNote::live);
        live.fold(Statistics::default(), |sum, part| Statistics {
            documents: sum.documents + part.documents,
            total_length: sum.total_length + part.total_length,
        })
    }

    /// Whether `folder` has the manifest of an index, of any version.
    pub fn is_there(folder: &Path) -> bool {
        epoch::all(folder).into_iter().any(|epoch| {
            let text = std::fs::read(epoch::path_of(folder, epoch)).unwrap_or_default();
            let first = text.split(|&byte| byte == b'\n').next().unwrap_or_default();
            let value: Result<serde_json::Value, _> = serde_json::from_slice(first);
            value.is_ok_and(|value| value["format"] == INDEX_FORMAT)
        })
    }

    /// Reads the newest manifest of the index in `folder`. A manifest that is not whole was never committed, and is
    /// passed over.
    pub fn read(folder: &Path) -> Result<Self> {
        let mut torn = None;
        for epoch in epoch::all(folder) {
            match Manifest::read_at(folder, epoch) {
                Ok(manifest) => {
                    if let Some(error) = torn {
                        log::warn!("{error}: epoch {epoch} is used instead");
                    }
                    return Ok(manifest);
                }
                // Removed meanwhile: there is a newer one.
                Err(Error::Read { source, .. })
                    if source.kind() == std::io::ErrorKind::NotFound =>
                {
                    return Manifest::read(folder);
                }
                Err(error) if is_torn(folder, epoch) => torn = torn.or(Some(error)),
                Err(error) => return Err(error),
            }
        }
        Err(torn.unwrap_or_else(|| Error::Damaged {
            path: folder.to_path_buf(),
            what: "there is no index here; make one with `tokapi index`".into(),
        }))
    }

    /// Reads the manifest of an epoch.
    pub fn read_at(folder: &Path, epoch: u64) -> Result<Self> {
        let path = epoch::path_of(folder, epoch);
        let text = std::fs::read(&path).map_err(|source| Error::Read {
            path: path.clone(),
            source,
        })?;
        let (text, sum) = match text.iter().position(|&byte| byte == b'\n') {
            Some(end) => text.split_at(end + 1),
            None => (&text[..], &[][..]),
        };
        if sum != checksum(text).as_bytes() {
            return Err(file::damaged(&path, "its checksum is wrong"));
        }
        let wrong = |error: serde_json::Error| file::damaged(&path, &error.to_string());
        let value: serde_json::Value = serde_json::from_slice(text).map_err(wrong)?;
        let version = if epoch == 0 {
            FORMER_VERSION
        } else {
            EPOCH_VERSION
        };
        if value["format"] != INDEX_FORMAT || value["version"] != version {
            return Err(Error::Damaged {
                path,
                what: format!(
                    "this is {} of version {}, but this program reads version {version}",
                    value["format"], value["version"]
                ),
            });
        }
        if let Some(cut) = value["analyzer"]["cut"].as_str()
            && Cut::deserialize(&value["analyzer"]["cut"]).is_err()
        {
            return Err(Error::Damaged {
                path,
                what: format!(
                    "its analyzer `{}` is unknown here: use the version of tokapi that wrote it, or \
                     a newer one",
                    cut.escape_debug()
                ),
            });
        }
        let mut manifest: Manifest = serde_json::from_value(value).map_err(wrong)?;
        manifest.analyzer.drop_idle_stop_words();
        for part in &mut manifest.parts {
            part.fields.get_or_insert(manifest.keep.fields.len());
        }
        if epoch == 0 {
            // Former versions numbered documents by their places.
            let mut next = 0;
            for part in &mut manifest.parts {
                part.first_sequence = next;
                next += part.documents;
            }
            manifest.added = manifest.added.max(next);
        }
        if manifest.epoch != epoch {
            return Err(file::damaged(&path, "it is the manifest of another epoch"));
        }
        match manifest.impacts.is_none_or(|impacts| impacts.is_sound()) {
            true => Ok(manifest),
            false => Err(file::damaged(&path, "its impacts are none")),
        }
    }

    /// Commits this state to the index in `folder`: syncs the manifest to disk and puts it under the name of its epoch.
    ///
    /// # Errors
    /// Another process has committed this epoch; the manifest cannot be written.
    pub fn commit(&mut self, folder: &Path) -> Result<()> {
        let path = epoch::path_of(folder, self.epoch);
        if !self.staged(folder)?.commit_new(&path)? {
            return Err(Error::Busy {
                path: folder.to_path_buf(),
                what: format!(
                    "another process has changed this index: epoch {} is there already; open it again",
                    self.epoch
                ),
            });
        }
        sync_folder(&path).inspect_err(|_| {
            // An epoch whose name may be lost is none.
            let _ = std::fs::remove_file(&path);
        })
    }

    /// Replaces the manifest of its epoch, for tests of damages.
    pub fn forge(&mut self, folder: &Path) -> Result<()> {
        let staged = self.staged(folder)?;
        let path = epoch::path_of(folder, self.epoch);
        let text = std::fs::read(staged.temporary());
        let failed = Error::writing(&path);
        std::fs::write(&path, text.map_err(failed)?).map_err(failed)
    }

    /// The manifest as a file that has no name yet.
    fn staged(&mut self, folder: &Path) -> Result<Staged> {
        let live = self.live();
        (self.documents, self.total_length) = (live.documents, live.total_length);
        if self.epoch > 0 {
            self.version = EPOCH_VERSION;
        }
        let path = epoch::path_of(folder, self.epoch);
        let failed = Error::writing(&path);
        let mut staged = Staged::create(&folder.join(STAGED))?;
        let mut text = serde_json::to_vec(self).map_err(|error| failed(error.into()))?;
        text.push(b'\n');
        let sum = checksum(&text);
        staged.write_all(&text).map_err(failed)?;
        staged.write_all(sum.as_bytes()).map_err(failed)?;
        Ok(staged)
    }
}

/// Whether the manifest of an epoch is not whole: it ends before its checksum does. One that is whole and has another
/// checksum was committed, and is damaged.
fn is_torn(folder: &Path, epoch: u64) -> bool {
    let text = std::fs::read(epoch::path_of(folder, epoch)).unwrap_or_default();
    let end = text.iter().position(|&byte| byte == b'\n');
    end.is_none_or(|end| !is_checksum(&text[end + 1..]))
}

/// Whether a line has the form of a [`checksum`].
fn is_checksum(line: &[u8]) -> bool {
    let digits = line.strip_prefix(b"crc32 ");
    let digits = digits.and_then(|digits| digits.strip_suffix(b"\n"));
    digits.is_some_and(|digits| digits.len() == 8 && digits.iter().all(u8::is_ascii_hexdigit))
}

/// The second line of the file.
fn checksum(text: &[u8]) -> String {
    format!("crc32 {:08x}\n", crc32fast::hash(text))
}
