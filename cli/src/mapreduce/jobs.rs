//! Every job with its input and its output.

use std::path::Path;
use std::sync::Arc;

use tokapi::mapreduce::{Documents, Lines, Report, Runner};
use tokapi::{Corpus, Error};
use tokapi::{Format, OnError};
use tokapi_mapreduce::TextJob;
use tokapi_mapreduce::TextWriter;
use tokapi_mapreduce::jobs::{
    AverageLength, Cooccurrence, Duplicates, InvertedIndex, PageRank, SortLines, Tsv, WeighOnePass,
    WordCount, local_files, open_global, write_local,
};
use tokapi_storage::apart::Paths;
use tokapi_storage::whole::{Staged, StagedFolder};

use super::{Args, JobName};
use crate::progress::show;

/// Runs the job that `args` name, with `memory_bytes` for its input and its pairs.
pub fn run(args: &Args, runner: &impl Runner, memory_bytes: u64) -> Result<Report, Error> {
    let on_error = match args.reading.skips() {
        true => OnError::Skip,
        false => OnError::Stop,
    };
    let bm25 = args.formula.bm25();
    let output = &args.output;
    match args.job {
        JobName::Bm25Local => StagedFolder::create(output).map(drop)?,
        _ => Staged::check(output)?,
    }
    match args.job {
        JobName::Bm25 => {
            let mut job = WeighOnePass::new(bm25, on_error);
            let mut report = over_documents(args, runner, memory_bytes, &mut job)?;
            report.skipped.append(job.skipped().clone());
            Ok(report)
        }
        JobName::InvertedIndex => {
            let mut job = InvertedIndex::new(on_error);
            let mut report = over_documents(args, runner, memory_bytes, &mut job)?;
            report.skipped.append(job.skipped().clone());
            Ok(report)
        }
        JobName::Wordcount => over_documents(args, runner, memory_bytes, &mut WordCount),
        JobName::AverageLength => over_documents(args, runner, memory_bytes, &mut AverageLength),
        JobName::Cooccurrence => over_documents(args, runner, memory_bytes, &mut Cooccurrence),
        JobName::Bm25Local => {
            let corpus = args.corpus(runner, memory_bytes, None)?;
            followed(corpus, |corpus| {
                let documents = args.documents(corpus, runner)?;
                write_local(runner, documents, on_error, output)
            })
        }
        JobName::Bm25Global => {
            let folder = args.reading.index()?;
            let mut paths = Paths::default();
            local_files(folder).iter().for_each(|file| paths.read(file));
            paths.write(output);
            paths.check()?;
            let (mut job, lists) = open_global(runner, folder, bm25)?;
            write(runner, &mut job, lists, output)
        }
        JobName::Sort => followed(
            args.corpus(runner, memory_bytes, Some(Lines::FORMAT))?,
            |corpus| {
                let lines = Lines::of(corpus, runner.tasks());
                write(runner, &mut SortLines, lines, output)
            },
        ),
        JobName::Pagerank => followed(
            args.corpus(runner, memory_bytes, Some(Lines::FORMAT))?,
            |corpus| {
                let edges = Lines::of(corpus, runner.tasks());
                let mut writer = TextWriter::create(output)?;
                let mut text = Vec::new();
                let (_, report) = PageRank::default().each(runner, edges, |name, rank| {
                    text.clear();
                    (name, rank).push(&mut text);
                    writer.push(&text)
                })?;
                writer.finish()?.commit()?;
                Ok(report)
            },
        ),
        JobName::Duplicates => followed(args.corpus(runner, memory_bytes, None)?, |mut corpus| {
            // The input is read twice.
            let _spooled = corpus.spool(output)?;
            let usual = Duplicates::default().similarity;
            let job = Duplicates {
                on_error,
                similarity: args.similarity.unwrap_or(usual),
            };
            let again = || args.documents(corpus.again(), runner);
            let mut writer = TextWriter::create(output)?;
            let mut text = Vec::new();
            let report = job.each(runner, again, |duplicate| {
                text.clear();
                duplicate.push(&mut text);
                writer.push(&text)
            })?;
            writer.finish()?.commit()?;
            Ok(report)
        }),
    }
}

/// Runs a job over the documents of the input.
fn over_documents<J: TextJob<Input = Documents>>(
    args: &Args,
    runner: &impl Runner,
    memory_bytes: u64,
    job: &mut J,
) -> Result<Report, Error> {
    followed(args.corpus(runner, memory_bytes, None)?, |corpus| {
        let documents = args.documents(corpus, runner)?;
        write(runner, job, documents, &args.output)
    })
}

fn write<J: TextJob>(
    runner: &impl Runner,
    job: &mut J,
    input: J::Input,
    output: &Path,
) -> Result<Report, Error> {
    let (staged, report) = runner.text(job, input, output)?;
    staged.commit()?;
    Ok(report)
}

/// Does `work` while a bar shows how much of the corpus has been read.
fn followed<T>(corpus: Corpus, work: impl FnOnce(Corpus) -> Result<T, Error>) -> Result<T, Error> {
    let progress = corpus.progress();
    show(&progress, || work(corpus))
}

impl Args {
    /// The input, in chunks that fit the memory. The output must not overwrite it.
    fn corpus(
        &self,
        runner: &impl Runner,
        memory_bytes: u64,
        format: Option<Format>,
    ) -> Result<Corpus, Error> {
        // Every thread or worker has a block and a chunk, and some blocks wait. The ids and places of short
        // documents take as much again.
        let chunks = 2 * runner.tasks() as u64 + 4;
        let most = memory_bytes / 4 / chunks;
        let corpus = self.reading.corpus_within(most, format)?;
        let mut paths = self.reading.paths(std::slice::from_ref(&self.output));
        corpus.inputs().for_each(|input| paths.read(&input.path));
        paths.check()?;
        Ok(corpus.with_progress(runner.progress().clone()))
    }

    fn documents(&self, corpus: Corpus, runner: &impl Runner) -> Result<Documents, Error> {
        let analyzer = Arc::new(self.reading.analyzer()?);
        Ok(Documents::new(corpus, analyzer, runner.tasks()))
    }
}
