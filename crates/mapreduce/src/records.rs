//! A sequence of records: in memory while there is room, then in checked scratch files.
//!
//! Records are encoded into frames; no record spans two frames. Frames stay in memory up to a
//! limit; the others go to a file. They are read one frame at a time, so any number of records
//! takes little memory.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::codec;
use super::spill::Spill;
use tokapi_storage::error::Result;
use tokapi_storage::scratch::frames::{FrameFile, FrameWriter, OpenFrames};

/// Approximate size of a frame in bytes.
const FRAME_BYTES: usize = 64 << 10;

/// The storage of a frame.
#[derive(Clone)]
enum Place {
    Memory(Arc<[u8]>),
    /// In the file with this number.
    File(u32, Range<u64>),
}

#[derive(Clone)]
struct Frame {
    /// Number of records in it.
    count: u64,
    place: Place,
}

/// Records in the order of writing.
pub struct Records<T> {
    frames: Vec<Frame>,
    files: Vec<Arc<RecordFile>>,
    count: u64,
    /// Keeps the folder of the files alive.
    spill: Option<Arc<Spill>>,
    record: PhantomData<fn() -> T>,
}

/// A file of frames, opened when it is first read.
struct RecordFile {
    file: FrameFile,
    open: OnceLock<OpenFrames>,
}

impl RecordFile {
    fn open(&self) -> Result<&OpenFrames> {
        if let Some(open) = self.open.get() {
            return Ok(open);
        }
        let opened = self.file.open()?;
        Ok(self.open.get_or_init(|| opened))
    }
}

impl<T> Default for Records<T> {
    fn default() -> Self {
        Records {
            frames: Vec::new(),
            files: Vec::new(),
            count: 0,
            spill: None,
            record: PhantomData,
        }
    }
}

impl<T> Clone for Records<T> {
    fn clone(&self) -> Self {
        Records {
            frames: self.frames.clone(),
            files: self.files.clone(),
            count: self.count,
            spill: self.spill.clone(),
            record: PhantomData,
        }
    }
}

impl<T> Records<T> {
    /// Number of records.
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Appends all records of `others`.
    pub(crate) fn append(&mut self, others: Records<T>) {
        // Every partition has at most one file: far fewer than 2^32.
        let files = self.files.len() as u32;
        self.files.extend(others.files);
        for mut frame in others.frames {
            if let Place::File(number, _) = &mut frame.place {
                *number += files;
            }
            self.frames.push(frame);
        }
        self.count += others.count;
        self.spill = others.spill.or(self.spill.take());
    }

    /// The content of a frame; it is read into `buffer` if it is not in memory.
    fn read<'a>(&'a self, frame: &'a Frame, buffer: &'a mut Vec<u8>) -> Result<&'a [u8]> {
        match &frame.place {
            Place::Memory(bytes) => Ok(bytes),
            Place::File(number, range) => {
                let file = self.files[*number as usize].open()?;
                file.read(range.clone(), buffer)
            }
        }
    }
}

impl<T: DeserializeOwned> Records<T> {
    /// Every record, in order; iteration ends after an error.
    pub fn iter(&self) -> RecordIter<'_, T> {
        RecordIter(Cursor::default(), self)
    }
}

impl<'a, T: DeserializeOwned> IntoIterator for &'a Records<T> {
    type Item = Result<T>;
    type IntoIter = RecordIter<'a, T>;

    fn into_iter(self) -> RecordIter<'a, T> {
        self.iter()
    }
}

/// The position of a reader in records.
#[derive(Default)]
pub(crate) struct Cursor {
    /// The frame after the current one.
    next: usize,
    /// The content of the current frame, the number of bytes read, and the number of remaining
    /// records.
    content: Vec<u8>,
    used: usize,
    left: u64,
    buffer: Vec<u8>,
}

