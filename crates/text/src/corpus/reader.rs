//! Sources of records: a stream, or a file that can be read from any position, so that threads read their own blocks.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde::{Deserialize, Serialize};

use super::format::Format;
use tokapi_storage::progress::Progress;

/// The first search for the last record end that fits covers this many bytes.
const WINDOW_BYTES: usize = 1 << 16;

/// A source of bytes, front to back.
pub(super) enum Reader {
    Stream(Box<dyn Read + Send>),
    File(FileReader),
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Reader::Stream(stream) => stream.read(buffer),
            Reader::File(file) => file.read(buffer),
        }
    }
}

/// An uncompressed file, from a position on.
#[derive(Clone, Serialize, Deserialize)]
#[serde(from = "FilePlace", into = "FilePlace")]
pub(super) struct FileReader {
    /// Opened at the first read if it comes from another process.
    file: Arc<OnceLock<File>>,
    path: Arc<Path>,
    at: u64,
    /// The file's length when it was opened.
    length: u64,
    progress: Progress,
    /// The numbers of some lines, by their byte offsets: those that errors asked for.
    lines: Arc<Mutex<BTreeMap<u64, u64>>>,
}

/// The position of a reader in a file.
#[derive(Clone, Serialize, Deserialize)]
struct FilePlace {
    #[serde(with = "tokapi_storage::paths")]
    path: Arc<Path>,
    at: u64,
    length: u64,
}

impl From<FileReader> for FilePlace {
    fn from(reader: FileReader) -> Self {
        FilePlace {
            path: reader.path,
            at: reader.at,
            length: reader.length,
        }
    }
}

impl From<FilePlace> for FileReader {
    fn from(place: FilePlace) -> Self {
        FileReader {
            file: Arc::default(),
            path: place.path,
            at: place.at,
            length: place.length,
            progress: Progress::default(),
            lines: Arc::new(Mutex::new(BTreeMap::from([(0, 1)]))),
        }
    }
}

impl FileReader {
    pub(super) fn new(
        file: File,
        path: Arc<Path>,
        at: u64,
        length: u64,
        progress: &Progress,
    ) -> Self {
        FileReader {
            file: Arc::new(OnceLock::from(file)),
            path,
            at,
            length,
            progress: progress.clone(),
            lines: Arc::new(Mutex::new(BTreeMap::from([(0, 1)]))),
        }
    }

    fn file(&self) -> io::Result<&File> {
        match self.file.get() {
            Some(file) => Ok(file),
            None => {
                let file = File::open(&self.path)?;
                Ok(self.file.get_or_init(|| file))
            }
        }
    }

    /// Goes back: the last `count` bytes are read again.
    pub(super) fn unread(&mut self, count: usize) {
        self.at -= count as u64;
        self.progress.take_back_bytes(count as u64);
    }

    /// Splits off the whole records in the next `room` bytes, for another thread to read. None if the file ends before,
    /// if no record ends there, or if the file cannot be read.
    pub(super) fn split_records(&mut self, format: Format, room: usize) -> Option<RecordRange> {
        if self.at.checked_add(room as u64)? >= self.length {
            return None;
        }
        let mut window = Vec::new();
        let mut size = WINDOW_BYTES.min(room);
        let length = loop {
            window.resize(size, 0);
            let from = room - size;
            self.file()
                .ok()?
                .read_exact_at(&mut window, self.at + from as u64)
                .ok()?;
            match format.last_record_end_within(&window) {
                Some(end) => break from + end,
                None if size == room => return None,
                None => size = size.saturating_mul(4).min(room),
            }
        };
        let range = RecordRange {
            reader: self.clone(),
            length,
        };
        self.at += length as u64;
        Some(range)
    }

    /// The number of the line that begins here, counted from 1. The bytes since the nearest known line are read for it,
    /// so all errors together read a file once more.
    pub(super) fn line(&self) -> u64 {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let known = lines.range(..=self.at).next_back();
        let (mut at, mut line) = known.map_or((0, 1), |(&at, &line)| (at, line));
        if at == self.at {
            return line;
        }
        let mut buffer = vec![0; 1 << 20];
        while let Ok(file) = self.file()
            && at < self.at
        {
            let wanted =
                usize::try_from(self.at - at).map_or(buffer.len(), |n| n.min(buffer.len()));
            match file.read_at(&mut buffer[..wanted], at) {
                Ok(read) if read > 0 => {
                    line += memchr::memchr_iter(b'\n', &buffer[..read]).count() as u64;
                    at += read as u64;
                }
                _ => break,
            }
        }
        lines.insert(self.at, line);
        line
    }
}

impl Read for FileReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file()?.read_at(buffer, self.at)?;
        self.at += count as u64;
        self.progress.add_bytes(count as u64);
        Ok(count)
    }
}

/// Whole records of a file that have not been read yet.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct RecordRange {
    reader: FileReader,
    length: usize,
}

impl RecordRange {
    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// Appends the records to `bytes`.
    pub(super) fn read(mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        bytes.reserve(self.length);
        let read = (&mut self.reader)
            .take(self.length as u64)
            .read_to_end(bytes)?;
        match read == self.length {
            true => Ok(()),
            false => Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the file became shorter while it was read",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_longer_than_the_window_are_found() {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        let record = format!("id\t{}\n", "x".repeat(WINDOW_BYTES));
        std::fs::write(&path, record.repeat(7)).unwrap();
        let file = File::open(&path).unwrap();
        let length = file.metadata().unwrap().len();
        let mut reader = FileReader::new(file, (&*path).into(), 0, length, &Arc::default());
        // Room for two records and most of a third.
        let room = 3 * record.len() - 5;
        for line in [1, 3, 5, 7] {
            assert_eq!(reader.line(), line);
            let range = reader.split_records(Format::Tsv, room);
            if line == 7 {
                assert!(range.is_none(), "the file ends within");
                break;
            }
            let mut bytes = Vec::new();
            range.unwrap().read(&mut bytes).unwrap();
            assert!(bytes == record.repeat(2).as_bytes());
        }
        // Room for less than one record.
        assert!(reader.split_records(Format::Tsv, 100).is_none());
        // A file that is truncated after it was opened.
        let mut again = FileReader {
            at: 0,
            ..reader.clone()
        };
        let range = again.split_records(Format::Tsv, room).unwrap();
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(10)
            .unwrap();
        let error = range.read(&mut Vec::new()).unwrap_err();
        assert!(error.to_string().contains("shorter"), "{error}");
    }
}
