//! Checksummed frames: the layout of every scratch file.
//!
//! A file begins with a header: a magic number and the stamp of its job. Frames follow. Each begins with its length and
//! its checksum. The checksum covers the stamp, the place in the file, the length and the content. So a damaged frame,
//! or a frame of another place or job, is always detected.

use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::disk;
use crate::error::{Error, Result};
use crate::progress::Progress;

const MAGIC: &[u8; 8] = b"tokapi\x012";
/// The bytes before the first frame.
pub const HEADER_BYTES: u64 = 16;
/// The bytes of a frame beside its content.
pub const FRAME_BYTES: usize = 8;

/// The header of a file of the job with this stamp.
pub fn header(stamp: u64) -> [u8; HEADER_BYTES as usize] {
    let mut header = [0; HEADER_BYTES as usize];
    header[..8].copy_from_slice(MAGIC);
    header[8..].copy_from_slice(&stamp.to_le_bytes());
    header
}

/// Appends a frame to `bytes`, which begin at `base` in their file. `fill` adds the content.
pub fn push(stamp: u64, base: u64, bytes: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>)) {
    let start = bytes.len();
    bytes.extend_from_slice(&[0; FRAME_BYTES]);
    fill(bytes);
    let content = &bytes[start + FRAME_BYTES..];
    // Contents are pieces of far less than 2^32 bytes. A single huge term or id is an exception; the reader of the
    // corpus bounds it by the memory.
    let length = content.len() as u32;
    let checksum = checksum(stamp, base + start as u64, length, content);
    bytes[start..start + 4].copy_from_slice(&length.to_le_bytes());
    bytes[start + 4..start + 8].copy_from_slice(&checksum.to_le_bytes());
}

fn checksum(stamp: u64, at: u64, length: u32, content: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&stamp.to_le_bytes());
    hasher.update(&at.to_le_bytes());
    hasher.update(&length.to_le_bytes());
    hasher.update(content);
    hasher.finalize()
}

/// A file of frames that is written front to back.
pub struct FrameWriter {
    path: PathBuf,
    file: File,
    stamp: u64,
    buffer: Vec<u8>,
    /// The place of the buffer in the file.
    base: u64,
}

impl FrameWriter {
    const BUFFER_BYTES: usize = 1 << 20;

    /// Creates the file with the stamp of its job.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn create(path: PathBuf, stamp: u64) -> Result<Self> {
        let file = File::create(&path).map_err(scratch(&path))?;
        Ok(FrameWriter {
            path,
            file,
            stamp,
            buffer: header(stamp).to_vec(),
            base: 0,
        })
    }

    /// The place of the next frame.
    pub fn at(&self) -> u64 {
        self.base + self.buffer.len() as u64
    }

    /// Adds a frame with the content that `fill` adds.
    pub fn push(&mut self, fill: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        push(self.stamp, self.base, &mut self.buffer, fill);
        match self.buffer.len() < Self::BUFFER_BYTES {
            true => Ok(()),
            false => self.flush(),
        }
    }

    fn flush(&mut self) -> Result<()> {
        self.file
            .write_all(&self.buffer)
            .map_err(scratch(&self.path))?;
        self.base += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Finishes the file.
    pub fn finish(mut self) -> Result<FrameFile> {
        self.flush()?;
        Ok(FrameFile {
            path: self.path,
            stamp: self.stamp,
            length: self.base,
        })
    }

    /// Finishes the file, and waits until it is on disk.
    ///
    /// # Errors
    /// The file cannot be written; `progress` is cancelled.
    pub fn finish_on_disk(mut self, progress: &Progress) -> Result<FrameFile> {
        self.flush()?;
        disk::sync(&self.file, progress, scratch(&self.path))?;
        self.finish()
    }
}

/// A finished file of frames.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameFile {
    #[serde(with = "crate::paths")]
    /// The path.
    pub path: PathBuf,
    /// The stamp of its job.
    pub stamp: u64,
    /// Its length in bytes, header included.
    pub length: u64,
}

