//! The manifest: the parts of an index and their files. A new manifest replaces the old one as a
//! whole, so an index is always in one state or the next.

mod impacts;
mod keep;

use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::part::file::{self, VERSION};
use crate::part::note::PartNote;
use tokapi_storage::apart::INDEX_FORMAT;
use tokapi_storage::error::{Error, Result};
use tokapi_storage::whole::Staged;
use tokapi_text::analyze::{AnalyzerOptions, Cut};

pub use impacts::Impacts;
pub(crate) use impacts::MOST_IMPACT;
pub use keep::Keep;
pub(crate) use tokapi_storage::apart::MANIFEST;

/// The parts of an index, and the facts about all of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// Identifies the file as a manifest of an index.
    pub format: String,
    /// The version of the index format.
    pub version: u32,
    /// The analyzer of the text.
    pub analyzer: AnalyzerOptions,
    /// The data of documents that is kept besides postings.
    #[serde(default)]
    pub keep: Keep,
    /// The computation of impacts, if lists store impacts instead of tfs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impacts: Option<Impacts>,
    /// The parts, in the order of their documents.
    pub parts: Vec<PartNote>,
    /// The highest number used in a name.
    #[serde(default)]
    pub names: u64,
    /// Number of documents ever added.
    #[serde(default)]
    pub added: u64,
}

impl Manifest {
    /// An index without parts.
    pub fn new(analyzer: AnalyzerOptions) -> Self {
        Manifest {
            format: INDEX_FORMAT.into(),
            version: VERSION,
            analyzer,
            keep: Keep::default(),
            impacts: None,
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

    /// Whether `folder` has the manifest of an index, of any version.
    pub fn is_there(folder: &Path) -> bool {
        let text = std::fs::read(folder.join(MANIFEST)).unwrap_or_default();
        let first = text.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let value: Result<serde_json::Value, _> = serde_json::from_slice(first);
        value.is_ok_and(|value| value["format"] == INDEX_FORMAT)
    }

    /// Reads the manifest of the index in `folder`.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(MANIFEST);
        let text = std::fs::read(&path).map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => Error::Damaged {
                path: folder.to_path_buf(),
                what: "there is no index here; make one with `tokapi index`".into(),
            },
            _ => Error::Read {
                path: path.clone(),
                source,
            },
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
        if value["format"] != INDEX_FORMAT || value["version"] != VERSION {
            return Err(Error::Damaged {
                path,
                what: format!(
                    "this is {} of version {}, but this program reads version {VERSION}",
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
        match manifest.impacts.is_none_or(|impacts| impacts.is_sound()) {
            true => Ok(manifest),
            false => Err(file::damaged(&path, "its impacts are none")),
        }
    }

    /// Syncs the manifest to disk, then replaces the previous one by it.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let path = folder.join(MANIFEST);
        let failed = Error::writing(&path);
        let mut text = serde_json::to_vec(self).map_err(|error| failed(error.into()))?;
        text.push(b'\n');
        let sum = checksum(&text);
        let mut staged = Staged::create(&path)?;
        staged.write_all(&text).map_err(failed)?;
        staged.write_all(sum.as_bytes()).map_err(failed)?;
        staged.commit()?;
        tokapi_storage::whole::sync_folder(&path);
        Ok(())
    }
}

/// The second line of the file.
fn checksum(text: &[u8]) -> String {
    format!("crc32 {:08x}\n", crc32fast::hash(text))
}