impl Cursor {
    /// The next record; none at the end.
    ///
    /// # Errors
    /// A scratch file cannot be read, or is damaged.
    pub(crate) fn next<T: DeserializeOwned>(&mut self, records: &Records<T>) -> Result<Option<T>> {
        while self.left == 0 {
            let Some(frame) = records.frames.get(self.next) else {
                return Ok(None);
            };
            if let Some(spill) = &records.spill {
                spill.progress.check()?;
            }
            self.content.clear();
            let content = records.read(frame, &mut self.buffer)?;
            self.content.extend_from_slice(content);
            (self.used, self.left) = (0, frame.count);
            self.next += 1;
        }
        let mut rest = &self.content[self.used..];
        let record = codec::take(&mut rest)?;
        self.used = self.content.len() - rest.len();
        self.left -= 1;
        Ok(Some(record))
    }
}

/// Reads records one by one.
pub struct RecordIter<'a, T>(Cursor, &'a Records<T>);

impl<T: DeserializeOwned> Iterator for RecordIter<'_, T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        let next = self.0.next(self.1).transpose();
        if matches!(next, Some(Err(_))) {
            (self.0.left, self.0.next) = (0, self.1.frames.len());
        }
        next
    }
}

/// Writes records.
pub(crate) struct RecordWriter<T> {
    records: Records<T>,
    spill: Arc<Spill>,
    open: Vec<u8>,
    open_count: u64,
    file: Option<FrameWriter>,
}

impl<T> RecordWriter<T> {
    /// A writer whose storage comes from `spill`.
    pub(crate) fn new(spill: &Arc<Spill>) -> Self {
        RecordWriter {
            records: Records::default(),
            spill: Arc::clone(spill),
            open: Vec::new(),
            open_count: 0,
            file: None,
        }
    }

    /// Adds a record.
    pub(crate) fn push(&mut self, record: &T) -> Result<()>
    where
        T: Serialize,
    {
        codec::encode(record, &mut self.open)?;
        self.after_record()
    }

    /// Adds an encoded record.
    pub(crate) fn push_encoded(&mut self, record: &[u8]) -> Result<()> {
        self.open.extend_from_slice(record);
        self.after_record()
    }

    fn after_record(&mut self) -> Result<()> {
        self.open_count += 1;
        match self.open.len() < FRAME_BYTES {
            true => Ok(()),
            false => self.flush(),
        }
    }

    fn flush(&mut self) -> Result<()> {
        if self.open_count == 0 {
            return Ok(());
        }
        let place = match self.spill.hold(self.open.len()) {
            true => Place::Memory(self.open.as_slice().into()),
            false => {
                let file = match &mut self.file {
                    Some(file) => file,
                    none => none.insert(self.spill.create()?),
                };
                let from = file.at();
                file.push(|bytes| bytes.extend_from_slice(&self.open))?;
                Place::File(0, from..file.at())
            }
        };
        self.records.count += self.open_count;
        self.records.frames.push(Frame {
            count: std::mem::take(&mut self.open_count),
            place,
        });
        self.open.clear();
        Ok(())
    }

    /// Ends the records.
    pub(crate) fn finish(mut self) -> Result<Records<T>> {
        self.flush()?;
        if let Some(file) = self.file {
            self.records.files.push(Arc::new(RecordFile {
                file: file.finish()?,
                open: OnceLock::new(),
            }));
        }
        self.records.spill = Some(self.spill);
        Ok(self.records)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_from_memory_and_from_files() {
        let folder = tempfile::tempdir().unwrap();
        let texts = |from: u64| (from..from + 3000).map(|n| n.to_string().repeat(n as usize % 90));
        for most_bytes in [0, 100_000, 1 << 30] {
            let spill = Arc::new(Spill::new(most_bytes, folder.path()));
            let mut all = Records::default();
            for from in [0, 7000, 14000] {
                let mut writer = RecordWriter::new(&spill);
                texts(from).for_each(|text| writer.push(&text).unwrap());
                all.append(writer.finish().unwrap());
            }
            let expected = [0, 7000, 14000].into_iter().flat_map(texts);
            assert!(all.iter().map(Result::unwrap).eq(expected));
            assert_eq!(all.len(), 9000);
            drop((all, spill));
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        }
    }
}
