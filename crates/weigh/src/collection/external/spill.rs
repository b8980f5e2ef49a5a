//! The spill of the local pass: runs on scratch, and the journal.

use serde_json::{Value, json};

use crate::collection::ChunkNote;
use crate::collection::run::{EncodedRun, Run};
use crate::limit;
use tokapi_storage::error::{Error, Result};
use tokapi_storage::memory::Memory;
use tokapi_storage::progress::Progress;
use tokapi_storage::scratch::{JobIdentity, Scratch, ScratchOptions};
use tokapi_text::corpus::{Block, Corpus, Skipped};

/// The runs on scratch, if any.
pub(crate) struct Spill {
    memory: Memory,
    job: JobIdentity,
    options: ScratchOptions,
    scratch: Option<Scratch>,
    runs: Vec<Run>,
    note: ChunkNote,
    /// The documents of all runs.
    documents: u64,
    chunk_bytes: Option<usize>,
    /// Whether all chunks have become runs.
    complete: bool,
}

impl Spill {
    /// Opens the spill. It is empty unless an interrupted job with runs on scratch is continued.
    ///
    /// # Errors
    /// An interrupted job exists and is not to be continued, or cannot be continued.
    pub(crate) fn open(memory: Memory, job: JobIdentity, options: &ScratchOptions) -> Result<Self> {
        job.check(options)?;
        let mut spill = Spill {
            memory,
            job,
            options: options.clone(),
            scratch: None,
            runs: Vec::new(),
            note: ChunkNote::default(),
            documents: 0,
            chunk_bytes: None,
            complete: false,
        };
        if options.resume && spill.job.is_begun(options) {
            spill.resume()?;
        }
        Ok(spill)
    }

    fn resume(&mut self) -> Result<()> {
        let (scratch, entries) = Scratch::open(&self.job, &self.options)?;
        for entry in &entries {
            self.replay(entry, &scratch);
        }
        // Runs that have been merged into others are gone.
        self.runs.iter().try_for_each(|run| run.file.check())?;
        let kept: Vec<_> = self
            .runs
            .iter()
            .map(|run| run.file.path.as_path())
            .collect();
        scratch.remove_others(&kept);
        self.documents = self.runs.iter().map(|run| run.documents).sum();
        log::info!("resumed: {} runs are on scratch already", self.runs.len());
        self.scratch = Some(scratch);
        Ok(())
    }

    /// Replays an entry of the journal.
    fn replay(&mut self, entry: &Value, scratch: &Scratch) {
        if let Some(bytes) = entry["chunk_bytes"].as_u64() {
            self.chunk_bytes = usize::try_from(bytes).ok();
        }
        self.complete |= entry["complete"] == true;
        if let Some(run) = Run::of_entry(&entry["run"], scratch) {
            let replaced = |end: usize| entry["replaces"][end].as_u64().map(|n| n as usize);
            match (replaced(0), replaced(1)) {
                (Some(from), Some(to)) if from < to && to <= self.runs.len() => {
                    self.runs.splice(from..to, [run]);
                }
                _ => self.runs.push(run),
            }
        }
        let reasons = entry["skipped_reasons"].as_array().into_iter().flatten();
        self.note.append(ChunkNote {
            bytes: entry["bytes"].as_u64().unwrap_or(0),
            skipped: Skipped {
                count: entry["skipped"].as_u64().unwrap_or(0),
                reasons: reasons
                    .filter_map(|reason| reason.as_str().map(str::to_owned))
                    .collect(),
            },
        });
    }

    /// The chunk size of the interrupted job; the remaining chunks must have it too.
    pub(crate) fn chunk_bytes(&self) -> Option<usize> {
        self.chunk_bytes
    }

    /// Skips the chunks that are runs already.
    pub(crate) fn go_on(&self, corpus: &mut Corpus) -> Result<()> {
        let mut block = Block::default();
        let mut left = match self.complete {
            true => usize::MAX,
            false => self.runs.len(),
        };
        while left > 0 && corpus.fill(&mut block)? {
            corpus.pass_over(&block);
            left -= 1;
        }
        match left == 0 || self.complete {
            true => Ok(()),
            false => Err(Error::Usage(
                "the input ends before the place that the interrupted run had reached; continue with the whole input, or begin again".into(),
            )),
        }
    }

    /// The stamp of the job's files; 0 before there is one.
    pub(crate) fn stamp(&self) -> u64 {
        self.scratch.as_ref().map_or(0, Scratch::stamp)
    }

    /// The limit for chunks in memory.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.memory.held_bytes()
    }

    /// Begins to write chunks of `chunk_bytes` to scratch. Returns the stamp.
    pub(crate) fn begin(&mut self, chunk_bytes: usize) -> Result<u64> {
        let (mut scratch, _) = Scratch::open(&self.job, &self.options)?;
        scratch.append(&json!({ "chunk_bytes": chunk_bytes }))?;
        self.scratch = Some(scratch);
        Ok(self.stamp())
    }

    /// Writes a chunk to scratch.
    pub(crate) fn write(
        &mut self,
        run: EncodedRun,
        note: ChunkNote,
        progress: &Progress,
    ) -> Result<()> {
        let Some(scratch) = &mut self.scratch else {
            return Ok(());
        };
        let run = run.write(scratch, None, progress)?;
        self.documents += run.documents;
        limit::check(self.documents, "documents; split it")?;
        scratch.append(&json!({
            "run": run.entry(),
            "bytes": note.bytes,
            "skipped": note.skipped.count,
            "skipped_reasons": note.skipped.reasons,
        }))?;
        self.runs.push(run);
        self.note.append(note);
        Ok(())
    }

    /// Notes that all chunks are on scratch.
    pub(crate) fn end(&mut self) -> Result<()> {
        match &mut self.scratch {
            Some(scratch) if !self.complete => scratch.append(&json!({"complete": true})),
            _ => Ok(()),
        }
    }

    /// The runs and what belongs to them. Some must be on scratch.
    pub(super) fn into_parts(self) -> Result<(Memory, Vec<Run>, ChunkNote, Scratch)> {
        let scratch = match self.scratch {
            Some(scratch) => scratch,
            None => Scratch::open(&self.job, &self.options)?.0,
        };
        Ok((self.memory, self.runs, self.note, scratch))
    }

    /// Removes all files from scratch, after an error that would occur again.
    pub(crate) fn abandon(self) {
        if let Some(scratch) = self.scratch {
            scratch.remove();
        }
    }
}
