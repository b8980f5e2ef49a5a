//! Records from a file or standard input, a chunk at a time.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde_json::{Value, json};

use super::KeyType;
use super::columns::{self, Columns, Word};
use super::text::Lines;
use tokapi_storage::error::{Error, Place, Position, Result};
use tokapi_storage::progress::Progress;

/// The layout of records in a file.
///
/// [`sort_file`](crate::sort_file) has an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Layout {
    /// Little-endian words, one after the other; a payload follows its key.
    #[default]
    Binary,
    /// One line each; a payload follows its key and a tab.
    Text,
}

/// The bytes of text that one thread parses at a time.
const SHARE_BYTES: usize = 1 << 20;
/// The bytes that one thread reads at a time.
const PIECE_BYTES: usize = 8 << 20;

/// An input that is read front to back.
pub(super) struct Input {
    path: PathBuf,
    reader: Box<dyn Read + Send>,
    /// The size of a file; none if unknown.
    pub bytes: Option<u64>,
    layout: Layout,
    record_bytes: usize,
    /// The beginning of an incomplete record.
    carried: Vec<u8>,
    /// The bytes of records returned so far.
    given: u64,
    next_line: u64,
}

/// The bytes of some records.
pub(super) struct RawChunk {
    bytes: Vec<u8>,
    first_line: u64,
    /// The place after this chunk, for resuming.
    pub position: Value,
}

impl Input {
    /// Opens a file, or standard input as `-`.
    ///
    /// # Errors
    /// The input cannot be read; it does not hold a whole number of binary records.
    pub(super) fn open(path: &Path, layout: Layout, record_bytes: usize) -> Result<Self> {
        let failed = failed(path);
        let mut bytes = None;
        let reader: Box<dyn Read + Send> = match path == Path::new("-") {
            true => Box::new(io::stdin()),
            false => {
                let file = File::open(path).map_err(failed)?;
                let metadata = file.metadata().map_err(failed)?;
                if metadata.is_dir() {
                    return Err(failed(io::Error::other("it is a folder")));
                }
                bytes = metadata.is_file().then_some(metadata.len());
                Box::new(file)
            }
        };
        let input = Input {
            path: path.to_path_buf(),
            reader,
            bytes,
            layout,
            record_bytes,
            carried: Vec::new(),
            given: 0,
            next_line: 1,
        };
        match (layout, bytes) {
            (Layout::Binary, Some(bytes)) if bytes % record_bytes as u64 != 0 => {
                Err(input.cut_off(bytes))
            }
            _ => Ok(input),
        }
    }

    /// Skips to the place that an interrupted run had reached.
    ///
    /// # Errors
    /// The file cannot be read from there.
    pub(super) fn go_to(&mut self, position: &Value) -> Result<()> {
        self.given = position["bytes"].as_u64().unwrap_or(0);
        self.next_line = position["line"].as_u64().unwrap_or(1);
        let mut file = File::open(&self.path).map_err(failed(&self.path))?;
        file.seek(SeekFrom::Start(self.given))
            .map_err(failed(&self.path))?;
        self.reader = Box::new(file);
        Ok(())
    }

    /// Reads a whole file of this size, on all threads.
    ///
    /// # Errors
    /// The file cannot be read, or has become smaller; [`Error::Cancelled`].
    pub(super) fn read_whole(&self, bytes: &mut [u8], progress: &Progress) -> Result<()> {
        let failed = failed(&self.path);
        let file = File::open(&self.path).map_err(failed)?;
        let pieces = bytes.par_chunks_mut(PIECE_BYTES).enumerate();
        pieces.try_for_each(|(place, piece): (usize, &mut [u8])| {
            progress.check()?;
            let read = file.read_exact_at(piece, (place * PIECE_BYTES) as u64);
            read.map_err(failed)?;
            progress.add_bytes(piece.len() as u64);
            Ok(())
        })
    }

    /// The bytes of records returned so far.
    pub(super) fn given(&self) -> u64 {
        self.given
    }