impl FrameFile {
    /// Checks that the file exists, is whole, and belongs to this job.
    ///
    /// # Errors
    /// The file is missing, truncated, or of another job.
    pub fn check(&self) -> Result<()> {
        let file = File::open(&self.path).map_err(scratch(&self.path))?;
        let length = file.metadata().map_err(scratch(&self.path))?.len();
        if length != self.length {
            let length = format!("it has {length} bytes of {}", self.length);
            return Err(self.corrupt(&length));
        }
        let mut found = [0; HEADER_BYTES as usize];
        file.read_exact_at(&mut found, 0)
            .map_err(scratch(&self.path))?;
        match found == header(self.stamp) {
            true => Ok(()),
            false => Err(self.corrupt("it belongs to another run")),
        }
    }

    /// Opens the file, to read frames in any order.
    ///
    /// # Errors
    /// As [`FrameFile::check`].
    pub fn open(&self) -> Result<OpenFrames> {
        self.check()?;
        Ok(OpenFrames {
            open: File::open(&self.path).map_err(scratch(&self.path))?,
            file: self.clone(),
        })
    }

    /// Reads the frames in `from..to`, `buffer_bytes` at a time. A frame begins at `from`.
    pub fn read(&self, from: u64, to: u64, buffer_bytes: usize) -> FrameReader {
        FrameReader {
            file: self.clone(),
            at: from,
            end: to.min(self.length),
            buffer: Vec::new(),
            used: 0,
            buffer_bytes: buffer_bytes.max(FRAME_BYTES),
        }
    }

    /// The error for a damaged file.
    pub fn corrupt(&self, what: &str) -> Error {
        Error::Damaged {
            path: self.path.clone(),
            what: format!("{what}; remove its folder and begin again"),
        }
    }
}

/// A file of frames that stays open. Any number of threads read frames in any order.
pub struct OpenFrames {
    file: FrameFile,
    open: File,
}

impl OpenFrames {
    /// Reads the frame in `range` into `buffer` and returns its content.
    ///
    /// # Errors
    /// The file cannot be read, or the frame is damaged.
    pub fn read<'a>(&self, range: Range<u64>, buffer: &'a mut Vec<u8>) -> Result<&'a [u8]> {
        let at = range.start;
        let damaged = || {
            self.file
                .corrupt(&format!("what stands at byte {at} is damaged"))
        };
        let bytes = usize::try_from(range.end - at).map_err(|_| damaged())?;
        buffer.resize(bytes, 0);
        self.open
            .read_exact_at(buffer, at)
            .map_err(scratch(&self.file.path))?;
        let (head, content) = buffer
            .split_first_chunk::<FRAME_BYTES>()
            .ok_or_else(damaged)?;
        let length = u32::try_from(content.len()).map_err(|_| damaged())?;
        let checksum = checksum(self.file.stamp, at, length, content);
        let expected = u64::from(checksum) << 32 | u64::from(length);
        match *head == expected.to_le_bytes() {
            true => Ok(content),
            false => Err(damaged()),
        }
    }
}

/// A reader of frames, one after the other.
///
/// The file is opened for every buffer and closed again, so any number of files can be read at the same time.
pub struct FrameReader {
    file: FrameFile,
    /// The place of the next read.
    at: u64,
    end: u64,
    buffer: Vec<u8>,
    /// The bytes of the buffer that have been consumed.
    used: usize,
    buffer_bytes: usize,
}

impl FrameReader {
    /// The place of the next frame in the file.
    pub fn at(&self) -> u64 {
        self.at - (self.buffer.len() - self.used) as u64
    }

    /// Whether there is a next frame.
    pub fn has_more(&self) -> bool {
        self.at() < self.end
    }

    /// The content of the next frame; none at the end.
    ///
    /// # Errors
    /// The file cannot be read, or the frame is damaged.
    #[allow(
        clippy::should_implement_trait,
        reason = "items borrow from the reader"
    )]
    pub fn next(&mut self) -> Result<Option<&[u8]>> {
        if !self.has_more() {
            return Ok(None);
        }
        self.ensure(FRAME_BYTES)?;
        let place = self.at();
        let field = |from: usize| {
            let bytes = &self.buffer[self.used + from..self.used + from + 4];
            u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
        };
        let (length, expected) = (field(0), field(4));
        self.ensure(FRAME_BYTES + length as usize)?;
        let content = self.used + FRAME_BYTES..self.used + FRAME_BYTES + length as usize;
        self.used = content.end;
        let content = &self.buffer[content];
        match checksum(self.file.stamp, place, length, content) == expected {
            true => Ok(Some(content)),
            false => Err(self
                .file
                .corrupt(&format!("what stands at byte {place} is damaged"))),
        }
    }

    /// Makes at least `count` bytes available in the buffer.
    fn ensure(&mut self, count: usize) -> Result<()> {
        let left = self.buffer.len() - self.used;
        if left >= count {
            return Ok(());
        }
        if (count - left) as u64 > self.end - self.at {
            return Err(self.file.corrupt("it ends within a frame"));
        }
        self.buffer.drain(..self.used);
        self.used = 0;
        let wanted = (count.max(self.buffer_bytes) - left) as u64;
        // At most `count` or a buffer, both of which are a usize.
        let wanted = wanted.min(self.end - self.at) as usize;
        self.buffer.resize(left + wanted, 0);
        let path = &self.file.path;
        let file = File::open(path).map_err(scratch(path))?;
        file.read_exact_at(&mut self.buffer[left..], self.at)
            .map_err(scratch(path))?;
        self.at += wanted as u64;
        Ok(())
    }
}

