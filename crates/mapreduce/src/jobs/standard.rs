//! Every job of this folder, from its input to its file.
//!
//! The runners are no type parameters of the public functions: what compiles long compiles in this crate, once.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{
    AverageLength, Cooccurrence, Duplicates, InvertedIndex, PageRank, SortLines, WeighOnePass,
    WordCount, open_global, write_local,
};
#[cfg(feature = "kernels")]
use crate::gpu::GpuRunner;
use crate::{Documents, Lines, Processes, Report, Runner, Text, TextJob, TextWriter, Threads};
use tokapi_storage::error::{Error, Result};
use tokapi_storage::whole::{Staged, StagedFolder};
use tokapi_text::analyze::Analyzer;
use tokapi_text::corpus::{Corpus, OnError};
use tokapi_weigh::formula::Bm25;

/// A job of this crate, with its options.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum StandardJob {
    /// BM25 weights, in one pass.
    Bm25(Bm25),
    /// The local pass of BM25: a folder of term lists and a df table.
    Bm25Local,
    /// The global pass of BM25, from the folder of the local pass.
    Bm25Global(Bm25),
    /// The number of occurrences of each term.
    WordCount,
    /// The average length of documents.
    AverageLength,
    /// The probability of a term in documents with another term.
    Cooccurrence,
    /// The documents of each term.
    InvertedIndex,
    /// The lines in order; the corpus has the format [`Lines::FORMAT`].
    Sort,
    /// Identical documents, and near-duplicates of at least this similarity.
    Duplicates {
        /// The least similarity, from 0 to 1.
        similarity: f64,
    },
    /// Ranks of the nodes of a graph; the corpus has the format [`Lines::FORMAT`].
    PageRank,
}

/// The input of a job.
pub enum JobInput {
    /// The documents or lines of a corpus.
    Corpus {
        /// The corpus.
        corpus: Corpus,
        /// Makes terms of its texts.
        analyzer: Arc<Analyzer>,
        /// What to do with a document that the job cannot map.
        on_error: OnError,
    },
    /// The folder that [`StandardJob::Bm25Local`] wrote.
    Lists(PathBuf),
}

impl StandardJob {
    /// Runs the job on threads, and writes its outputs to `output`, compressed as the name says.
    ///
    /// # Errors
    /// The input cannot be read, or is not of the job's kind; a record cannot be mapped; scratch files or the
    /// output cannot be written; the job was cancelled.
    pub fn on_threads(&self, runner: &Threads, input: JobInput, output: &Path) -> Result<Report> {
        self.run(runner, input, output)
    }

    /// The same in worker processes.
    ///
    /// # Errors
    /// As [`StandardJob::on_threads`], and no worker can be started.
    pub fn on_processes(
        &self,
        runner: &Processes,
        input: JobInput,
        output: &Path,
    ) -> Result<Report> {
        self.run(runner, input, output)
    }

    /// The same with a GPU that maps, and threads that reduce.
    ///
    /// # Errors
    /// As [`StandardJob::on_threads`]; the job has no functions for a device; the device fails.
    #[cfg(feature = "kernels")]
    pub fn on_gpu(&self, runner: &GpuRunner, input: JobInput, output: &Path) -> Result<Report> {
        self.run(runner, input, output)
    }

    fn run(&self, runner: &impl Runner, input: JobInput, output: &Path) -> Result<Report> {
        match self {
            Self::Bm25Local => StagedFolder::create(output).map(drop)?,
            _ => Staged::check(output)?,
        }
        let (corpus, analyzer, on_error) = match (input, self) {
            (JobInput::Lists(folder), Self::Bm25Global(bm25)) => {
                let (mut job, lists) = open_global(runner, &folder, *bm25)?;
                return write(runner, &mut job, lists, output);
            }
            (JobInput::Lists(folder), _) => {
                return Err(Error::Usage(format!(
                    "{}: this folder of term lists is for the global pass of BM25 only",
                    folder.display()
                )));
            }
            (
                JobInput::Corpus {
                    corpus,
                    analyzer,
                    on_error,
                },
                _,
            ) => (
                corpus.with_progress(runner.progress().clone()),
                analyzer,
                on_error,
            ),
        };
        let tasks = runner.tasks();
        let documents = |corpus| Documents::new(corpus, analyzer.clone(), tasks);
        match *self {
            Self::Bm25(bm25) => {
                let mut job = WeighOnePass::new(bm25, on_error);
                let mut report = write(runner, &mut job, documents(corpus), output)?;
                report.skipped.append(job.skipped().clone());
                Ok(report)
            }
            Self::InvertedIndex => {
                let mut job = InvertedIndex::new(on_error);
                let mut report = write(runner, &mut job, documents(corpus), output)?;
                report.skipped.append(job.skipped().clone());
                Ok(report)
            }
            Self::WordCount => write(runner, &mut WordCount, documents(corpus), output),
            Self::AverageLength => write(runner, &mut AverageLength, documents(corpus), output),
            Self::Cooccurrence => write(runner, &mut Cooccurrence, documents(corpus), output),
            Self::Bm25Local => write_local(runner, documents(corpus), on_error, output),
            Self::Bm25Global(_) => Err(Error::Usage(
                "the global pass of BM25 reads the folder that its local pass has written: name that folder".into(),
            )),
            Self::Sort => write(runner, &mut SortLines, Lines::of(corpus, tasks), output),
            Self::PageRank => rows(output, |push| {
                let edges = Lines::of(corpus, tasks);
                let (_, report) =
                    PageRank::default().each(runner, edges, |name, rank| push(&(name, rank)))?;
                Ok(report)
            }),
            Self::Duplicates { similarity } => {
                let mut corpus = corpus;
                // The input is read twice.
                let _spooled = corpus.spool(output)?;
                let job = Duplicates { on_error, similarity };
                let again = || Ok(documents(corpus.again()));
                rows(output, |push| job.each(runner, again, |duplicate| push(&duplicate)))
            }
        }
    }
}

fn write<J: TextJob>(
    runner: &impl Runner,
    job: &mut J,
    input: J::Input,
    output: &Path,
) -> Result<Report> {
    let (staged, report) = runner.text(job, input, output)?;
    staged.commit()?;
    Ok(report)
}

/// Writes the rows that `fill` pushes.
fn rows(
    output: &Path,
    fill: impl FnOnce(&mut dyn FnMut(&dyn Text) -> Result<()>) -> Result<Report>,
) -> Result<Report> {
    let mut writer = TextWriter::create(output)?;
    let mut text = Vec::new();
    let report = fill(&mut |row| {
        text.clear();
        row.push(&mut text);
        writer.push(&text)
    })?;
    writer.finish()?.commit()?;
    Ok(report)
}
