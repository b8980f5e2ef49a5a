//! A reader of messages in a file: sequential through a window, with seeks.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use super::wire::{Field, Value};
use tokapi_storage::error::{Error, Place, Position, Result};
use tokapi_storage::varint;

/// Bytes read from the system at a time.
const WINDOW_BYTES: usize = 1 << 18;

/// Maximum size of a varint in bytes.
const VARINT_BYTES: usize = 10;

/// A reader at a position in a file.
pub(super) struct Reader {
    file: Arc<File>,
    /// The file name for errors.
    path: Arc<Path>,
    size: u64,
    /// A window of the file; the bytes from `from` on are unread.
    window: Vec<u8>,
    from: usize,
    /// The end of the window in the file.
    window_end: u64,
}

impl Reader {
    /// Reads `file`; errors name it `path`.
    pub fn new(file: File, path: &Path) -> Result<Self> {
        let unread = |source| Error::Read {
            path: path.to_path_buf(),
            source,
        };
        Ok(Reader {
            size: file.metadata().map_err(unread)?.len(),
            file: Arc::new(file),
            path: path.into(),
            window: Vec::new(),
            from: 0,
            window_end: 0,
        })
    }

    /// Another reader of the same file, at position `at`.
    pub fn another(&self, at: u64) -> Self {
        Reader {
            file: Arc::clone(&self.file),
            path: Arc::clone(&self.path),
            size: self.size,
            window: Vec::new(),
            from: 0,
            window_end: at,
        }
    }

    /// The position of the next byte in the file.
    #[inline]
    pub fn at(&self) -> u64 {
        self.window_end - (self.window.len() - self.from) as u64
    }

    /// Whether the reader is at the end of the file.
    pub fn is_at_end(&self) -> bool {
        self.at() >= self.size
    }

    /// The error for a fault at the current position.
    #[cold]
    pub fn wrong(&self, what: impl Into<String>) -> Error {
        Error::Input {
            place: Place {
                path: self.path.to_path_buf(),
                position: Position::Byte(self.at()),
            },
            what: what.into(),
        }
    }

    /// The error for a fault of the file.
    pub fn wrong_as_a_whole(&self, what: String) -> Error {
        Error::Input {
            place: Place {
                path: self.path.to_path_buf(),
                position: Position::Whole,
            },
            what,
        }
    }

    /// The size of the file.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Seeks to position `at`.
    pub fn go_to(&mut self, at: u64) {
        let window_begin = self.window_end - self.window.len() as u64;
        match usize::try_from(at.wrapping_sub(window_begin)) {
            Ok(from) if from <= self.window.len() => self.from = from,
            _ => {
                self.window.clear();
                self.from = 0;
                self.window_end = at;
            }
        }
    }

    /// Peeks at the next `count` bytes; fewer only at the end of the file.
    #[inline]
    pub fn peek(&mut self, count: usize) -> Result<&[u8]> {
        if self.window.len() - self.from < count {
            self.fill(count)?;
        }
        let end = self.window.len().min(self.from + count);
        Ok(&self.window[self.from..end])
    }

    /// Reads until the window has `count` unread bytes.
    #[cold]
    fn fill(&mut self, count: usize) -> Result<()> {
        self.window.drain(..self.from);
        self.from = 0;
        let had = self.window.len();
        let rest = self.size.saturating_sub(self.window_end);
        let most = count.max(WINDOW_BYTES) - had;
        let more = usize::try_from(rest).unwrap_or(most).min(most);
        self.window.resize(had + more, 0);
        let read = self
            .file
            .read_exact_at(&mut self.window[had..], self.window_end);
        if let Err(source) = read {
            self.window.truncate(had);
            let path = self.path.to_path_buf();
            return Err(match source.kind() {
                io::ErrorKind::UnexpectedEof => {
                    self.wrong("the file became shorter while it was read")
                }
                _ => Error::Read { path, source },
            });
        }
        self.window_end += more as u64;
        Ok(())
    }

    /// Skips peeked bytes.
    #[inline]
    pub fn pass(&mut self, count: usize) {
        debug_assert!(self.from + count <= self.window.len());
        self.from += count;
    }

    /// Replaces the content of `bytes` by the next `count` bytes. The file has that many.
    pub fn read(&mut self, count: u64, bytes: &mut Vec<u8>) -> Result<()> {
        bytes.clear();
        let mut left = count;
        while left > 0 {
            // At most the size of a window.
            let piece = left.min(WINDOW_BYTES as u64) as usize;
            let found = self.peek(piece)?;
            bytes.extend_from_slice(found);
            self.pass(piece);
            left -= piece as u64;
        }
        Ok(())
    }

    /// Reads a number.
    pub fn number(&mut self) -> Result<u64> {
        let bytes = self.peek(VARINT_BYTES)?;
        let (mut rest, whole) = (bytes, bytes.len());
        match varint::take(&mut rest) {
            Some(number) => {
                let taken = whole - rest.len();
                self.pass(taken);
                Ok(number)
            }
            None if whole < VARINT_BYTES => Err(self.ends("a number")),
            None => Err(self.wrong("this is no number; is it a CIFF file?")),
        }
    }

    /// Begins a message; `what` names it in errors. Returns its end.
    pub fn message(&mut self, what: &str) -> Result<u64> {
        if self.is_at_end() {
            return Err(self.ends(what));
        }
        let length = self.number()?;
        match self.at().checked_add(length) {
            Some(end) if end <= self.size => Ok(end),
            _ => Err(self.ends(what)),
        }
    }

    /// Reads the next field of a message that ends at `end`; none at the end. The content of a
    /// field of bytes is left unread.
    pub fn field(&mut self, end: u64) -> Result<Option<Field>> {
        if self.at() == end {
            return Ok(None);
        }
        let tag = self.number()?;
        let field = Field::of_tag(tag).ok_or_else(|| self.wrong(NO_FIELD))?;
        let value = match field.value {
            Value::Number(_) => Value::Number(self.number()?),
            Value::Bytes(_) => Value::Bytes(self.number()?),
            Value::Fixed(bytes) => {
                self.skip(bytes);
                field.value
            }
        };
        let held = match value {
            Value::Bytes(length) => length,
            _ => 0,
        };
        match self.at().checked_add(held) {
            Some(field_end) if field_end <= end => Ok(Some(Field { value, ..field })),
            _ => Err(self.wrong("a field goes beyond its message; is it a CIFF file?")),
        }
    }

    /// Skips the next `count` bytes.
    pub fn skip(&mut self, count: u64) {
        self.go_to(self.at().saturating_add(count));
    }

    #[cold]
    pub fn ends(&self, what: &str) -> Error {
        self.wrong(format!("the file ends within {what}; fetch it again"))
    }
}

/// The error text for an invalid tag.
pub(super) const NO_FIELD: &str = "this is no field of a message; is it a CIFF file?";
