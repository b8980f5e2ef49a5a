//! Opening an input: its bytes counted and decompressed, its format detected.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

use super::format::{Format, PEEK_BYTES};
use super::gzip::Members;
use super::inputs::Input;
use super::options::CorpusOptions;
use super::reader::{FileReader, Reader};
use super::recognise::recognise;
use tokapi_storage::error::{Error, Place, Position, Result};
use tokapi_storage::progress::Progress;

/// The size of a read.
const READ_BYTES: usize = 1 << 18;

/// The first bytes of a Zstandard stream.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// The first bytes of a gzip stream.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The decompressed bytes of an input, and their likely format.
pub(super) struct Decoded {
    pub reader: Reader,
    pub format: Format,
    pub compressed: bool,
    /// The first bytes, which the reader returns again.
    pub start: Vec<u8>,
}

/// The error for a failed read of `path` with cause `source`, `at` bytes into the decompressed data.
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

/// Opens `input`. gzip and zstd are detected by the first bytes, not by the name.
pub(super) fn open(input: &Input, options: &CorpusOptions, progress: &Progress) -> Result<Decoded> {
    let unread = |source| failed(&input.path, false, 0, source);
    let damaged = |source| failed(&input.path, true, 0, source);
    let file: Box<dyn Read + Send> = match &input.memory {
        Some(bytes) => Box::new(io::Cursor::new(bytes.clone())),
        None if input.is_stdin() && input.is_read_once() => Box::new(io::stdin()),
        None => Box::new(File::open(input.file()).map_err(unread)?),
    };
    let counted = Counted {
        inner: file,
        progress: progress.clone(),
    };
    // Folders of many small files are common, so the buffer is no larger than the file.
    let capacity = match input.bytes {
        0 => READ_BYTES,
        bytes => usize::try_from(bytes)
            .unwrap_or(READ_BYTES)
            .clamp(1 << 12, READ_BYTES),
    };
    let (decoder, compressed) = decompress(counted, capacity).map_err(damaged)?;
    let (mut start, mut reader) = peek(decoder);
    let bom = start.starts_with("\u{feff}".as_bytes());
    if bom {
        start.drain(..3);
    }
    let format = match options.format {
        Some(format) => format,
        None => recognise(&input.path, &start, options).map_err(|what| Error::Input {
            place: Place {
                path: input.path.clone(),
                position: Position::Whole,
            },
            what,
        })?,
    };
    if bom {
        reader.read_exact(&mut [0; 3]).map_err(unread)?;
    }
    let by_records = matches!(
        format,
        Format::Jsonl | Format::Tsv | Format::Trec | Format::Terms
    );
    let file = match by_records && !compressed && input.is_seekable() {
        true => File::open(input.file()).ok(),
        false => None,
    };
    let reader = match file {
        Some(file) => {
            // The peeked bytes are read again.
            let seen = input.bytes.min(PEEK_BYTES);
            progress.take_back_bytes(seen);
            let at = if bom { 3 } else { 0 };
            let path = input.file().into();
            Reader::File(FileReader::new(file, path, at, input.bytes, progress))
        }
        None => Reader::Stream(reader),
    };
    Ok(Decoded {
        reader,
        format,
        compressed,
        start,
    })
}

/// The bytes of `raw`, decompressed if they are compressed, and whether they were.
fn decompress(
    raw: impl Read + Send + 'static,
    capacity: usize,
) -> io::Result<(Box<dyn Read + Send>, bool)> {
    let (start, raw) = peek(raw);
    if start.starts_with(&GZIP) {
        let raw = BufReader::with_capacity(capacity, raw);
        Ok((Box::new(Members::new(raw)), true))
    } else if start.starts_with(&ZSTD) {
        let raw = BufReader::with_capacity(capacity, raw);
        let mut decoder = zstd::Decoder::with_buffer(raw)?;
        // Some dumps are compressed with windows of up to 2 GiB (`zstd --long=31`).
        decoder.window_log_max(31)?;
        Ok((Box::new(decoder), true))
    } else {
        Ok((raw, false))
    }
}

/// Decompresses the file `path` into a nameless file in `folder`; none if it is not compressed.
///
/// # Errors
/// The file cannot be read, or is damaged; the new file cannot be written; `progress` is cancelled.
pub fn unpack(path: &Path, folder: &Path, progress: &Progress) -> Result<Option<File>> {
    let unread = |source| failed(path, false, 0, source);
    let file = File::open(path).map_err(unread)?;
    let (mut decoder, compressed) =
        decompress(file, READ_BYTES).map_err(|source| failed(path, true, 0, source))?;
    if !compressed {
        return Ok(None);
    }
    let mut unpacked = tempfile::tempfile_in(folder).map_err(Error::writing(folder))?;
    let (mut buffer, mut at) = (vec![0; READ_BYTES], 0);
    loop {
        progress.check()?;
        let read = match decoder.read(&mut buffer) {
            Ok(0) => return Ok(Some(unpacked)),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(failed(path, true, at, error)),
        };
        let written = unpacked.write_all(&buffer[..read]);
        written.map_err(Error::writing(folder))?;
        at += read as u64;
    }
}

/// The first bytes of `reader`, enough to detect a format, and a reader that returns them again. An error on the way is
/// returned again after the bytes before it.
fn peek(mut reader: impl Read + Send + 'static) -> (Vec<u8>, Box<dyn Read + Send>) {
    let mut start = Vec::new();
    let failure = (&mut reader).take(PEEK_BYTES).read_to_end(&mut start).err();
    let again = io::Cursor::new(start.clone());
    let whole: Box<dyn Read + Send> = match failure {
        None => Box::new(again.chain(reader)),
        Some(failure) => Box::new(again.chain(Failed(Some(failure)))),
    };
    (start, whole)
}

/// A reader that failed.
struct Failed(Option<io::Error>);

impl Read for Failed {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// Counts the bytes that pass.
struct Counted<R> {
    inner: R,
    progress: Progress,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.progress.add_bytes(count as u64);
        Ok(count)
    }
}
