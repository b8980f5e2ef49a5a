//! Import of a CIFF file as an index.
//!
//! The documents come after the lists in the file, but are needed first. So a first pass skips
//! from list to list, finds the documents, and tests whether the terms ascend. If they do not, a
//! table gives the order in which lists are read.

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

/// Options of a CIFF import.
///
/// ```
/// # use tokapi_index::ImportOptions;
/// # use tokapi_storage::progress::Progress;
/// # use tokapi_index::{Index, IndexBuilder};
/// # use tokapi_text::corpus::{Corpus, CorpusOptions, Document};
/// # fn main() -> tokapi_storage::error::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("index");
/// # let documents = [Document::new("a", "Boundary layers"), Document::new("b", "Wing flow")];
/// # let corpus = Corpus::from_documents(documents, CorpusOptions::default());
/// # IndexBuilder::new(&path).build(corpus)?;
/// # let (file, copy) = (folder.path().join("index.ciff"), folder.path().join("copy"));
/// let index = Index::open(&path)?;
/// let exported = index.export_ciff(&file, &Progress::new())?;
/// assert_eq!((exported.documents, exported.postings), (2, 4));
/// Index::import_ciff(&file, index.analyzer(), &copy, ImportOptions::default().threads(1))?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct ImportOptions {
    /// The number of threads; 0 means one a processor.
    pub threads: usize,
    /// The memory limit; the available memory unless given. An import takes 9 bytes a document in
    /// addition to the shares being coded. If terms do not ascend, it takes 24 bytes and the term
    /// itself for every term.
    pub memory: Option<Memory>,
    /// The existing index to replace.
    pub replaced: Option<Replaced>,
    /// Reports the position in the decompressed file.
    pub progress: Progress,
}

impl ImportOptions {
    tokapi_storage::setters! {
        threads: usize, memory: Memory, replaced: Option<Replaced>, progress: Progress,
    }
}

impl Index {
    /// Imports a file in the Common Index File Format, which may be compressed, as an index in the
    /// new folder `path`, whole or not at all. `analyzer` cuts queries; terms and lengths of
    /// documents come from the file.
    ///
    /// # Errors
    /// Something exists at `path`; a file cannot be read or written; the file is not in the
    /// format, is truncated or contradicts itself; there is too little memory.
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
            let mut reader = open(file, folder, progress)?;
            progress.begin(Stage::Reading, reader.size());
            let found = Scan::new(&mut reader, &memory, progress)?;
            let mut note = PartNote {
                lengths_as_given: true,
                ..PartNote::default()
            };
            let documents = build::write_documents(folder, 0, &mut note, progress, || {
                let mut records = DocumentRecords::new(&reader, &found);
                move || records.batch()
            })?;
            let lists = Lists::new(reader.another(found.lists_at), &found);
            let (text, passed) = (&layout::TEXT, |_| progress.check());
            let stages = memory.encoding_stages(threads, 0, true);
            let (times, counted) =
                build::write_source(lists, text, &documents, stages, folder, &mut note, passed)?;
            (note.terms, note.postings) = counted;
            // The header and the documents; the lists have been counted already.
            let done = progress.snapshot().done;
            progress.add(reader.size().saturating_sub(done));
            Ok((note, times))
        })
    }
}

/// Opens a file. A compressed file is decompressed to an unnamed file in `folder`.
fn open(file: &Path, folder: &Path, progress: &Progress) -> Result<Reader> {
    let opened = match corpus::unpack(file, folder, progress)? {
        Some(unpacked) => unpacked,
        None => File::open(file).map_err(|source| Error::Read {
            path: file.to_path_buf(),
            source,
        })?,
    };
    Reader::new(opened, file)
}
