//! The sorted runs of a job on scratch, and its journal.

use std::path::Path;

use serde_json::{Value, json};

use super::columns::Word;
use super::run::{EncodedRun, SortedRun};
use tokapi_storage::error::Result;
use tokapi_storage::progress::Progress;
use tokapi_storage::scratch::{JobIdentity, Scratch, ScratchOptions};

/// The runs of a job on scratch.
pub(super) struct Runs<W> {
    pub scratch: Scratch,
    pub runs: Vec<SortedRun<W>>,
    pub chunk_bytes: usize,
    /// The start of the next chunk, if any chunk has been sorted.
    pub position: Option<Value>,
    /// Whether the whole input has been sorted.
    pub complete: bool,
    pairs: bool,
}

impl<W: Word> Runs<W> {
    /// Begins the job, or continues an interrupted one.
    ///
    /// # Errors
    /// An interrupted job blocks this one or is damaged; scratch cannot be written.
    pub(super) fn open(
        job: &JobIdentity,
        options: &ScratchOptions,
        pairs: bool,
        chunk_bytes: usize,
    ) -> Result<Self> {
        let (mut scratch, entries) = Scratch::open(job, options)?;
        let (mut runs, mut position, mut complete) = (Vec::new(), None, false);
        let mut begun_with = None;
        for entry in &entries {
            begun_with = entry["chunk_bytes"].as_u64().or(begun_with);
            complete |= entry["complete"] == true;
            if let Some(run) = SortedRun::of_entry(&entry["run"], &scratch, pairs) {
                runs.push(run?);
                position = Some(entry["position"].clone());
            }
        }
        let kept: Vec<&Path> = runs.iter().map(SortedRun::path).collect();
        scratch.remove_others(&kept);
        if begun_with.is_none() {
            scratch.append(&json!({"chunk_bytes": chunk_bytes}))?;
        }
        let begun_with = begun_with.and_then(|bytes| usize::try_from(bytes).ok());
        Ok(Runs {
            scratch,
            runs,
            chunk_bytes: begun_with.map_or(chunk_bytes, |begun| begun.min(chunk_bytes)),
            position,
            complete,
            pairs,
        })
    }

    /// Adds a run; the next chunk begins at `position`.
    ///
    /// # Errors
    /// Scratch cannot be written; `progress` is cancelled.
    pub(super) fn push(
        &mut self,
        run: &EncodedRun,
        position: &Value,
        progress: &Progress,
    ) -> Result<()> {
        let run = run.write(&self.scratch, self.pairs, progress)?;
        let entry = json!({"run": run.entry(), "position": position});
        self.scratch.append(&entry)?;
        self.runs.push(run);
        Ok(())
    }

    /// Notes that the whole input has been sorted.
    ///
    /// # Errors
    /// Scratch cannot be written.
    pub(super) fn end(&mut self) -> Result<()> {
        self.complete = true;
        self.scratch.append(&json!({"complete": true}))
    }
}
