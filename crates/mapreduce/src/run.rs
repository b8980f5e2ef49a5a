//! Sorted runs: the pairs of a map task, grouped by key, in memory or in a scratch file.
//!
//! A run is a sequence of groups: partition, key, number of values, values. Groups ascend by
//! partition and key. Some groups are marked, so that a reader can begin near any key.
//!
//! Consecutive equal values may be stored once, each with the number of its occurrences. The
//! lowest bit of a group's number of values tells whether the group does this.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::codec;
use tokapi_storage::error::{Error, Result};
use tokapi_storage::scratch::frames::{FrameFile, FrameReader, FrameWriter};
use tokapi_storage::varint;

/// Approximate size of a file frame in bytes. Each frame is marked.
pub(crate) const FRAME_BYTES: usize = 32 << 10;
/// Approximate distance in bytes between two marks in memory.
const MARKED_BYTES: u64 = 4 << 10;
/// At most this fraction of a run's bytes is keys of marks, because marks are always in memory.
const BYTES_PER_MARKED: u64 = 64;

/// A group at which a reader can begin.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Mark {
    pub part: u32,
    pub key: Vec<u8>,
    /// Its position: a byte in memory, a frame in a file.
    at: u64,
    /// Bytes of the run before it.
    pub before_bytes: u64,
}

/// A complete run.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Run {
    pub marks: Vec<Mark>,
    pub bytes: u64,
    pub pairs: u64,
    /// The size of all pairs in bytes, counting the key with each pair.
    pub pair_bytes: u64,
    place: Place,
}

#[derive(Clone, Serialize, Deserialize)]
enum Place {
    Memory(Arc<Vec<u8>>),
    File(FrameFile),
}

impl Run {
    pub(crate) fn is_on_disk(&self) -> bool {
        matches!(self.place, Place::File(_))
    }

    /// A reader that begins at mark number `mark`; the caller advances it to its first group.
    pub(crate) fn read_from(&self, mark: usize) -> RunReader {
        let at = self.marks.get(mark).map(|mark| mark.at);
        let source = match &self.place {
            Place::Memory(bytes) => Source::Memory(Arc::clone(bytes)),
            Place::File(file) => {
                let from = at.unwrap_or(file.length);
                Source::File(file.read(from, file.length, FRAME_BYTES + 64), Vec::new())
            }
        };
        let next = match &self.place {
            Place::Memory(bytes) => at.map_or(bytes.len(), |at| at as usize),
            Place::File(_) => 0,
        };
        RunReader {
            source,
            next,
            part: 0,
            key: 0..0,
            values: 0,
            repeats: false,
            last: 0,
            again: 0,
        }
    }

    /// Updates the path of its file, if it has one, after a move to `folder`.
    pub(crate) fn move_to(&mut self, folder: &Path) {
        if let Place::File(file) = &mut self.place
            && let Some(name) = file.path.file_name()
        {
            file.path = folder.join(name);
        }
    }

    /// Removes the file, if it has one.
    pub(crate) fn remove(self) {
        if let Place::File(file) = self.place {
            // A file that cannot be removed now is removed with its folder.
            let _ = std::fs::remove_file(file.path);
        }
    }
}

/// Writes a run.
pub(crate) struct RunWriter {
    marks: Vec<Mark>,
    /// The bytes not in the file yet; all bytes if there is no file.
    pending: Vec<u8>,
    file: Option<FrameWriter>,
    /// Number of bytes in the file.
    written_bytes: u64,
    /// The position at which the next mark is due.
    next_mark: u64,
    pairs: u64,
    /// The total size of keys and values of all pairs.
    pair_bytes: u64,
}

impl RunWriter {
    /// A run in memory, of about `bytes` bytes, or in `file`.
    pub(crate) fn new(file: Option<FrameWriter>, expected_bytes: usize) -> Self {
        let pending = match file {
            Some(_) => Vec::with_capacity(2 * FRAME_BYTES),
            None => Vec::with_capacity(expected_bytes),
        };
        RunWriter {
            marks: Vec::new(),
            pending,
            file,
            written_bytes: 0,
            next_mark: 0,
            pairs: 0,
            pair_bytes: 0,
        }
    }

    fn bytes(&self) -> u64 {
        self.written_bytes + self.pending.len() as u64
    }

    /// Begins a group of `count` values. They follow by [`RunWriter::repeat`] if `repeats` is set,
    /// otherwise by [`RunWriter::encode`].
    pub(crate) fn group(&mut self, part: u32, key: &[u8], count: u64, repeats: bool) -> Result<()> {
        if self.bytes() >= self.next_mark {
            self.flush()?;
            let (at, distance) = match &self.file {
                Some(file) => (file.at(), FRAME_BYTES as u64),
                None => (self.bytes(), MARKED_BYTES),
            };
            self.marks.push(Mark {
                part,
                key: key.to_vec(),
                at,
                before_bytes: self.bytes(),
            });
            let distance = distance.max(BYTES_PER_MARKED * key.len() as u64);
            self.next_mark = self.bytes() + distance;
        }
        self.pairs += count;
        self.pair_bytes += count * key.len() as u64;
        varint::push(part.into(), &mut self.pending);
        varint::push(key.len() as u64, &mut self.pending);
        self.pending.extend_from_slice(key);
        varint::push(count << 1 | u64::from(repeats), &mut self.pending);
        Ok(())
    }

    /// Adds an encoded value.
    #[inline]
    pub(crate) fn value(&mut self, bytes: &[u8]) -> Result<()> {
        self.pair_bytes += bytes.len() as u64;
        codec::push_few(bytes, &mut self.pending);
        self.after_value()
    }

