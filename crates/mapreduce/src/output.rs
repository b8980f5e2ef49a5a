//! Outputs as text: lines in key order, in a file that appears when it is complete.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use super::job::Job;
use super::records::{RecordWriter, Records};
use super::report::Report;
use super::spill::Spill;
use super::threads::{RunJob, Threads};
use tokapi_storage::compress::{Compression, Effort};
use tokapi_storage::error::{Error, Result};
use tokapi_storage::whole::Staged;

/// Text of a partition beyond this size goes to a scratch file until its turn, even if there is
/// more memory.
const MOST_HELD_BYTES: u64 = 16 << 20;
/// Text in a piece of a compressed file; the compressed bytes depend on this size.
const PIECE_BYTES: usize = 4 << 20;

/// A file of outputs, complete but not committed, and the report of its job.
pub type Written = (Staged, Report);

/// Outputs in key order, and the report of their job.
pub type Recorded<T> = (Records<T>, Report);

/// Runs a job, and stores `own` of every output in memory or on scratch.
pub(super) fn record<J: Job, T: Serialize>(
    runner: &impl RunJob<J>,
    job: &mut J,
    input: J::Input,
    own: impl Fn(J::Output<'_>) -> T + Sync,
) -> Result<Recorded<T>> {
    let mut all = Records::default();
    let room = runner.threads().room();
    let spill = Spill::new(room.memory_bytes / 4, &room.scratch);
    let spill = Arc::new(spill.following(&runner.threads().progress));
    let part = || RecordWriter::new(&spill);
    let push = |part: &mut RecordWriter<T>, output: J::Output<'_>| part.push(&own(output));
    let take = |part: RecordWriter<T>| {
        all.append(part.finish()?);
        Ok(())
    };
    let report = runner.run_job(job, input, part, push, take)?;
    Ok((all, report))
}

/// Runs a job, and writes `format` of every output to `path`, compressed as the name says.
pub(super) fn write<J: Job>(
    runner: &impl RunJob<J>,
    job: &mut J,
    input: J::Input,
    path: &Path,
    format: impl Fn(J::Output<'_>, &mut Vec<u8>) + Sync,
) -> Result<Written> {
    let mut writer = TextWriter::create(path)?;
    let threads = runner.threads();
    let scratch = &threads.scratch;
    let held_bytes = threads.held_text_bytes();
    let push = |part: &mut PartText, output: J::Output<'_>| {
        format(output, &mut part.text);
        match part.text.len() < held_bytes {
            true => Ok(()),
            false => part.put_aside(scratch),
        }
    };
    let report = runner.run_job(job, input, PartText::default, push, |part| {
        part.write(&mut writer)
    })?;
    Ok((writer.finish()?, report))
}

impl Threads {
    /// Runs a job as [`Threads::run`] does, and returns `own` of every output in one list.
    ///
    /// # Errors
    /// As [`Threads::run`].
    pub fn collect<J: Job, T: Send>(
        &self,
        job: &mut J,
        input: J::Input,
        own: impl Fn(J::Output<'_>) -> T + Sync,
    ) -> Result<(Vec<T>, Report)> {
        let mut all = Vec::new();
        let push = |part: &mut Vec<T>, output: J::Output<'_>| {
            part.push(own(output));
            Ok(())
        };
        let report = self.run(job, input, Vec::new, push, |mut part| {
            all.append(&mut part);
            Ok(())
        })?;
        Ok((all, report))
    }

    /// Runs `job` on `input`, and writes `format` of every output to `path`, compressed as the
    /// name says. The caller commits the file.
    ///
    /// # Errors
    /// As [`Threads::run`]; the file cannot be written.
    pub fn write<J: Job>(
        &self,
        job: &mut J,
        input: J::Input,
        path: &Path,
        format: impl Fn(J::Output<'_>, &mut Vec<u8>) + Sync,
    ) -> Result<Written> {
        write(self, job, input, path, format)
    }
}

impl Threads {
    /// The limit of a partition's text in memory: every thread has a partition, and some wait to
    /// be written.
    fn held_text_bytes(&self) -> usize {
        let partitions = self.threads.max(1) as u64 + 3;
        // A text may take twice its size while it grows. The value is at most `MOST_HELD_BYTES`,
        // so it fits.
        (self.room().memory_bytes / 2 / partitions).min(MOST_HELD_BYTES) as usize
    }
}

/// The text of a partition.
#[derive(Default)]
struct PartText {
    /// The beginning of the text, if it exceeded the memory.
    aside: Option<File>,
    text: Vec<u8>,
}

impl PartText {
    fn put_aside(&mut self, scratch: &Path) -> Result<()> {
        let mut put = || {
            let file = match &mut self.aside {
                Some(file) => file,
                none => none.insert(tempfile::tempfile_in(scratch)?),
            };
            file.write_all(&self.text)
        };
        put().map_err(|source| Error::Scratch {
            path: scratch.to_path_buf(),
            source,
        })?;
        self.text.clear();
        Ok(())
    }

    fn write(mut self, writer: &mut TextWriter) -> Result<()> {
        if let Some(mut file) = self.aside.take() {
            let failed = |source| Error::Scratch {
                path: "a file without a name".into(),
                source,
            };
            file.rewind().map_err(failed)?;
            let mut buffer = vec![0; 1 << 20];
            loop {
                match file.read(&mut buffer).map_err(failed)? {
                    0 => break,
                    count => writer.push(&buffer[..count])?,
                }
            }
        }
        writer.push(&self.text)
    }
}

/// A text file being written, compressed as its name says.
pub struct TextWriter {
    staged: Staged,
    compression: Compression,
    /// The text not compressed yet.
    open: Vec<u8>,
    any: bool,
}

impl TextWriter {
    /// Begins a file that will become `path`.
    ///
    /// # Errors
    /// As [`Staged::create`].
    pub fn create(path: &Path) -> Result<Self> {
        Ok(TextWriter {
            staged: Staged::create(path)?,
            compression: Compression::of_name(path),
            open: Vec::new(),
            any: false,
        })
    }

    /// Adds text.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn push(&mut self, mut text: &[u8]) -> Result<()> {
        if self.compression == Compression::None {
            let written = self.staged.write_all(text);
            return written.map_err(|source| self.staged.failed(source));
        }
        while self.open.len() + text.len() >= PIECE_BYTES {
            let (piece, rest) = text.split_at(PIECE_BYTES - self.open.len());
            self.open.extend_from_slice(piece);
            self.pack()?;
            text = rest;
        }
        self.open.extend_from_slice(text);
        Ok(())
    }

    fn pack(&mut self) -> Result<()> {
        let mut pack = || -> io::Result<()> {
            let mut packed = Vec::new();
            self.compression
                .pack(&self.open, Effort::Usual, &mut packed)?;
            self.staged.write_all(&packed)
        };
        pack().map_err(|source| self.staged.failed(source))?;
        self.open.clear();
        self.any = true;
        Ok(())
    }

    /// Ends the text; the caller commits the file.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(mut self) -> Result<Staged> {
        // An empty file is not a valid compressed file, so one piece is always written.
        let last = !self.open.is_empty() || !self.any;
        if self.compression != Compression::None && last {
            self.pack()?;
        }
        Ok(self.staged)
    }
}
