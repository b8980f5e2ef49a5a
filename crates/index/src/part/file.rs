//! The files of an index: mapped pages, each with a checksum that is verified on the first read.
//!
//! A file has three parts: the data, padded to whole words; the CRC-32 of every page; a footer. A
//! reader checks the footer when it opens the file, and a page when it first reads from it. So
//! opening takes the same time for every size, and no byte is used unchecked.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use bytemuck::Pod;
use memmap2::Mmap;
use serde::{Deserialize, Serialize};

use super::window::{AROUND_BYTES, Release, Window};
use tokapi_storage::error::{Error, Result};
use tokapi_storage::prefetch::prefetch;

/// Bytes of a page. The first read of a page checks all of it.
const PAGE_BYTES: usize = 16 << 10;
const MAGIC: [u8; 8] = *b"tokapiIX";
/// The version of the index format.
pub(crate) const VERSION: u32 = 1;
/// Magic, kind (4 bytes), version (4), length of the data (8), stamp (4), CRC-32 of these (4).
const FOOTER_BYTES: usize = 32;

/// The kind of content, in four letters.
pub(crate) type Kind = [u8; 4];

/// A finished file, as recorded in a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileNote {
    /// Its size in bytes, footer included.
    pub bytes: u64,
    /// The CRC-32 of the checksums of its pages.
    pub stamp: u32,
}

/// A file being written.
pub(crate) struct PageWriter {
    path: PathBuf,
    file: BufWriter<File>,
    at: u64,
    page: crc32fast::Hasher,
    checksums: Vec<u32>,
}

impl PageWriter {
    /// Begins a new file.
    pub fn create(path: PathBuf) -> Result<Self> {
        let file = File::create_new(&path).map_err(Error::writing(&path))?;
        Ok(PageWriter {
            path,
            file: BufWriter::with_capacity(1 << 20, file),
            at: 0,
            page: crc32fast::Hasher::new(),
            checksums: Vec::new(),
        })
    }

    /// The offset of the next byte.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Adds bytes.
    pub fn write(&mut self, mut bytes: &[u8]) -> Result<()> {
        self.file
            .write_all(bytes)
            .map_err(Error::writing(&self.path))?;
        while !bytes.is_empty() {
            let room = PAGE_BYTES - (self.at % PAGE_BYTES as u64) as usize;
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.page.update(now);
            self.at += now.len() as u64;
            if now.len() == room {
                self.end_page();
            }
            bytes = later;
        }
        Ok(())
    }

    fn end_page(&mut self) {
        let page = std::mem::replace(&mut self.page, crc32fast::Hasher::new());
        self.checksums.push(page.finalize());
    }

    /// Pads with zeros to a multiple of `to`, a power of two up to 64.
    pub fn align(&mut self, to: u64) -> Result<()> {
        let over = (self.at.next_multiple_of(to) - self.at) as usize;
        self.write(&[0; 64][..over])
    }

    /// Ends the file and syncs it to disk.
    pub fn finish(mut self, kind: Kind) -> Result<FileNote> {
        self.align(8)?;
        if !self.at.is_multiple_of(PAGE_BYTES as u64) {
            self.end_page();
        }
        let stamp = crc32fast::hash(bytemuck::cast_slice(&self.checksums));
        let failed = Error::writing(&self.path);
        for checksum in &self.checksums {
            self.file
                .write_all(&checksum.to_le_bytes())
                .map_err(failed)?;
        }
        let mut footer = Vec::with_capacity(FOOTER_BYTES);
        footer.extend(MAGIC);
        footer.extend(kind);
        footer.extend(VERSION.to_le_bytes());
        footer.extend(self.at.to_le_bytes());
        footer.extend(stamp.to_le_bytes());
        footer.extend(crc32fast::hash(&footer).to_le_bytes());
        self.file.write_all(&footer).map_err(failed)?;
        let file = self
            .file
            .into_inner()
            .map_err(|error| failed(error.into_error()))?;
        file.sync_all().map_err(failed)?;
        let pages = self.checksums.len() as u64;
        Ok(FileNote {
            bytes: self.at + 4 * pages + FOOTER_BYTES as u64,
            stamp,
        })
    }
}

/// A mapped file.
pub(crate) struct PageFile {
    path: PathBuf,
    map: Mmap,
    /// The bytes of data.
    length: usize,
    /// A bit for every page that has been checked since the last release.
    checked: Box<[AtomicU64]>,
    /// The number of unchecked pages.
    unchecked: AtomicUsize,
    window: Window,
    /// A bit for every piece of the map that has been touched since the last release; none without
    /// a bound.
    touched: Box<[AtomicU64]>,
}

