//! Runs merged into fewer and larger ones, where there are too many to be merged at once.

use serde_json::json;

use super::buckets::{Bucket, Buckets};
use super::tasks::Merged;
use crate::error::Result;
use crate::memory::Memory;
use crate::pipeline::Stages;
use crate::run::{Run, RunWriter};
use crate::scratch::Scratch;

/// Merges neighbours until at most as many runs are left as `memory` allows.
///
/// # Errors
/// A run cannot be read; scratch cannot be written.
pub(super) fn reduce(
    runs: &mut Vec<Run>,
    memory: &Memory,
    stages: Stages,
    scratch: &mut Scratch,
) -> Result<()> {
    let most = memory.merged_runs();
    while runs.len() > most {
        let mut from = 0;
        while from < runs.len() {
            let to = runs.len().min(from + most);
            if to - from > 1 {
                let merged = merge(&runs[from..to], memory, stages, scratch)?;
                scratch.append(&json!({"run": merged.entry(), "replaces": [from, to]}))?;
                for run in runs.splice(from..to, [merged]) {
                    // The journal has the merged one; what cannot be removed is in nobody's way.
                    let _ = std::fs::remove_file(&run.file.path);
                }
            }
            from += 1;
        }
    }
    Ok(())
}

/// One run of several neighbours.
fn merge(runs: &[Run], memory: &Memory, stages: Stages, scratch: &Scratch) -> Result<Run> {
    let mut firsts = Vec::with_capacity(runs.len());
    let mut first = 0;
    for run in runs {
        firsts.push(first);
        // All documents together are fewer than 2^32: they have been counted.
        first += run.documents as u32;
    }
    let mut writer = RunWriter::new(scratch.create("run", Some(&runs[0].file.path))?, runs)?;
    let mut buckets = Buckets::new(runs, memory.read_buffer_bytes(runs.len()))?;
    let worker = || {
        |bucket: Bucket| {
            let continues = bucket.piece.is_some_and(|piece| piece.continues);
            let merged = Merged::of_bucket(&bucket, runs, &firsts)?;
            Ok(merged.blocks(continues))
        }
    };
    let times = stages.run(|| buckets.next(), worker, |blocks| writer.push(&blocks))?;
    log::info!("{} runs merged: {times:?}", runs.len());
    writer.finish()
}