    /// Adds an encoded value that occurs `times` times in a row.
    #[inline]
    pub(crate) fn repeat(&mut self, bytes: &[u8], times: u64) -> Result<()> {
        self.pair_bytes += times * bytes.len() as u64;
        codec::push_few(bytes, &mut self.pending);
        varint::push(times, &mut self.pending);
        self.after_value()
    }

    /// Adds a value.
    pub(crate) fn encode(&mut self, value: &impl serde::Serialize) -> Result<()> {
        let before = self.pending.len();
        codec::encode(value, &mut self.pending)?;
        self.pair_bytes += (self.pending.len() - before) as u64;
        self.after_value()
    }

    /// Frames end after values, so that no value is split.
    #[inline]
    fn after_value(&mut self) -> Result<()> {
        match self.file.is_some() && self.pending.len() >= FRAME_BYTES {
            true => self.flush(),
            false => Ok(()),
        }
    }

    fn flush(&mut self) -> Result<()> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        if self.pending.is_empty() {
            return Ok(());
        }
        file.push(|bytes| bytes.extend_from_slice(&self.pending))?;
        self.written_bytes += self.pending.len() as u64;
        self.pending.clear();
        Ok(())
    }

    /// Ends the run.
    pub(crate) fn finish(mut self) -> Result<Run> {
        self.flush()?;
        let bytes = self.bytes();
        let place = match self.file {
            Some(file) => Place::File(file.finish()?),
            None => {
                // Releases memory reserved for more bytes.
                self.pending.shrink_to_fit();
                Place::Memory(Arc::new(self.pending))
            }
        };
        Ok(Run {
            marks: self.marks,
            bytes,
            pairs: self.pairs,
            pair_bytes: self.pair_bytes,
            place,
        })
    }
}

/// Reads a run, group by group, value by value.
pub(crate) struct RunReader {
    source: Source,
    /// The position of the next unread byte in the window.
    next: usize,
    /// The current group: its partition, the range of its key in the window, and the number of its
    /// remaining values.
    pub part: u32,
    key: std::ops::Range<usize>,
    pub values: u64,
    /// Whether each value of the group is stored with the number of its occurrences.
    pub repeats: bool,
    /// The range of the last value, and the number of its remaining occurrences.
    last: usize,
    again: u64,
}

enum Source {
    Memory(Arc<Vec<u8>>),
    File(FrameReader, Vec<u8>),
}

impl RunReader {
    #[inline]
    fn window(&self) -> &[u8] {
        match &self.source {
            Source::Memory(bytes) => bytes,
            Source::File(_, frame) => frame,
        }
    }

    /// The key of the current group; valid until the first value is read.
    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        &self.window()[self.key.clone()]
    }

    /// Reads the next frame once the window is used up; false at the end.
    #[inline]
    fn refill(&mut self) -> Result<bool> {
        if self.next < self.window().len() {
            return Ok(true);
        }
        match &mut self.source {
            Source::Memory(_) => Ok(false),
            Source::File(frames, frame) => match frames.next()? {
                Some(content) => {
                    frame.clear();
                    frame.extend_from_slice(content);
                    self.next = 0;
                    Ok(true)
                }
                None => Ok(false),
            },
        }
    }

    /// Advances to the next group, after all values of the current one have been read; false at
    /// the end.
    pub(crate) fn advance(&mut self) -> Result<bool> {
        debug_assert_eq!(self.values, 0, "a group is left when its values are taken");
        if !self.refill()? {
            return Ok(false);
        }
        let from = self.next;
        let window = self.window();
        let mut rest = &window[from..];
        let mut number = || varint::take(&mut rest);
        let header = number().zip(number());
        let (part, length) = header.ok_or_else(torn)?;
        let start = window.len() - rest.len();
        let end = start + usize::try_from(length).unwrap_or(usize::MAX - start);
        let mut rest = window.get(end..).ok_or_else(torn)?;
        let values = varint::take(&mut rest).ok_or_else(torn)?;
        let next = window.len() - rest.len();
        self.part = u32::try_from(part).map_err(|_| torn())?;
        self.key = start..end;
        self.values = values >> 1;
        self.repeats = values & 1 == 1;
        self.next = next;
        Ok(true)
    }

    /// Reads the next value of the group, decoded.
    #[inline]
    pub(crate) fn value<V: serde::de::DeserializeOwned>(&mut self) -> Result<V> {
        self.values -= 1;
        if self.again > 0 {
            self.again -= 1;
            return codec::take(&mut &self.window()[self.last..]);
        }
        self.refill()?;
        let window = self.window();
        let mut rest = &window[self.next..];
        let value = codec::take(&mut rest)?;
        let again = match self.repeats {
            true => again(&mut rest)?,
            false => 0,
        };
        (self.last, self.next) = (self.next, window.len() - rest.len());
        self.again = again;
        Ok(value)
    }

    /// Reads the next value of the group and the number of its consecutive occurrences.
    #[inline]
    pub(crate) fn repeated<V: serde::de::DeserializeOwned>(&mut self) -> Result<(V, usize)> {
        let value = self.value()?;
        let again = std::mem::take(&mut self.again);
        self.values = self.values.checked_sub(again).ok_or_else(torn)?;
        // All of a group's values in one run were in memory at some time.
        Ok((value, 1 + again as usize))
    }
}

/// The number of further occurrences of a value, stored behind it.
#[inline]
fn again(bytes: &mut &[u8]) -> Result<u64> {
    let times = varint::take(bytes).ok_or_else(torn)?;
    times.checked_sub(1).ok_or_else(torn)
}

/// The frame's checksum matches, so a failure means that the value type cannot read what it wrote.
#[cold]
fn torn() -> Error {
    Error::Verification(
        "a value of the job reads more or less than it wrote; mend its serialization".into(),
    )
}