/// Makes an [`Error::Scratch`] for `path` from the system's error.
pub fn scratch(path: &Path) -> impl Fn(io::Error) -> Error + Copy {
    move |source| Error::Scratch {
        path: path.to_path_buf(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents() -> Vec<Vec<u8>> {
        let lengths = [0, 1, 7, 8, 9, 100, 300, 3];
        lengths
            .iter()
            .map(|&length| (0..length).map(|n| (n * 7 % 251) as u8).collect())
            .collect()
    }

    fn written(path: &Path, stamp: u64) -> FrameFile {
        let mut writer = FrameWriter::create(path.to_path_buf(), stamp).unwrap();
        for content in contents() {
            writer
                .push(|bytes| bytes.extend_from_slice(&content))
                .unwrap();
        }
        writer.finish_on_disk(&Progress::new()).unwrap()
    }

    fn all(file: &FrameFile, buffer_bytes: usize) -> Result<Vec<Vec<u8>>> {
        file.check()?;
        let mut reader = file.read(HEADER_BYTES, file.length, buffer_bytes);
        let mut contents = Vec::new();
        while let Some(content) = reader.next()? {
            contents.push(content.to_vec());
        }
        Ok(contents)
    }

    #[test]
    fn frames_come_back_whatever_the_buffer() {
        let folder = tempfile::tempdir().unwrap();
        let file = written(&folder.path().join("a"), 1);
        for buffer_bytes in [0, 1, 16, 17, 4096, 1 << 20] {
            assert_eq!(all(&file, buffer_bytes).unwrap(), contents());
        }
    }

    #[test]
    fn frames_are_read_in_any_order_and_damage_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mut writer = FrameWriter::create(path.clone(), 1).unwrap();
        let mut places = vec![writer.at()];
        for content in contents() {
            let push = |bytes: &mut Vec<u8>| bytes.extend_from_slice(&content);
            writer.push(push).unwrap();
            places.push(writer.at());
        }
        let file = writer.finish().unwrap();
        let read = |number: usize| -> Result<Vec<u8>> {
            let range = places[number]..places[number + 1];
            Ok(file.open()?.read(range, &mut Vec::new())?.to_vec())
        };
        for (number, content) in contents().iter().enumerate().rev() {
            assert_eq!(&read(number).unwrap(), content);
        }
        let mut bytes = std::fs::read(&path).unwrap();
        // In the head of the third, and in the content of the last but one.
        for (number, at) in [(2, places[2]), (6, places[7] - 1)] {
            bytes[at as usize] ^= 1;
            std::fs::write(&path, &bytes).unwrap();
            assert!(matches!(read(number), Err(Error::Damaged { .. })));
        }
    }

    #[test]
    fn damage_a_cut_and_a_file_of_another_job_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let file = written(&path, 1);
        let good = std::fs::read(&path).unwrap();
        // Every bit, and every length.
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, &bad).unwrap();
            let error = all(&file, 4096).unwrap_err();
            assert!(matches!(error, Error::Damaged { .. }), "{bit}: {error}");
        }
        for length in (0..good.len()).step_by(13) {
            std::fs::write(&path, &good[..length]).unwrap();
            assert!(matches!(all(&file, 64), Err(Error::Damaged { .. })));
        }
        written(&path, 2);
        let error = all(&file, 64).unwrap_err().to_string();
        assert!(error.contains("another run"), "{error}");
    }
}
