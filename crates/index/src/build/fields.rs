//! The lists of fields: for every value of a field, the documents that have it.
//!
//! They have the form of term lists and are built in the same way, within the same memory. The
//! values of every document go to a file, one a line. The file is then read as a collection whose
//! terms are whole lines.

use std::io::{BufWriter, Write};
use std::path::Path;

use tempfile::NamedTempFile;

use super::lists;
use crate::document::key;
use crate::part::note::PartNote;
use tokapi_storage::error::{Error, Result};
use tokapi_storage::progress::Progress;
use tokapi_storage::scratch::ScratchOptions;
use tokapi_text::analyze::{Analyzer, AnalyzerOptions, Cut};
use tokapi_text::corpus::{Corpus, CorpusOptions, Format};
use tokapi_weigh::collection::{BuildOptions, Storage, Stored};

/// Collects the values of documents for the lists of fields.
pub(crate) struct FieldWriter {
    file: BufWriter<NamedTempFile>,
    line: String,
}

impl FieldWriter {
    /// Begins a temporary file in `folder`.
    pub fn create(folder: &Path) -> Result<Self> {
        let file = NamedTempFile::new_in(folder).map_err(Error::writing(folder))?;
        Ok(FieldWriter {
            file: BufWriter::with_capacity(1 << 20, file),
            line: String::new(),
        })
    }

    /// Adds the values of the next document, each with the name of its field.
    pub fn push<'a>(&mut self, values: impl Iterator<Item = (&'a str, &'a [u8])>) -> Result<()> {
        self.line.clear();
        let key = |(field, value)| key(field, &String::from_utf8_lossy(value));
        for key in values.filter_map(key) {
            self.line.push_str(&key);
            self.line.push('\n');
        }
        self.line.push('\n');
        let written = self.file.write_all(self.line.as_bytes());
        written.map_err(Error::writing(self.file.get_ref().path()))
    }

    /// Builds the lists of all documents in the part in `folder`.
    pub fn finish(
        self,
        folder: &Path,
        note: &mut PartNote,
        options: &BuildOptions,
        storage: &Storage,
        progress: &Progress,
    ) -> Result<()> {
        let file = self.file.into_inner();
        let file = file.map_err(|error| Error::writing(folder)(error.into_error()))?;
        let corpus = CorpusOptions::default().format(Some(Format::Terms));
        let analyzer = Analyzer::new(&AnalyzerOptions::default().cut(Cut::Whitespace))?;
        let storage = Storage::new(storage.memory)
            .scratch(ScratchOptions::default().folders(storage.scratch.folders.clone()))
            .output(folder.join("fields"));
        let corpus = Corpus::open(&[file.path()], corpus)?.with_progress(progress.clone());
        let stored = Stored::build(corpus, &options.clone().analyzer(analyzer), &storage)?;
        drop(file);
        if stored.statistics().documents != note.documents {
            return Err(Error::Verification(
                "the fields of some documents were not read back; please report it".into(),
            ));
        }
        lists::write_field_lists(stored, folder, note)
    }
}
