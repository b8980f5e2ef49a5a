//! The job of the command line, with its input.

use std::sync::Arc;

use tokapi::mapreduce::{Lines, Threads};
use tokapi::{Error, OnError};
use tokapi_mapreduce::jobs::{JobInput, StandardJob, local_files};
use tokapi_storage::apart::Paths;

use super::{Args, JobName};

impl Args {
    pub(super) fn standard(&self) -> StandardJob {
        let bm25 = self.formula.bm25();
        match self.job {
            JobName::Bm25 => StandardJob::Bm25(bm25),
            JobName::Bm25Local => StandardJob::Bm25Local,
            JobName::Bm25Global => StandardJob::Bm25Global(bm25),
            JobName::Wordcount => StandardJob::WordCount,
            JobName::AverageLength => StandardJob::AverageLength,
            JobName::Cooccurrence => StandardJob::Cooccurrence,
            JobName::InvertedIndex => StandardJob::InvertedIndex,
            JobName::Sort => StandardJob::Sort,
            JobName::Duplicates => StandardJob::Duplicates {
                similarity: self.least_similarity(),
            },
            JobName::Pagerank => StandardJob::PageRank,
        }
    }

    /// The input, in chunks that fit the memory of `how`. The output must not overwrite it.
    pub(super) fn input(&self, how: &Threads) -> Result<JobInput, Error> {
        if self.job == JobName::Bm25Global {
            let folder = self.reading.index()?;
            let mut paths = Paths::default();
            local_files(folder).iter().for_each(|file| paths.read(file));
            paths.write(&self.output);
            paths.check()?;
            return Ok(JobInput::Lists(folder.to_path_buf()));
        }
        let format = match self.job {
            JobName::Sort | JobName::Pagerank => Some(Lines::FORMAT),
            _ => None,
        };
        // Every thread or worker has a block and a chunk, and some blocks wait. The ids and places of short
        // documents take as much again.
        let chunks = 2 * how.threads as u64 + 4;
        let most = how.memory_bytes / 4 / chunks;
        let corpus = self.reading.corpus_within(most, format)?;
        let mut paths = self.reading.paths(std::slice::from_ref(&self.output));
        corpus.inputs().for_each(|input| paths.read(&input.path));
        paths.check()?;
        Ok(JobInput::Corpus {
            corpus,
            analyzer: Arc::new(self.reading.analyzer()?),
            on_error: match self.reading.skips() {
                true => OnError::Skip,
                false => OnError::Stop,
            },
        })
    }
}
