//! Opening an input: counted, decompressed, its format told.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Format, Input, Progress};

/// What is read from the system at a time.
const READ_BYTES: usize = 1 << 18;

/// The bytes of an input, decompressed, and the format they seem to be in.
pub(super) struct Decoded {
    pub reader: Box<dyn Read + Send>,
    pub format: Format,
    pub compressed: bool,
}

/// Opens `input`; gzip and zstd are told from the first bytes, whatever the name.
pub(super) fn open(
    input: &Input,
    format: Option<Format>,
    progress: &Arc<Progress>,
) -> io::Result<Decoded> {
    let file: Box<dyn Read + Send> = if input.is_stdin() {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(&input.path)?)
    };
    let counted = Counted {
        inner: file,
        progress: Arc::clone(progress),
    };
    let mut raw = BufReader::with_capacity(READ_BYTES, counted);
    let start = fill(&mut raw)?;
    let compressed =
        start.starts_with(&[0x1f, 0x8b]) || start.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]);
    let reader: Box<dyn Read + Send> = if start.starts_with(&[0x1f, 0x8b]) {
        Box::new(flate2::bufread::MultiGzDecoder::new(raw))
    } else if compressed {
        Box::new(zstd::Decoder::with_buffer(raw)?)
    } else {
        Box::new(raw)
    };
    let mut text = BufReader::with_capacity(READ_BYTES, reader);
    let start = fill(&mut text)?;
    let bom = start.starts_with("\u{feff}".as_bytes());
    let start = if bom { &start[3..] } else { start };
    let format = format
        .or_else(|| Format::of_name(&input.path))
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
