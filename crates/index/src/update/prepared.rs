//! Documents that are written and not yet committed.

use super::state::Shared;
use crate::build::{self, Built, Contents};
use crate::folder::NewFolder;
use crate::manifest::Keep;
use crate::part::note::PartNote;
use tokapi_storage::error::{Error, Result};
use tokapi_storage::pipeline::StageTimes;
use tokapi_text::analyze::Analyzer;
use tokapi_weigh::collection::Stored;

/// New documents as a part on disk that no epoch names yet. [`Transaction`](super::Transaction) adds them, and has an
/// example; without that, they are removed.
pub struct Prepared {
    pub(super) folder: NewFolder,
    pub(super) note: PartNote,
    /// The data that is kept of the documents.
    pub(super) keep: Keep,
    /// The documents that were read.
    built: Built,
}

impl Prepared {
    /// Writes the documents of a collection, and what the index keeps of them.
    pub(super) fn write(
        shared: &Shared,
        stored: Stored,
        contents: Option<Contents<'_>>,
    ) -> Result<Self> {
        let (analyzer, keep, first) = {
            let manifest = shared.manifest();
            let analyzer = Analyzer::new(&manifest.analyzer)?;
            (analyzer, manifest.keep.clone(), manifest.added)
        };
        if stored.analyzer().options() != analyzer.options() {
            return Err(Error::Usage(format!(
                "{} has the analyzer ({analyzer}), and the new documents were cut by another ({}): read them with that \
                 of the index",
                shared.path.display(),
                stored.analyzer()
            )));
        }
        let gives = contents.as_ref().map(Contents::keep);
        let gives = gives.cloned().unwrap_or_default();
        if !gives.goes_on_from(&keep) {
            return Err(Error::Usage(format!(
                "{} keeps {keep}, and the new documents come with something else",
                shared.path.display(),
            )));
        }
        let progress = stored.progress().clone();
        let mut built = Built::of(&stored);
        let folder = shared.new_folder()?;
        let read = stored.documents_read();
        let (mut note, times) = build::write_part(stored, &folder.path, first)?;
        built.written = times;
        note.name.clone_from(&folder.name);
        note.fields = Some(gives.fields.len());
        if let Some(contents) = contents {
            contents.write(&folder.path, &mut note, first, read, &analyzer, &progress)?;
        }
        Ok(Prepared {
            folder,
            note,
            keep: gives,
            built,
        })
    }

    /// The number of documents.
    pub fn documents(&self) -> u64 {
        self.note.documents
    }

    /// The documents that were read.
    pub fn built(&self) -> &Built {
        &self.built
    }

    /// The time of each step.
    pub(super) fn times(&self) -> StageTimes {
        self.built.written
    }
}
