//! Records: the raw bytes of whole records, as sources deliver them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::format::Format;
use super::options::CorpusOptions;
use super::reader::RecordRange;
use super::segment::{First, Origin, Segment};
use super::skipped::{OnError, Skipped};
use tokapi_storage::error::{Error, Result};

/// Raw records, possibly of several files, in input order.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct Records {
    pub bytes: Vec<u8>,
    pub segments: Vec<Segment>,
    pub options: Arc<CorpusOptions>,
    chunk_bytes: usize,
    /// The most bytes of one document.
    pub document_bytes: usize,
    pub skipped: Skipped,
    /// Records of a file that [`Records::load`] will read. If there are any, they are the only records here.
    unread: Option<RecordRange>,
}

impl Records {
    /// Empties the records, to take up to `chunk_bytes`.
    pub(super) fn start(
        &mut self,
        options: &Arc<CorpusOptions>,
        chunk_bytes: usize,
        document_bytes: usize,
    ) {
        self.chunk_bytes = chunk_bytes;
        self.document_bytes = document_bytes;
        self.bytes.clear();
        self.segments.clear();
        self.options = Arc::clone(options);
        self.skipped = Skipped::default();
        self.unread = None;
    }

    /// The number of bytes of records.
    pub(super) fn len(&self) -> usize {
        self.bytes.len() + self.unread_bytes()
    }

    /// The number of bytes that [`Records::load`] will read.
    pub(super) fn unread_bytes(&self) -> usize {
        self.unread.as_ref().map_or(0, RecordRange::len)
    }

    /// Whether there are no records and no skipped documents.
    pub(super) fn is_empty(&self) -> bool {
        self.segments.is_empty() && self.skipped.count == 0
    }

    /// The number of bytes that still fit.
    pub(super) fn room(&self) -> usize {
        self.chunk_bytes.saturating_sub(self.len())
    }

    /// Doubles the capacity of full records.
    pub(super) fn widen(&mut self) {
        self.chunk_bytes += self.len().max(1);
    }

    /// Reads the records that were left to the parsing thread.
    ///
    /// # Errors
    /// A file cannot be read, and errors stop.
    pub(super) fn load(&mut self) -> Result<()> {
        if let Some(unread) = self.unread.take()
            && let Err(source) = unread.read(&mut self.bytes)
        {
            let path = self.segments[0].origin.path.to_path_buf();
            self.segments.clear();
            self.bytes.clear();
            self.skip(Error::Read { path, source })?;
        }
        Ok(())
    }

    /// Every segment with its bytes.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Segment, &[u8])> {
        let ends = self.segments.iter().skip(1).map(|next| next.start);
        let ends = ends.chain([self.bytes.len()]);
        let records = self.segments.iter().zip(ends);
        records.map(|(segment, end)| (segment, &self.bytes[segment.start..end]))
    }

    /// Adds records of `origin` that [`Records::load`] will read. There must be no records before.
    pub(super) fn add_unread(
        &mut self,
        origin: &Origin,
        records: RecordRange,
        first: First,
        starts_file: bool,
    ) {
        self.unread = Some(records);
        self.add(origin, 0, first, starts_file);
    }

    /// Marks the bytes from `start` on as records of `origin`.
    pub(super) fn add(&mut self, origin: &Origin, start: usize, first: First, starts_file: bool) {
        if self.len() > start || origin.layout.format() == Some(Format::Text) {
            self.segments.push(Segment {
                origin: origin.clone(),
                start,
                first,
                starts_file,
            });
        }
    }

    /// Stops with `error`, or counts it as skipped.
    pub(super) fn skip(&mut self, error: Error) -> Result<()> {
        match self.options.on_error {
            OnError::Stop => Err(error),
            OnError::Skip => {
                self.skipped.add(|| error);
                Ok(())
            }
        }
    }
}