impl PageFile {
    /// Maps a file of this kind, described by `note`. The window limits its pages in memory.
    pub fn open(path: PathBuf, kind: Kind, note: &FileNote, window: &Window) -> Result<Arc<Self>> {
        let unread = |source| Error::Read {
            path: path.clone(),
            source,
        };
        let file = File::open(&path).map_err(unread)?;
        let bytes = file.metadata().map_err(unread)?.len();
        if bytes != note.bytes || bytes < FOOTER_BYTES as u64 {
            return Err(damaged(
                &path,
                &format!("it has {bytes} bytes and was written with {}", note.bytes),
            ));
        }
        // SAFETY: the map is only read. No check can prevent another program from truncating or
        // changing the file meanwhile. This program only writes new files, and removes files as a
        // whole.
        let map = unsafe { Mmap::map(&file) }.map_err(unread)?;
        let length = read_footer(&map, kind, note).map_err(|what| damaged(&path, &what))?;
        let pages = length.div_ceil(PAGE_BYTES);
        // The first and the last piece may be partial.
        let pieces = match window.is_bounded() {
            true => map.len() / AROUND_BYTES + 2,
            false => 0,
        };
        let file = Arc::new(PageFile {
            path,
            map,
            length,
            checked: no_bits(pages),
            unchecked: AtomicUsize::new(pages),
            window: window.clone(),
            touched: no_bits(pieces),
        });
        let released: Arc<dyn Release> = file.clone();
        window.add(&released);
        Ok(file)
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The bytes of data.
    pub fn len(&self) -> usize {
        self.length
    }

    /// The kind of content, in four letters.
    pub fn kind(&self) -> Kind {
        let at = self.map.len() - FOOTER_BYTES + MAGIC.len();
        std::array::from_fn(|place| self.map[at + place])
    }

    /// The size of the whole file in bytes.
    pub fn file_bytes(&self) -> u64 {
        self.map.len() as u64
    }

    /// A range of the data, checked.
    #[inline]
    pub fn bytes(&self, range: Range<usize>) -> Result<&[u8]> {
        if range.start > range.end || range.end > self.length {
            return Err(self.damaged("a place in it is beyond its end"));
        }
        let pages = range.start / PAGE_BYTES..range.end.div_ceil(PAGE_BYTES);
        for page in pages {
            let seen = self.checked[page / 64].load(Ordering::Relaxed);
            if seen & 1 << (page % 64) == 0 {
                self.check_page(page)?;
            }
        }
        Ok(&self.map[range])
    }

    /// Prefetches the cache line of the data that has byte `at`.
    #[inline(always)]
    pub fn prefetch(&self, at: usize) {
        prefetch(&self.map, at);
    }

    /// All data, after a check of every page.
    #[inline]
    pub fn checked_as_a_whole(&self) -> Option<&[u8]> {
        (self.unchecked.load(Ordering::Relaxed) == 0).then(|| &self.map[..self.length])
    }

    /// `count` values from byte `at` on, checked.
    #[inline]
    pub fn slice<T: Pod>(&self, at: usize, count: usize) -> Result<&[T]> {
        let bytes = count.checked_mul(size_of::<T>());
        let end = bytes.and_then(|bytes| at.checked_add(bytes));
        let end = end.ok_or_else(|| self.damaged("a place in it is beyond its end"))?;
        bytemuck::try_cast_slice(self.bytes(at..end)?)
            .map_err(|_| self.damaged("a place in it is not aligned"))
    }

    /// The last words of the data.
    pub fn tail<const COUNT: usize>(&self) -> Result<[usize; COUNT]> {
        let at = self.len().checked_sub(8 * COUNT);
        let at = at.ok_or_else(|| self.damaged("it is too short"))?;
        let words = self.slice::<u64>(at, COUNT)?;
        Ok(std::array::from_fn(|place| words[place] as usize))
    }

    /// An offset and a count, stored at the end of the data.
    pub fn trailer(&self) -> Result<(usize, usize)> {
        let [at, count] = self.tail::<2>()?;
        match at <= self.len() && count <= self.len() {
            true => Ok((at, count)),
            false => Err(self.damaged("a place in it is beyond its end")),
        }
    }

    /// Counts bytes of the map before they are touched.
    fn touch(&self, bytes: Range<usize>) {
        if !self.window.is_bounded() {
            return;
        }
        // Mapped ranges are aligned by address, not by offset in the file.
        let address = self.map.as_ptr().addr();
        let piece = |at: usize| (address + at) / AROUND_BYTES - address / AROUND_BYTES;
        for piece in piece(bytes.start)..=piece(bytes.end - 1) {
            let bit = 1 << (piece % 64);
            if self.touched[piece / 64].load(Ordering::Relaxed) & bit == 0 {
                self.window.touch(AROUND_BYTES as u64);
                self.touched[piece / 64].fetch_or(bit, Ordering::Relaxed);
            }
        }
    }

    #[cold]
    fn check_page(&self, page: usize) -> Result<()> {
        let range = page * PAGE_BYTES..self.length.min((page + 1) * PAGE_BYTES);
        let at = self.length + 4 * page;
        self.touch(range.clone());
        self.touch(at..at + 4);
        let data = &self.map[range];
        if crc32fast::hash(data).to_le_bytes() != self.map[at..at + 4] {
            return Err(self.damaged(&format!(
                "the checksum of bytes {} to {} is wrong",
                page * PAGE_BYTES,
                page * PAGE_BYTES + data.len()
            )));
        }
        let bit = 1 << (page % 64);
        if self.checked[page / 64].fetch_or(bit, Ordering::Relaxed) & bit == 0 {
            self.unchecked.fetch_sub(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// The error that the file is damaged.
    pub fn damaged(&self, what: &str) -> Error {
        damaged(&self.path, what)
    }
}

impl Release for PageFile {
    fn release(&self) {
        for pages in &self.checked {
            let checked = pages.swap(0, Ordering::Relaxed).count_ones();
            self.unchecked
                .fetch_add(checked as usize, Ordering::Relaxed);
        }
        for pieces in &self.touched {
            pieces.store(0, Ordering::Relaxed);
        }
        #[cfg(unix)]
        // SAFETY: nothing is written to the map, so a released page comes back with the same
        // content. If the system ignores the advice, the pages stay.
        let _ = unsafe {
            self.map
                .unchecked_advise(memmap2::UncheckedAdvice::DontNeed)
        };
    }
}

/// `count` bits, all clear.
fn no_bits(count: usize) -> Box<[AtomicU64]> {
    (0..count.div_ceil(64)).map(|_| AtomicU64::new(0)).collect()
}

/// The size of the data that a footer gives.
fn read_footer(map: &[u8], kind: Kind, note: &FileNote) -> Result<usize, String> {
    let footer = &map[map.len() - FOOTER_BYTES..];
    let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|place| footer[at + place]));
    if footer[..8] != MAGIC || crc32fast::hash(&footer[..28]) != word(28) {
        return Err("it does not end as a file of an index does".into());
    }
    if word(12) != VERSION {
        return Err(format!(
            "it has version {} of the format, but this program reads version {VERSION}",
            word(12)
        ));
    }
    if footer[8..12] != kind || word(24) != note.stamp {
        return Err("it is another file than the manifest tells of".into());
    }
    let length = u64::from(word(16)) | u64::from(word(20)) << 32;
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let pages = length.div_ceil(PAGE_BYTES);
    match length.checked_add(4 * pages + FOOTER_BYTES) == Some(map.len()) {
        true => Ok(length),
        false => Err("its length contradicts itself".into()),
    }
}

/// The error that a file of an index is damaged.
pub(crate) fn damaged(path: &Path, what: &str) -> Error {
    Error::Damaged {
        path: path.to_path_buf(),
        what: format!("the index is damaged: {what}; build it again"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: Kind = *b"test";

    fn written(path: &Path, length: usize) -> (FileNote, Vec<u8>) {
        let data: Vec<u8> = (0..length).map(|place| ((place * 31) >> 3) as u8).collect();
        let mut writer = PageWriter::create(path.to_path_buf()).unwrap();
        for piece in data.chunks(1000) {
            writer.write(piece).unwrap();
        }
        (writer.finish(KIND).unwrap(), data)
    }

    #[test]
    fn what_was_written_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        for length in [0, 1, 8, PAGE_BYTES - 8, PAGE_BYTES, 3 * PAGE_BYTES + 5] {
            let path = folder.path().join(length.to_string());
            let (note, data) = written(&path, length);
            let file = PageFile::open(path, KIND, &note, &Window::default()).unwrap();
            assert_eq!(file.bytes(0..length).unwrap(), data);
            assert!(file.bytes(0..file.len() + 1).is_err());
            assert!(
                PageFile::open(file.path.clone(), *b"else", &note, &Window::default()).is_err()
            );
        }
    }

    #[test]
    fn every_flipped_bit_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let (note, data) = written(&path, PAGE_BYTES + 100);
        let bytes = std::fs::read(&path).unwrap();
        for bit in (0..8 * bytes.len()).step_by(97) {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, flipped).unwrap();
            let read = PageFile::open(path.clone(), KIND, &note, &Window::default());
            let read = read.and_then(|file| file.bytes(0..data.len()).map(<[u8]>::to_vec));
            assert!(read.is_err(), "bit {bit}");
        }
        std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        assert!(PageFile::open(path, KIND, &note, &Window::default()).is_err());
    }
}