    /// Reads the next records, about `chunk_bytes` bytes, into `bytes`; none at the end.
    ///
    /// # Errors
    /// The input cannot be read; it ends within a binary record; [`Error::Cancelled`].
    pub(super) fn next(
        &mut self,
        chunk_bytes: usize,
        mut bytes: Vec<u8>,
        progress: &Progress,
    ) -> Result<Option<RawChunk>> {
        bytes.clear();
        bytes.append(&mut self.carried);
        let mut at_end = false;
        // A line may be longer than a chunk.
        let mut wanted = chunk_bytes.max(self.record_bytes);
        let end = loop {
            while !at_end && bytes.len() < wanted {
                progress.check()?;
                let more = (wanted - bytes.len()).min(PIECE_BYTES) as u64;
                let read = (&mut self.reader).take(more).read_to_end(&mut bytes);
                let read = read.map_err(failed(&self.path))?;
                progress.add_bytes(read as u64);
                at_end = (read as u64) < more;
            }
            match self.layout {
                _ if at_end => break bytes.len(),
                Layout::Binary => break bytes.len() / self.record_bytes * self.record_bytes,
                Layout::Text => match memchr::memrchr(b'\n', &bytes) {
                    Some(end) => break end + 1,
                    None => wanted *= 2,
                },
            }
        };
        self.carried.extend_from_slice(&bytes[end..]);
        bytes.truncate(end);
        self.given += end as u64;
        if self.layout == Layout::Binary && end % self.record_bytes != 0 {
            return Err(self.cut_off(self.given));
        }
        if bytes.is_empty() {
            return Ok(None);
        }
        let first_line = self.next_line;
        if self.layout == Layout::Text {
            for piece in bytes.chunks(PIECE_BYTES) {
                progress.check()?;
                self.next_line += memchr::memchr_iter(b'\n', piece).count() as u64;
            }
        }
        Ok(Some(RawChunk {
            bytes,
            first_line,
            position: json!({"bytes": self.given, "line": self.next_line}),
        }))
    }

    fn cut_off(&self, bytes: u64) -> Error {
        Error::Input {
            place: Place {
                path: self.path.clone(),
                position: Position::Whole,
            },
            what: format!(
                "its {bytes} bytes are no whole number of records of {} bytes: it was cut off, or \
                 has another type; name the type",
                self.record_bytes
            ),
        }
    }
}

impl RawChunk {
    /// Parses the bytes into records, which replace those in `columns`, on all threads. Returns the buffer.
    ///
    /// # Errors
    /// A line is not a record; [`Error::Cancelled`].
    pub(super) fn parse<W: Word>(
        self,
        layout: Layout,
        key_type: KeyType,
        path: &Path,
        columns: &mut Columns<W>,
        progress: &Progress,
    ) -> Result<Vec<u8>> {
        columns.clear();
        match layout {
            Layout::Binary => {
                let record_bytes = key_type.bytes() * (1 + usize::from(columns.pairs));
                columns.reserve(self.bytes.len() / record_bytes);
                for piece in self.bytes.chunks(SHARE_BYTES * record_bytes) {
                    progress.check()?;
                    columns.append_records(key_type, piece);
                }
            }
            Layout::Text => {
                let lines = Lines { key_type, path };
                let pairs = columns.pairs;
                let shares: Vec<Columns<W>> = shares(&self.bytes, self.first_line, progress)?
                    .into_par_iter()
                    .map(|(text, line)| {
                        progress.check()?;
                        let mut columns = Columns::new(pairs);
                        W::parse(&lines, text, line, &mut columns)?;
                        Ok(columns)
                    })
                    .collect::<Result<_>>()?;
                for share in &shares {
                    progress.check()?;
                    columns.append(share, 0..share.len());
                }
            }
        }
        columns::order(&mut columns.keys, key_type, progress)?;
        Ok(self.bytes)
    }
}

/// Cuts a text at line ends into shares. Each has the number of its first line.
///
/// # Errors
/// [`Error::Cancelled`].
fn shares<'a>(
    text: &'a [u8],
    first_line: u64,
    progress: &Progress,
) -> Result<Vec<(&'a [u8], u64)>> {
    let (mut shares, mut left, mut line) = (Vec::new(), text, first_line);
    while !left.is_empty() {
        progress.check()?;
        let end = match left.get(SHARE_BYTES..) {
            Some(rest) => memchr::memchr(b'\n', rest).map_or(left.len(), |at| SHARE_BYTES + at + 1),
            None => left.len(),
        };
        let (share, rest) = left.split_at(end);
        shares.push((share, line));
        line += memchr::memchr_iter(b'\n', share).count() as u64;
        left = rest;
    }
    Ok(shares)
}

fn failed(path: &Path) -> impl Fn(io::Error) -> Error + Copy {
    move |source| Error::Read {
        path: path.to_path_buf(),
        source,
    }
}
