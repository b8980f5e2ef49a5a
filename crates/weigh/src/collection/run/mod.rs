//! A run: the postings of one chunk, sorted by term, compressed and checksummed in a scratch file.
//!
//! The file holds frames of documents (lengths and ids), then frames of terms with postings (`block`). Documents are
//! numbered from 0 in every run. The number of the first one in the whole collection is known when all earlier runs are
//! complete.

mod block;
mod documents;
mod writer;

pub(crate) use block::Block;
pub(crate) use documents::DocumentFrame;
pub(crate) use writer::{EncodedBlocks, RunWriter};

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::invert::Inverted;
use crate::postings::Postings;
use block::Encoder;
use tokapi_storage::error::Result;
use tokapi_storage::progress::Progress;
use tokapi_storage::scratch::Scratch;
use tokapi_storage::scratch::frames;
use tokapi_storage::scratch::frames::{FrameFile, FrameReader, HEADER_BYTES};
use tokapi_storage::strings::Strings;

/// An encoded run.
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
    /// The number of documents.
    pub documents: u64,
    /// The total length of the documents.
    pub total_length: u64,
    /// The number of postings.
    pub postings: u64,
    /// Whether a document has an id of its own.
    pub has_ids: bool,
}

impl EncodedRun {
    /// Encodes the postings of documents with these lengths and ids, for the job of `stamp`. After pruning, `df` has
    /// the df of every term.
    pub(crate) fn new(
        stamp: u64,
        postings: &Postings,
        df: Option<&[u64]>,
        lengths: &[u32],
        ids: &Strings,
        files: &[(usize, Arc<Path>)],
    ) -> Self {
        // Measured on generated text: 1.6 bytes per posting and 4 per term.
        let mut bytes = Vec::with_capacity(2 * postings.len() + 6 * postings.terms.len());
        bytes.extend_from_slice(&frames::header(stamp));
        documents::encode_files(stamp, files, &mut bytes);
        documents::encode(stamp, lengths, ids, &mut bytes);
        let blocks_at = bytes.len() as u64;
        let mut take = |encoder: &Encoder, continues: bool| {
            frames::push(stamp, 0, &mut bytes, |bytes| {
                encoder.write(continues, bytes)
            });
        };
        let mut encoder = Encoder::new();
        let mut tfs = Vec::new();
        for (term, name) in postings.terms.iter().enumerate() {
            let range = postings.range(term);
            postings.frequencies.expand_into(range.clone(), &mut tfs);
            let df = df.map_or(range.len() as u64, |df| df[term]);
            encoder.push(name, df, &postings.documents[range], &tfs, false, &mut take);
        }
        encoder.finish(take);
        EncodedRun {
            bytes,
            blocks_at,
            documents: lengths.len() as u64,
            total_length: lengths.iter().map(|&length| u64::from(length)).sum(),
            postings: postings.len() as u64,
            has_ids: ids.byte_count() > 0,
        }
    }

    /// Writes the run to scratch, if possible to another disk than `read`, and waits until it is on disk.
    ///
    /// # Errors
    /// Scratch cannot be written; `progress` is cancelled.
    pub(crate) fn write(
        self,
        scratch: &Scratch,
        read: Option<&Path>,
        progress: &Progress,
    ) -> Result<Run> {
        let file = scratch.write("run", &self.bytes, read, progress)?;
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
    /// The journal entry of the run.
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

    /// The run of a journal entry, even if its file is gone; none for other entries.
    pub(crate) fn of_entry(entry: &Value, scratch: &Scratch) -> Option<Run> {
        let number = |name: &str| entry[name].as_u64();
        let path = PathBuf::from(entry["file"].as_str()?);
        let length = number("length")?;
        Some(Run {
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
        })
    }

    /// Reads the blocks, `buffer_bytes` at a time.
    pub(crate) fn blocks(&self, buffer_bytes: usize) -> Blocks {
        let frames = self
            .file
            .read(self.blocks_at, self.file.length, buffer_bytes);
        Blocks {
            file: self.file.clone(),
            frames,
        }
    }

    /// Reads the documents in batches.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub(crate) fn documents(&self) -> Result<DocumentFrames> {
        let mut frames = self.file.read(HEADER_BYTES, self.blocks_at, 256 << 10);
        // The frame of files comes first.
        frames.next()?;
        Ok(DocumentFrames {
            file: self.file.clone(),
            frames,
        })
    }

