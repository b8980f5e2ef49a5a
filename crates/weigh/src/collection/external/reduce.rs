//! Merges of runs into fewer and larger ones, if there are too many to be merged at once.

use serde_json::json;

use super::External;
use super::buckets::{Bucket, Buckets};
use super::tasks::TaskPostings;
use crate::collection::run::{Run, RunWriter};
use tokapi_storage::error::Result;
use tokapi_storage::progress::Stage;

impl External {
    /// Merges neighbouring runs until as few are left as the memory allows.
    pub(super) fn reduce_runs(&mut self) -> Result<()> {
        let most = self.memory.merged_runs();
        while self.runs.len() > most {
            let bytes = self.runs.iter().map(|run| run.file.length).sum();
            self.progress.begin(Stage::Merging, bytes);
            let mut from = 0;
            while from < self.runs.len() {
                let to = self.runs.len().min(from + most);
                if to - from > 1 {
                    let merged = self.merge_runs(&self.runs[from..to])?;
                    self.replace(from..to, merged)?;
                }
                from += 1;
            }
        }
        Ok(())
    }

    /// Replaces some runs by the run merged from them.
    fn replace(&mut self, runs: std::ops::Range<usize>, merged: Run) -> Result<()> {
        let entry = json!({"run": merged.entry(), "replaces": [runs.start, runs.end]});
        let replaced: Vec<Run> = self.runs.splice(runs, [merged]).collect();
        // The job resumes from the runs of the journal, so these stay.
        if !self.rewritten {
            self.scratch.append(&entry)?;
            for run in replaced {
                // A file that cannot be removed does no harm.
                let _ = std::fs::remove_file(&run.file.path);
            }
        }
        Ok(())
    }

    /// Merges neighbouring runs into one.
    fn merge_runs(&self, runs: &[Run]) -> Result<Run> {
        let mut firsts = Vec::with_capacity(runs.len());
        let mut first = 0;
        for run in runs {
            firsts.push(first);
            // All documents together are fewer than 2^32: they have been counted.
            first += run.documents as u32;
        }
        let file = self.scratch.create("run", Some(&runs[0].file.path))?;
        let mut writer = RunWriter::new(file, runs, &self.progress)?;
        let mut buckets = Buckets::new(runs, self.memory.read_buffer_bytes(runs.len()))?;
        let worker = || {
            |bucket: Bucket| {
                let continues = bucket.piece.is_some_and(|piece| piece.continues);
                let merged = TaskPostings::of_bucket(&bucket, runs, &firsts)?;
                Ok(merged.blocks(continues))
            }
        };
        let push = |blocks| writer.push(&blocks);
        let next = || buckets.next_reported(&self.progress);
        let times = self.stages().run(next, worker, push)?;
        log::info!("merge of {} runs: {times}", runs.len());
        writer.finish(&self.progress)
    }
}
