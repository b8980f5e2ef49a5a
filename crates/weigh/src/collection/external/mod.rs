//! A collection larger than memory: runs on scratch, and the global pass over them.
//!
//! The local pass has left one run per chunk (`spill`). By term, the runs are cut into buckets (`buckets`), which
//! all threads merge into row groups (`tasks`) and weigh. By document, every run is weighed alone, after the df of
//! its terms is known (`lexicon`, `rows`). The budget bounds all memory.

mod buckets;
mod documents;
mod reduce;
mod repeated;
mod rows;
mod spill;
mod tasks;
mod terms;

pub(crate) use documents::DocumentTable;
#[cfg(test)]
pub(crate) use repeated::repeated;
pub(crate) use spill::Spill;
pub use tasks::{Task, TaskPostings, Tasks};
pub(crate) use terms::{TermReader, TermWriter};

use crate::collection::options::BuildOptions;
use crate::collection::run::Run;
use crate::collection::{ChunkNote, CollectionPostings, Documents, Weights, repeated_id};
use crate::formula::{Bm25, Statistics};
use crate::postings::Frequencies;
use tokapi_storage::error::{Error, Result};
use tokapi_storage::memory::Memory;
use tokapi_storage::pipeline::{StageTimes, Stages};
use tokapi_storage::progress::{Progress, Stage};
use tokapi_storage::ranks::Ranks;
use tokapi_storage::scratch::Scratch;
use tokapi_text::analyze::Analyzer;
use tokapi_text::corpus::{OnError, Skipped};

/// An inverted collection on scratch.
pub struct External {
    pub(crate) runs: Vec<Run>,
    /// The number of the first document of every run.
    firsts: Vec<u32>,
    documents: DocumentTable,
    pub(crate) statistics: Statistics,
    note: ChunkNote,
    scratch: Scratch,
    pub(crate) memory: Memory,
    threads: usize,
    no_overlap: bool,
    /// Whether the runs differ from those of the journal.
    rewritten: bool,
    analyzer: Analyzer,
    pub(crate) progress: Progress,
    /// Whether scratch is kept after a drop, so that the job can be resumed.
    pub(crate) is_kept: bool,
    pub(crate) fallback: Option<String>,
    pub(crate) times: StageTimes,
}

impl Drop for External {
    /// Work that ends early can be resumed from scratch, unless it is cancelled.
    fn drop(&mut self) {
        if !self.is_kept || self.progress.is_cancelled() {
            self.scratch.remove();
        }
    }
}

impl External {
    /// The collection that the local pass has put on scratch.
    ///
    /// # Errors
    /// A run cannot be read; scratch cannot be written.
    pub(crate) fn new(
        mut spill: Spill,
        threads: usize,
        options: &BuildOptions,
        progress: Progress,
    ) -> Result<Self> {
        spill.end()?;
        let (memory, runs, note, scratch) = spill.into_parts()?;
        let mut external = External {
            documents: DocumentTable::default(),
            statistics: Statistics::default(),
            firsts: Vec::new(),
            runs,
            note,
            scratch,
            memory,
            threads,
            no_overlap: options.no_overlap,
            rewritten: false,
            analyzer: options.analyzer.clone(),
            progress,
            is_kept: true,
            fallback: None,
            times: StageTimes::default(),
        };
        external.open_documents()?;
        external.count();
        log::info!(
            "{} documents, total length {} terms",
            external.statistics.documents,
            external.statistics.total_length
        );
        Ok(external)
    }

    /// Opens the table of the documents of all runs.
    fn open_documents(&mut self) -> Result<()> {
        let memory_bytes = self.memory.documents_bytes();
        self.documents = DocumentTable::open(&self.runs, memory_bytes, &self.progress)?;
        Ok(())
    }

