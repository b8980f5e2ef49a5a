//! A CIFF file as an index.
//!
//! The documents stand behind the lists and are needed first: a first pass goes from list to list and
//! finds them, and whether the terms ascend. Where they do not, lists are read in the order of a table.

use std::fs::File;
use std::path::Path;

use super::lists::Lists;
use super::reader::Reader;
use super::scan::{DocumentRecords, Scan};
use crate::Index;
use crate::build;
use crate::create::Replaced;
use crate::part::layout;
use crate::part::note::PartNote;
use tokapi_storage::error::{Error, Result};
use tokapi_storage::memory::Memory;
use tokapi_storage::pipeline::StageTimes;
use tokapi_storage::progress::{Progress, Stage};
use tokapi_text::analyze::Analyzer;
use tokapi_text::corpus;

/// How a CIFF file is imported.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct ImportOptions {
    /// The threads; 0 is as many as there are processors.
    pub threads: usize,
    /// The memory to stay within; what is available unless given. An import takes 9 bytes a document beside the
    /// shares that are coded, and where terms do not ascend, 24 bytes a term with the term itself.
    pub memory: Option<Memory>,
    /// The index that the new one takes the place of.
    pub replaced: Option<Replaced>,
    /// Follows the position in the decompressed file.
    pub progress: Progress,
}

impl ImportOptions {
    /// Sets [`threads`](Self::threads).
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Sets [`memory`](Self::memory).
    pub fn memory(mut self, memory: Memory) -> Self {
        self.memory = Some(memory);
        self
    }

    /// Sets [`replaced`](Self::replaced).
    pub fn replaced(mut self, replaced: Option<Replaced>) -> Self {
        self.replaced = replaced;
        self
    }

    /// Sets [`progress`](Self::progress).
    pub fn progress(mut self, progress: Progress) -> Self {
        self.progress = progress;
        self
    }
}

impl Index {
    /// Writes an index of a file in the Common Index File Format, which may be compressed, to the new
    /// folder `path`: whole or not at all. Queries are cut by `analyzer`; terms and the lengths of
    /// documents are as the file has them.
    ///
    /// # Errors
    /// There is something at `path`; a file cannot be read or written; the file is not CIFF, cut off, or
    /// contradicts itself; there is too little memory.
    pub fn import_ciff(
        file: &Path,
        analyzer: &Analyzer,
        path: &Path,
        options: ImportOptions,
    ) -> Result<StageTimes> {
        let memory = options.memory.unwrap_or_else(Memory::available);
        let threads = match options.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        let progress = &options.progress;
        Index::write_new(analyzer, path, options.replaced, |folder, _| {
            let mut reader = open(file, folder)?;
            progress.begin(Stage::Reading, reader.size());
            let found = Scan::new(&mut reader, &memory, progress)?;
            let mut note = PartNote {
                lengths_as_given: true,
                ..PartNote::default()
            };
            let documents = build::write_documents(folder, 0, &mut note, || {
                let mut records = DocumentRecords::new(&reader, &found);
                move || records.batch()
            })?;
            let lists = Lists::new(reader.another(found.lists_at), &found);
            let (text, passed) = (&layout::TEXT, |_| progress.check());
            let stages = memory.encoding_stages(threads, 0, true);
            let (times, counted) =
                build::write_source(lists, text, &documents, stages, folder, &mut note, passed)?;
            (note.terms, note.postings) = counted;
            // The header and the documents, besides the lists that have been counted.
            let done = progress.snapshot().done;
            progress.add(reader.size().saturating_sub(done));
            Ok((note, times))
        })
    }
}

/// Opens a file; what is compressed is unpacked to a nameless file in `folder`.
fn open(file: &Path, folder: &Path) -> Result<Reader> {
    let opened = match corpus::unpack(file, folder)? {
        Some(unpacked) => unpacked,
        None => File::open(file).map_err(|source| Error::Read {
            path: file.to_path_buf(),
            source,
        })?,
    };
    Reader::new(opened, file)
}
