//! A run that is written while it is merged from others.

use super::block::Encoder;
use super::{Run, documents};
use tokapi_storage::error::Result;
use tokapi_storage::progress::Progress;
use tokapi_storage::scratch::frames::{FrameWriter, HEADER_BYTES};

/// Encoded blocks.
#[derive(Debug, Default)]
pub(crate) struct EncodedBlocks {
    blocks: Vec<Vec<u8>>,
    postings: u64,
}

impl EncodedBlocks {
    /// The blocks of some terms, each with its df, documents and tfs. With `continues`, the next blocks have more
    /// postings of the last term.
    pub(crate) fn new<'a>(
        terms: impl ExactSizeIterator<Item = (&'a [u8], u64, &'a [u32], &'a [u32])>,
        continues: bool,
    ) -> Self {
        let mut encoded = EncodedBlocks::default();
        let blocks = &mut encoded.blocks;
        let mut take = |encoder: &Encoder, continues: bool| {
            let mut block = Vec::new();
            encoder.write(continues, &mut block);
            blocks.push(block);
        };
        let mut encoder = Encoder::new();
        let last = terms.len().saturating_sub(1);
        for (place, (name, df, documents, tfs)) in terms.enumerate() {
            encoded.postings += documents.len() as u64;
            let continues = continues && place == last;
            encoder.push(name, df, documents, tfs, continues, &mut take);
        }
        encoder.finish(take);
        encoded
    }
}

/// A run with the documents of several runs. Its blocks are added later.
pub(crate) struct RunWriter {
    frames: FrameWriter,
    run: Run,
}

impl RunWriter {
    /// Begins a run with the documents of `runs`.
    ///
    /// # Errors
    /// A run cannot be read; the new one cannot be written; `progress` is cancelled.
    pub(crate) fn new(mut frames: FrameWriter, runs: &[Run], progress: &Progress) -> Result<Self> {
        let mut files = Vec::new();
        let mut first = 0;
        for run in runs {
            files.extend(
                run.files()?
                    .into_iter()
                    .map(|(in_run, path)| (first + in_run, path)),
            );
            // A run has fewer than 2^32 documents.
            first += run.documents as usize;
        }
        frames.push(|bytes| documents::write_files(&files, bytes))?;
        for run in runs {
            let mut from = run.file.read(HEADER_BYTES, run.blocks_at, 256 << 10);
            from.next()?;
            while let Some(frame) = from.next()? {
                progress.check()?;
                frames.push(|bytes| bytes.extend_from_slice(frame))?;
            }
        }
        let run = Run {
            file: runs[0].file.clone(),
            blocks_at: frames.at(),
            documents: runs.iter().map(|run| run.documents).sum(),
            total_length: runs.iter().map(|run| run.total_length).sum(),
            postings: 0,
            has_ids: runs.iter().any(|run| run.has_ids),
        };
        Ok(RunWriter { frames, run })
    }

    /// Adds blocks. They must follow all earlier ones.
    ///
    /// # Errors
    /// Scratch cannot be written.
    pub(crate) fn push(&mut self, blocks: &EncodedBlocks) -> Result<()> {
        self.run.postings += blocks.postings;
        for block in &blocks.blocks {
            self.frames.push(|bytes| bytes.extend_from_slice(block))?;
        }
        Ok(())
    }

    /// Finishes the run, and waits until it is on disk.
    ///
    /// # Errors
    /// Scratch cannot be written; `progress` is cancelled.
    pub(crate) fn finish(self, progress: &Progress) -> Result<Run> {
        Ok(Run {
            file: self.frames.finish_on_disk(progress)?,
            ..self.run
        })
    }
}