    /// Numbers and counts the documents.
    fn count(&mut self) {
        self.firsts.clear();
        self.statistics = Statistics::default();
        for run in &self.runs {
            // All together are fewer than 2^32.
            self.firsts.push(self.statistics.documents as u32);
            self.statistics.documents += run.documents;
            self.statistics.total_length += run.total_length;
        }
    }

    /// Removes the documents with the id of an earlier one, if repeated ids are skipped.
    ///
    /// # Errors
    /// The first repeated id, if errors stop; a run cannot be read; scratch cannot be written.
    pub(crate) fn remove_repeated(&mut self, on_error: OnError) -> Result<()> {
        let memory_bytes = self.memory.documents_bytes();
        let repeated =
            repeated::repeated(&self.runs, &self.documents, memory_bytes, &self.progress)?;
        for &(repeat, of) in &repeated {
            match on_error {
                OnError::Stop => return Err(self.repeated_id(repeat, of)),
                OnError::Skip => {
                    let mut skipped = std::mem::take(&mut self.note.skipped);
                    skipped.add(|| self.repeated_id(repeat, of));
                    self.note.skipped = skipped;
                }
            }
        }
        if repeated.is_empty() {
            return Ok(());
        }
        let gone: Vec<u32> = repeated.iter().map(|&(repeat, _)| repeat).collect();
        for (run, &first) in self.runs.iter_mut().zip(&self.firsts) {
            // All documents together are fewer than 2^32.
            let end = first + run.documents as u32;
            let from = gone.partition_point(|&document| document < first);
            let to = gone.partition_point(|&document| document < end);
            let gone: Vec<u32> = gone[from..to].iter().map(|gone| gone - first).collect();
            if !gone.is_empty() {
                let mut loaded = run.load(1 << 20)?;
                loaded.remove(&gone);
                let stamp = self.scratch.stamp();
                *run = loaded.encode(stamp).write(
                    &self.scratch,
                    Some(&run.file.path),
                    &self.progress,
                )?;
            }
        }
        self.rewritten = true;
        self.count();
        self.open_documents()
    }

    /// Merges runs until all of them can be merged by term within the memory. Afterwards they are too large for the
    /// pass by document.
    ///
    /// # Errors
    /// A run cannot be read; scratch cannot be written.
    pub fn reduce(&mut self) -> Result<()> {
        if self.runs.len() > self.memory.merged_runs() {
            self.reduce_runs()?;
            self.count();
            self.open_documents()?;
        }
        Ok(())
    }

    /// The error for document `repeat` with the id of document `of`.
    fn repeated_id(&self, repeat: u32, of: u32) -> Error {
        let run = self.firsts.partition_point(|&first| first <= repeat) - 1;
        let in_run = u64::from(repeat - self.firsts[run]);
        let path = self.runs[run].file_of(in_run).unwrap_or_default();
        let documents = self.documents.fetch(1, [repeat as usize].into_iter());
        let id = documents.map_or(String::new(), |documents| {
            documents.ids.text(0).into_owned()
        });
        repeated_id(path, &id, repeat, of)
    }

    /// The analyzer of its terms.
    pub fn analyzer(&self) -> &Analyzer {
        &self.analyzer
    }

