//! Sorted runs: the pairs of a map task, grouped by key, in memory or in a scratch file.
//!
//! A run is a sequence of groups: partition, key, number of values, values. Groups ascend by
//! partition and key. Some of them are marked, so that a reader can begin near any key.
//!
//! Equal values in a row may be written once, each with how often it comes: the lowest bit of the
//! number of values says whether those of the group are.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::codec;
use tokapi_storage::error::{Error, Result};
use tokapi_storage::scratch::frames::{FrameFile, FrameReader, FrameWriter};
use tokapi_storage::varint;

/// About so many bytes are in a frame of a file, each of which is marked.
pub(crate) const FRAME_BYTES: usize = 32 << 10;
/// About so many bytes stand between two marks in memory.
const MARKED_BYTES: u64 = 4 << 10;
/// Marks have the keys of at most one in so many bytes, because they always are in memory.
const BYTES_PER_MARKED: u64 = 64;

/// A group that a reader can begin at.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Mark {
    pub part: u32,
    pub key: Vec<u8>,
    /// Where it stands: a byte in memory, a frame of a file.
    at: u64,
    /// Bytes of the run before it.
    pub before_bytes: u64,
}

/// A whole run.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Run {
    pub marks: Vec<Mark>,
    pub bytes: u64,
    pub pairs: u64,
    /// The bytes of all pairs, were each to have its key with it.
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

    /// A reader that begins at the mark numbered `mark`; it is to be advanced to its first group.
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

    /// Takes note that its file, if it is in one, has moved to `folder`.
    pub(crate) fn move_to(&mut self, folder: &Path) {
        if let Place::File(file) = &mut self.place
            && let Some(name) = file.path.file_name()
        {
            file.path = folder.join(name);
        }
    }

    /// Removes the file, if it is in one.
    pub(crate) fn remove(self) {
        if let Place::File(file) = self.place {
            // What cannot be removed now goes with its folder.
            let _ = std::fs::remove_file(file.path);
        }
    }
}

/// A run that is being written.
pub(crate) struct RunWriter {
    marks: Vec<Mark>,
    /// What is not in the file yet; all where there is none.
    pending: Vec<u8>,
    file: Option<FrameWriter>,
    /// Bytes in the file already.
    written_bytes: u64,
    /// Where the next mark is due.
    next_mark: u64,
    pairs: u64,
    /// The keys and the values of all pairs.
    pair_bytes: u64,
}

impl RunWriter {
    /// A run in memory, of about so many bytes, or in `file`.
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

    /// Begins a group of `count` values, which must follow: by [`RunWriter::repeat`] if it
    /// `repeats` some, otherwise by [`RunWriter::encode`].
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

    /// Adds a value that has been encoded.
    #[inline]
    pub(crate) fn value(&mut self, bytes: &[u8]) -> Result<()> {
        self.pair_bytes += bytes.len() as u64;
        codec::push_few(bytes, &mut self.pending);
        self.after_value()
    }

    /// Adds a value that has been encoded, and comes `times` in a row.
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

    /// Frames end after values, so that none is torn.
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
                // What was expected is not held.
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
    /// Where in the window the next unread byte stands.
    next: usize,
    /// Of the current group: its partition, where its key stands in the window, and how many of
    /// its values have not been taken.
    pub part: u32,
    key: std::ops::Range<usize>,
    pub values: u64,
    /// Whether every value of the group stands with how often it comes.
    pub repeats: bool,
    /// Where the last value stands, and how often it comes again.
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

    /// The key of the current group, until its first value is taken.
    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        &self.window()[self.key.clone()]
    }

    /// Goes to the next frame where the window has been read; false at the end.
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

    /// Goes to the next group, all values of this one having been taken; false at the end.
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

    /// Takes the next value of the group, decoded.
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

    /// Takes the next value of the group with all that equal it in a row, and tells their number.
    #[inline]
    pub(crate) fn repeated<V: serde::de::DeserializeOwned>(&mut self) -> Result<(V, usize)> {
        let value = self.value()?;
        let again = std::mem::take(&mut self.again);
        self.values = self.values.checked_sub(again).ok_or_else(torn)?;
        // All of a group's values in one run were in memory once.
        Ok((value, 1 + again as usize))
    }
}

/// How often a value comes again, behind it.
#[inline]
fn again(bytes: &mut &[u8]) -> Result<u64> {
    let times = varint::take(bytes).ok_or_else(torn)?;
    times.checked_sub(1).ok_or_else(torn)
}

/// A frame is checked, so this is a value type that does not read what it wrote.
#[cold]
fn torn() -> Error {
    Error::Verification(
        "a value of the job reads more or less than it wrote; mend its serialization".into(),
    )
}
