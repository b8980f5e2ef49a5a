//! A sorted run of records in a scratch file: frames with a fixed number of records, then the first key of every frame.
//! These keys locate a part of the run without reading it.

use std::marker::PhantomData;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::columns::{Columns, Word};
use tokapi_storage::error::Result;
use tokapi_storage::progress::Progress;
use tokapi_storage::scratch::Scratch;
use tokapi_storage::scratch::frames;
use tokapi_storage::scratch::frames::{FRAME_BYTES, FrameFile, HEADER_BYTES};

/// The number of records in a frame.
pub(super) const FRAME_RECORDS: usize = 4 << 10;

/// An encoded run.
pub(super) struct EncodedRun {
    /// The whole file.
    pub bytes: Vec<u8>,
    records: u64,
}

impl EncodedRun {
    /// Encodes sorted records for the job of `stamp`. Reuses the memory of `bytes`.
    ///
    /// # Errors
    /// [`Error::Cancelled`](tokapi_storage::error::Error::Cancelled).
    pub(super) fn new<W: Word>(
        stamp: u64,
        sorted: &Columns<W>,
        mut bytes: Vec<u8>,
        progress: &Progress,
    ) -> Result<Self> {
        let record_bytes = Columns::<W>::record_bytes(sorted.pairs);
        let frame_count = sorted.len().div_ceil(FRAME_RECORDS);
        let size = sorted.len() * record_bytes + frame_count * (FRAME_BYTES + W::BYTES);
        bytes.clear();
        bytes.reserve_exact(size + 64);
        bytes.extend_from_slice(&frames::header(stamp));
        for from in (0..sorted.len()).step_by(FRAME_RECORDS) {
            progress.check()?;
            let to = sorted.len().min(from + FRAME_RECORDS);
            frames::push(stamp, 0, &mut bytes, |bytes| {
                sorted.push_bytes(from..to, bytes)
            });
        }
        frames::push(stamp, 0, &mut bytes, |bytes| {
            for key in sorted.keys.iter().step_by(FRAME_RECORDS) {
                bytes.extend_from_slice(bytemuck::bytes_of(key));
            }
        });
        Ok(EncodedRun {
            bytes,
            records: sorted.len() as u64,
        })
    }

    /// Writes the run to scratch, and waits until it is on disk.
    ///
    /// # Errors
    /// Scratch cannot be written; `progress` is cancelled.
    pub(super) fn write<W: Word>(
        &self,
        scratch: &Scratch,
        pairs: bool,
        progress: &Progress,
    ) -> Result<SortedRun<W>> {
        let file = scratch.write("run", &self.bytes, None, progress)?;
        SortedRun::open(file, self.records, pairs)
    }
}

/// A sorted run on scratch.
#[derive(Debug, Clone)]
pub(super) struct SortedRun<W> {
    file: FrameFile,
    pub records: u64,
    /// The first key of every frame.
    pub firsts: Vec<W>,
    pairs: bool,
    words: PhantomData<W>,
}

impl<W: Word> SortedRun<W> {
    fn open(file: FrameFile, records: u64, pairs: bool) -> Result<Self> {
        let mut run = SortedRun {
            file,
            records,
            firsts: Vec::new(),
            pairs,
            words: PhantomData,
        };
        run.file.check()?;
        let at = run.frame_at(run.frame_count());
        let mut frame = run.file.read(at, run.file.length, 64 << 10);
        let bytes = frame.next()?.unwrap_or_default();
        let firsts = bytes
            .chunks_exact(W::BYTES)
            .map(bytemuck::pod_read_unaligned);
        run.firsts = firsts.collect();
        match run.firsts.len() == run.frame_count() && run.firsts.is_sorted() {
            true => Ok(run),
            false => Err(run.file.corrupt("its keys are not what was written")),
        }
    }

    fn frame_count(&self) -> usize {
        // A run was in memory as a whole, so the number fits.
        (self.records as usize).div_ceil(FRAME_RECORDS)
    }

    /// The place of a frame in the file; that of one past the last frame is the place of the first keys.
    fn frame_at(&self, frame: usize) -> u64 {
        let records = self.records.min((frame * FRAME_RECORDS) as u64);
        let bytes = records * Columns::<W>::record_bytes(self.pairs) as u64;
        HEADER_BYTES + bytes + (frame * FRAME_BYTES) as u64
    }

    /// The journal entry of the run.
    pub(super) fn entry(&self) -> Value {
        json!({"file": self.file.path, "length": self.file.length, "records": self.records})
    }

    /// The run of a journal entry; none for other entries.
    ///
    /// # Errors
    /// The file is missing, truncated, or of another run.
    pub(super) fn of_entry(entry: &Value, scratch: &Scratch, pairs: bool) -> Option<Result<Self>> {
        let file = FrameFile {
            path: PathBuf::from(entry["file"].as_str()?),
            stamp: scratch.stamp(),
            length: entry["length"].as_u64()?,
        };
        Some(SortedRun::open(file, entry["records"].as_u64()?, pairs))
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.file.path
    }

    /// Adds the records of the frames in `range` to `columns`.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub(super) fn read(&self, range: Range<usize>, columns: &mut Columns<W>) -> Result<()> {
        let (from, to) = (self.frame_at(range.start), self.frame_at(range.end));
        // The whole range at once, but a few megabytes at most. The caller has memory for it.
        let buffer = usize::try_from(to - from).map_or(4 << 20, |size| size.min(4 << 20));
        let mut frames = self.file.read(from, to, buffer);
        while let Some(bytes) = frames.next()? {
            columns.append_bytes(bytes);
        }
        Ok(())
    }
}