    /// The progress of all operations on the collection.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// N and the total length.
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }

    /// The number of postings.
    pub fn postings_count(&self) -> u64 {
        self.runs.iter().map(|run| run.postings).sum()
    }

    /// The bytes of text read, after decompression.
    pub fn bytes(&self) -> u64 {
        self.note.bytes
    }

    /// The skipped documents.
    pub fn skipped(&self) -> &Skipped {
        &self.note.skipped
    }

    /// The stages of the global pass.
    pub fn stages(&self) -> Stages {
        self.memory
            .encoding_stages(self.threads, 0, !self.no_overlap)
    }

    /// The stages that encode row groups of whole runs.
    pub(crate) fn run_encoding_stages(&self) -> Stages {
        // The weighed run alone; the data for weighing it is gone. Measured.
        let held_bytes = self.largest_run_bytes() / 2;
        self.memory
            .encoding_stages(self.threads, held_bytes, !self.no_overlap)
    }

    /// The stages of a pass with a whole run in memory on every thread.
    pub(crate) fn run_stages(&self) -> Stages {
        let run_bytes = self.largest_run_bytes();
        self.memory
            .rows_stages(self.threads, run_bytes, !self.no_overlap)
    }

    /// The memory of the largest run, weighed by document.
    fn largest_run_bytes(&self) -> u64 {
        // Measured: 40 bytes per posting, and six per byte of terms in the file.
        let run_bytes = |run: &Run| 40 * run.postings + 6 * run.file.length;
        self.runs.iter().map(run_bytes).max().unwrap_or(0)
    }

    /// All postings by term, then by document, `rows` at a time. Begins [`Stage::Writing`], and counts the postings in
    /// it.
    ///
    /// # Errors
    /// A run cannot be read, or is damaged.
    pub fn tasks(&self, rows: usize) -> Result<Tasks> {
        let buffer_bytes = self.memory.read_buffer_bytes(self.runs.len());
        self.progress.begin(Stage::Writing, self.postings_count());
        Tasks::new(&self.runs, rows, buffer_bytes, &self.progress)
    }

    /// Merges the postings of a task; documents are numbered as in the whole collection.
    ///
    /// # Errors
    /// A run is damaged.
    pub fn merge(&self, task: Task) -> Result<TaskPostings> {
        task.merge(&self.runs, &self.firsts)
    }

    /// Merges and weighs the postings of a task. Only documents with postings in the task are listed, numbered from 0.
    /// Returns also the terms that belong to no earlier task.
    pub(crate) fn weigh(
        &self,
        task: Task,
        bm25: &Bm25,
    ) -> Result<(Weights, std::ops::Range<usize>)> {
        let merged = self.merge(task)?;
        // Fewer than 2^32.
        let ranks = Ranks::new(&merged.documents, self.statistics.documents as usize);
        let documents = self.documents.fetch(ranks.count(), ranks.members())?;
        let norms = documents.norms(bm25, &self.statistics);
        let TaskPostings {
            lexicon,
            offsets,
            documents: mut posting_documents,
            tfs,
            new_terms,
        } = merged;
        for document in &mut posting_documents {
            *document = ranks.rank(*document);
        }
        let mut weights = vec![0.0; tfs.len()];
        for (bounds, &df) in offsets.windows(2).zip(&lexicon.df) {
            let range = bounds[0] as usize..bounds[1] as usize;
            if range.is_empty() {
                continue;
            }
            bm25.weigh(
                bm25.idf(self.statistics.documents, df),
                &posting_documents[range.clone()],
                &tfs[range.clone()],
                &norms,
                &mut weights[range],
            );
        }
        let postings = CollectionPostings {
            lexicon,
            documents,
            statistics: self.statistics,
            offsets,
            posting_documents,
            frequencies: tfs.into_iter().collect::<Frequencies>(),
        };
        Ok((Weights { postings, weights }, new_terms))
    }

    /// A list of terms on scratch, empty.
    pub(crate) fn new_terms(&self) -> Result<TermWriter> {
        Ok(TermWriter::new(self.scratch.create("terms", None)?))
    }

    /// The documents in batches.
    pub fn document_batches(
        &self,
        rows: usize,
    ) -> impl FnMut() -> Result<Option<Documents>> + Send + '_ {
        let mut from = 0;
        // Fewer than 2^32.
        let all = self.statistics.documents as usize;
        move || {
            self.progress.check()?;
            let batch = from..all.min(from + rows);
            from = batch.end;
            match batch.is_empty() {
                true => Ok(None),
                false => self.documents.fetch(batch.len(), batch).map(Some),
            }
        }
    }

    /// Removes all its files from scratch.
    pub fn remove(mut self) {
        self.is_kept = false;
    }
}