    /// The documents of the frame at offset `at`.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub(crate) fn documents_at(&self, at: u64) -> Result<DocumentFrame> {
        let frames = self.file.read(at, self.blocks_at, 64 << 10);
        let file = self.file.clone();
        let frame = DocumentFrames { file, frames }.next()?;
        Ok(frame.map(|(_, frame)| frame).unwrap_or_default())
    }

    /// The bytes of the documents in the file.
    pub(crate) fn documents_bytes(&self) -> u64 {
        self.blocks_at
    }

    /// The file of document `document`, or the nearest known one.
    pub(crate) fn file_of(&self, document: u64) -> Result<PathBuf> {
        let mut files = self.files()?;
        files.retain(|&(first, _)| first as u64 <= document);
        Ok(files
            .pop()
            .map_or(PathBuf::new(), |(_, path)| path.to_path_buf()))
    }

    /// The files of the documents, each with its first document.
    fn files(&self) -> Result<Vec<(usize, Arc<Path>)>> {
        let mut frames = self.file.read(HEADER_BYTES, self.blocks_at, 64 << 10);
        let files = frames.next()?.and_then(documents::decode_files);
        Ok(files.unwrap_or_default())
    }

    /// The whole run in memory: postings and df, documents.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub(crate) fn load(&self, buffer_bytes: usize) -> Result<LoadedRun> {
        let mut run = LoadedRun::default();
        let mut documents = self.documents()?;
        while let Some((_, frame)) = documents.next()? {
            run.lengths.extend_from_slice(&frame.lengths);
            run.ids.append(&frame.ids);
        }
        let postings = &mut run.postings;
        postings.offsets.push(0);
        let mut blocks = self.blocks(buffer_bytes);
        let mut tfs = Vec::new();
        let mut continued = false;
        while let Some(block) = blocks.next()? {
            for term in 0..block.len() {
                match continued && term == 0 {
                    true => {
                        postings.offsets.pop();
                    }
                    false => {
                        postings.terms.push(block.terms.get(term));
                        run.df.push(block.df[term].into());
                    }
                }
                let start = postings.documents.len();
                // These postings are in memory already, encoded.
                let count = block.count(term..term + 1) as usize;
                postings.documents.resize(start + count, 0);
                tfs.resize(count, 0);
                let into = &mut postings.documents[start..];
                let decoded = block.postings(term, 0, into, &mut tfs[..count]);
                decoded.ok_or_else(|| self.file.corrupt("a list is not what was written"))?;
                tfs.iter().for_each(|&tf| postings.frequencies.push(tf));
                postings.offsets.push(postings.documents.len() as u64);
            }
            continued = block.continues;
        }
        Ok(run)
    }
}

/// A run in memory.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct LoadedRun {
    pub postings: Postings,
    /// The df in the run of every term.
    pub df: Vec<u64>,
    pub lengths: Vec<u32>,
    pub ids: Strings,
}

impl LoadedRun {
    /// Removes the documents numbered `gone`, ascending.
    pub(crate) fn remove(&mut self, gone: &[u32]) {
        let mut inverted = Inverted {
            postings: std::mem::take(&mut self.postings),
            lengths: std::mem::take(&mut self.lengths),
        };
        inverted.remove(gone);
        let kept = |&document: &usize| gone.binary_search(&(document as u32)).is_err();
        let ids = (0..self.ids.len()).filter(kept);
        self.ids = ids.map(|document| self.ids.get(document)).collect();
        let offsets = &inverted.postings.offsets;
        self.df = offsets
            .windows(2)
            .map(|bounds| bounds[1] - bounds[0])
            .collect();
        self.postings = inverted.postings;
        self.lengths = inverted.lengths;
    }

    /// Encodes the run for the job of `stamp`.
    pub(crate) fn encode(&self, stamp: u64) -> EncodedRun {
        let df = Some(&self.df[..]);
        EncodedRun::new(stamp, &self.postings, df, &self.lengths, &self.ids, &[])
    }
}

/// The documents of a run, in order.
pub(crate) struct DocumentFrames {
    file: FrameFile,
    frames: FrameReader,
}

impl DocumentFrames {
    /// The place of the next frame, and its documents; none at the end.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub(crate) fn next(&mut self) -> Result<Option<(u64, DocumentFrame)>> {
        let at = self.frames.at();
        let Some(bytes) = self.frames.next()? else {
            return Ok(None);
        };
        match DocumentFrame::decode(bytes) {
            Some(frame) => Ok(Some((at, frame))),
            None => Err(self.file.corrupt("a document is not what was written")),
        }
    }
}

/// The blocks of a run, in order.
pub(crate) struct Blocks {
    file: FrameFile,
    frames: FrameReader,
}

impl Blocks {
    /// Whether there is a next block.
    pub(crate) fn has_more(&self) -> bool {
        self.frames.has_more()
    }

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
