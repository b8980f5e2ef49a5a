//! A manifest's record of a part: its counts and its files.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::file::{FileNote, PageFile};
use super::layout::PartFile;
use super::window::Window;
use tokapi_storage::error::Result;
use tokapi_weigh::formula::Statistics;

/// The files and the counts of a part.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct PartNote {
    /// Its folder.
    pub name: String,
    pub documents: u64,
    /// The sequence number of its first document.
    #[serde(default)]
    pub first_sequence: u64,
    pub total_length: u64,
    pub terms: u64,
    pub postings: u64,
    pub files: BTreeMap<String, FileNote>,
    /// The number of fields in its records: the first ones that the index keeps. All of them unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fields: Option<usize>,
    /// Whether lengths come from the input instead of a count of terms; then they may differ from
    /// the sums of tfs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lengths_as_given: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted: Option<DeletedNote>,
}

/// The deleted documents of a part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct DeletedNote {
    /// The file, in the folder of the part.
    pub name: String,
    pub file: FileNote,
    pub documents: u64,
    pub total_length: u64,
}

impl PartNote {
    /// Opens a file of the part in `folder`.
    pub fn open(&self, folder: &Path, file: PartFile, window: &Window) -> Result<Arc<PageFile>> {
        let missing = FileNote { bytes: 0, stamp: 0 };
        let known = self.files.get(file.name).unwrap_or(&missing);
        PageFile::open(folder.join(file.name), file.kind, known, window)
    }

    /// The fields in its records, of those that the index keeps.
    pub fn fields_of<'a>(&self, kept: &'a [String]) -> &'a [String] {
        &kept[..self.fields.unwrap_or(kept.len()).min(kept.len())]
    }

    /// Whether this is the same part: its postings are equal, and other documents may be deleted.
    pub fn is_same_part(&self, other: &PartNote) -> bool {
        let of = |note: &PartNote| (note.documents, note.total_length, note.postings);
        self.name == other.name && self.files == other.files && of(self) == of(other)
    }

    /// Whether the deleted documents are in the file `name`.
    pub fn has_deleted(&self, name: &str) -> bool {
        self.deleted.as_ref().is_some_and(|note| note.name == name)
    }

    /// The number of documents that are not deleted, and their total length.
    pub fn live(&self) -> Statistics {
        let deleted = self.deleted.as_ref();
        let (documents, length) =
            deleted.map_or((0, 0), |note| (note.documents, note.total_length));
        Statistics {
            documents: self.documents.saturating_sub(documents),
            total_length: self.total_length.saturating_sub(length),
        }
    }
}
