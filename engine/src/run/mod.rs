//! A run: the postings of one chunk, sorted by term, compressed and checksummed in a scratch file.
//!
//! The file holds frames of documents (lengths and ids), then frames of terms with postings
//! ([`block`]). Documents are numbered from 0 in every run; the number of the first in the whole
//! collection is known when all runs before it are.

mod block;
mod documents;

pub(crate) use block::Block;
pub(crate) use documents::DocumentFrame;

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::error::Result;
use crate::postings::Postings;
use crate::scratch::Scratch;
use crate::scratch::frames::{self, FrameFile, FrameReader, HEADER_BYTES};
use crate::strings::Strings;
use block::Encoder;

/// A run as it is to be written.
pub(crate) struct EncodedRun {
    /// The whole file.
    pub bytes: Vec<u8>,
    blocks_at: u64,
    documents: u64,
    total_length: u64,
    postings: u64,
    has_ids: bool,
}

/// A run on scratch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    pub file: FrameFile,
    blocks_at: u64,
    /// The number of its documents.
    pub documents: u64,
    /// Their lengths together.
    pub total_length: u64,
    /// The number of its postings.
    pub postings: u64,
    /// Whether a document has an id of its own.
    pub has_ids: bool,
}

impl EncodedRun {
    /// Encodes the postings of documents of the given lengths and ids, for the job of `stamp`.
    /// `df` has that of every term where postings were left out.
    pub(crate) fn new(
        stamp: u64,
        postings: &Postings,
        df: Option<&[u64]>,
        lengths: &[u32],
        ids: &Strings,
    ) -> Self {
        // Measured on generated text: 1.6 bytes a posting and 4 a term.
        let mut bytes = Vec::with_capacity(2 * postings.len() + 6 * postings.terms.len());
        bytes.extend_from_slice(&frames::header(stamp));
        documents::encode(stamp, lengths, ids, &mut bytes);
        let blocks_at = bytes.len() as u64;
        Encoder::new().encode(postings, df, |encoder, continues| {
            frames::push(stamp, 0, &mut bytes, |bytes| {
                encoder.write(continues, bytes)
            });
        });
        EncodedRun {
            bytes,
            blocks_at,
            documents: lengths.len() as u64,
            total_length: lengths.iter().map(|&length| u64::from(length)).sum(),
            postings: postings.len() as u64,
            has_ids: ids.byte_count() > 0,
        }
    }

    /// Writes the run to scratch, and waits until it is on disk.
    pub(crate) fn write(self, scratch: &Scratch) -> Result<Run> {
        let file = scratch.write("run", &self.bytes)?;
        Ok(Run {
            file,
            blocks_at: self.blocks_at,
            documents: self.documents,
            total_length: self.total_length,
            postings: self.postings,
            has_ids: self.has_ids,
        })
    }
}

impl Run {
    /// What the journal keeps of it.
    pub(crate) fn entry(&self) -> Value {
        json!({
            "file": self.file.path,
            "length": self.file.length,
            "blocks_at": self.blocks_at,
            "documents": self.documents,
            "total_length": self.total_length,
            "postings": self.postings,
            "has_ids": self.has_ids,
        })
    }

    /// The run that an entry of the journal tells of; none where it tells of none.
    ///
    /// # Errors
    /// The file is not there, not whole, or of another run.
    pub(crate) fn of_entry(entry: &Value, scratch: &Scratch) -> Option<Result<Run>> {
        let number = |name: &str| entry[name].as_u64();
        let path = PathBuf::from(entry["file"].as_str()?);
        let length = number("length")?;
        let run = Run {
            file: FrameFile {
                path,
                stamp: scratch.stamp(),
                length,
            },
            blocks_at: number("blocks_at")?,
            documents: number("documents")?,
            total_length: number("total_length")?,
            postings: number("postings")?,
            has_ids: entry["has_ids"].as_bool()?,
        };
        Some(run.file.check().map(|()| run))
    }

    /// Reads its blocks, `buffer_bytes` at a time.
    pub(crate) fn blocks(&self, buffer_bytes: usize) -> Blocks {
        let frames = self
            .file
            .read(self.blocks_at, self.file.length, buffer_bytes);
        Blocks {
            file: self.file.clone(),
            frames,
        }
    }

    /// Reads the frames of its documents.
    pub(crate) fn document_frames(&self, buffer_bytes: usize) -> FrameReader {
        self.file.read(HEADER_BYTES, self.blocks_at, buffer_bytes)
    }
}

/// The blocks of a run, in order.
pub(crate) struct Blocks {
    file: FrameFile,
    frames: FrameReader,
}

impl Blocks {
    /// The next block; none at the end.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub(crate) fn next(&mut self) -> Result<Option<Block>> {
        let Some(bytes) = self.frames.next()? else {
            return Ok(None);
        };
        match Block::decode(bytes) {
            Some(block) => Ok(Some(block)),
            None => Err(self.file.corrupt("a block is not what was written")),
        }
    }
}
