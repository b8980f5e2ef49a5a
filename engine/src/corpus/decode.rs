//! Opening an input: counted, decompressed, its format told.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Format, Input, Progress};
use crate::error::{Error, Place, Position, Result};

/// What is read from the system at a time.
const READ_BYTES: usize = 1 << 18;

/// What a stream of Zstandard begins with.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// What a stream of gzip begins with.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The bytes of an input, decompressed, and the format they seem to be in.
pub(super) struct Decoded {
    pub reader: Box<dyn Read + Send>,
    pub format: Format,
    pub compressed: bool,
}

/// The error that reading from `path` failed with `source`, `at` bytes into what is decompressed.
pub(super) fn failed(path: &Path, compressed: bool, at: u64, source: io::Error) -> Error {
    let path = path.to_path_buf();
    match compressed {
        false => Error::Read { path, source },
        true => Error::Input {
            place: Place {
                path,
                position: Position::Byte(at),
            },
            what: format!(
                "the compressed data is damaged or cut off ({source}); fetch the file again"
            ),
        },
    }
}

/// Opens `input`; gzip and zstd are told from the first bytes, whatever the name.
pub(super) fn open(
    input: &Input,
    format: Option<Format>,
    progress: &Arc<Progress>,
) -> Result<Decoded> {
    let unread = |source| failed(&input.path, false, 0, source);
    let damaged = |source| failed(&input.path, true, 0, source);
    let file: Box<dyn Read + Send> = match &input.memory {
        Some(bytes) => Box::new(io::Cursor::new(bytes.clone())),
        None if input.is_stdin() => Box::new(io::stdin()),
        None => Box::new(File::open(&input.path).map_err(unread)?),
    };
    let counted = Counted {
        inner: file,
        progress: Arc::clone(progress),
    };
    // Folders of many small files are common: no more room than the file needs.
    let capacity = match input.bytes {
        0 => READ_BYTES,
        bytes => usize::try_from(bytes)
            .unwrap_or(READ_BYTES)
            .clamp(1 << 12, READ_BYTES),
    };
    let mut raw = BufReader::with_capacity(capacity, counted);
    let start = fill(&mut raw).map_err(unread)?;
    let (gzip, zstd) = (start.starts_with(&GZIP), start.starts_with(&ZSTD));
    let compressed = gzip || zstd;
    let reader: Box<dyn Read + Send> = if gzip {
        Box::new(flate2::bufread::MultiGzDecoder::new(raw))
    } else if zstd {
        Box::new(zstd::Decoder::with_buffer(raw).map_err(damaged)?)
    } else {
        Box::new(raw)
    };
    let mut text = BufReader::with_capacity(capacity, reader);
    let start = fill(&mut text).map_err(|source| failed(&input.path, compressed, 0, source))?;
    let bom = start.starts_with("\u{feff}".as_bytes());
    let start = if bom { &start[3..] } else { start };
    let format = format
        .or_else(|| Format::of_name(&input.path))
        // Nothing from standard input is no document, not one that is empty.
        .or((input.is_stdin() && start.is_empty()).then_some(Format::Jsonl))
        .unwrap_or_else(|| Format::of_bytes(start));
    if bom {
        text.consume(3);
    }
    Ok(Decoded {
        reader: Box::new(text),
        format,
        compressed,
    })
}

/// The reader's buffer, read once again where the first read brought little.
fn fill<R: Read>(reader: &mut BufReader<R>) -> io::Result<&[u8]> {
    loop {
        match reader.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            Ok(_) => return Ok(reader.buffer()),
        }
    }
}

/// Counts the bytes that pass.
struct Counted<R> {
    inner: R,
    progress: Arc<Progress>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.progress
            .read_bytes
            .fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
