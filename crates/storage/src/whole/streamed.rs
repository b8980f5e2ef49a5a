//! Large files written past the system's cache.

use std::io::{self, Write};

use memmap2::MmapMut;

use super::Staged;

/// The size of a write: a multiple of the block size of every disk.
const BUFFER_BYTES: usize = 4 << 20;
/// From this size on, writes go past the cache. Larger files are seldom read while they are still cached, and the copy
/// costs more than the rest of the write.
const CACHED_BYTES: u64 = 512 << 20;

/// Writes an output front to back. A large output goes past the system's cache, if the file system supports that.
pub struct Streamed<'a> {
    staged: &'a mut Staged,
    /// Aligned to a page, as the system requires.
    buffer: MmapMut,
    filled: usize,
    written: u64,
    cache: Cache,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Cache {
    Used,
    PassedBy,
    /// The system does not support writing past it.
    Needed,
}

impl<'a> Streamed<'a> {
    /// A writer of `staged` from its beginning.
    ///
    /// # Errors
    /// There is no memory for the buffer.
    pub fn new(staged: &'a mut Staged) -> io::Result<Self> {
        Ok(Streamed {
            staged,
            buffer: MmapMut::map_anon(BUFFER_BYTES)?,
            filled: 0,
            written: 0,
            cache: Cache::Used,
        })
    }

    /// Writes the rest of the buffer.
    pub fn finish(mut self) -> io::Result<()> {
        self.use_cache(Cache::Used)?;
        self.staged.write_all(&self.buffer[..self.filled])?;
        self.staged.flush()
    }

    fn use_cache(&mut self, next: Cache) -> io::Result<()> {
        if self.cache == Cache::PassedBy {
            self.staged.pass_by_cache(false)?;
        }
        self.cache = next;
        Ok(())
    }

    fn write_buffer(&mut self) -> io::Result<()> {
        if self.cache == Cache::Used && self.written >= CACHED_BYTES {
            self.cache = match self.staged.pass_by_cache(true) {
                Ok(()) => Cache::PassedBy,
                Err(_) => Cache::Needed,
            };
        }
        let mut from = 0;
        while from < BUFFER_BYTES {
            match self.staged.write(&self.buffer[from..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                // The rest of a block cannot be written alone.
                Ok(written) => {
                    from += written;
                    if !from.is_multiple_of(4096) {
                        self.use_cache(Cache::Needed)?;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error)
                    if error.kind() == io::ErrorKind::InvalidInput
                        && self.cache == Cache::PassedBy =>
                {
                    self.use_cache(Cache::Needed)?;
                }
                Err(error) => return Err(error),
            }
        }
        self.written += BUFFER_BYTES as u64;
        self.filled = 0;
        Ok(())
    }
}

impl Write for Streamed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(BUFFER_BYTES - self.filled);
        self.buffer[self.filled..][..taken].copy_from_slice(&bytes[..taken]);
        self.filled += taken;
        if self.filled == BUFFER_BYTES {
            self.write_buffer()?;
        }
        Ok(taken)
    }

    /// Only [`finish`](Streamed::finish) writes a partly filled buffer.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_arrives_in_the_cache_and_past_it() {
        let folder = tempfile::tempdir().unwrap();
        for extra in [0, 1, 4096, BUFFER_BYTES - 1, BUFFER_BYTES + 4097] {
            let path = folder.path().join("file");
            let mut staged = Staged::create(&path).unwrap();
            let mut streamed = Streamed::new(&mut staged).unwrap();
            // As if this many bytes had been written before.
            streamed.written = CACHED_BYTES - BUFFER_BYTES as u64;
            let bytes: Vec<u8> = (0..3 * BUFFER_BYTES + extra)
                .map(|n| (n / 7) as u8)
                .collect();
            for piece in bytes.chunks(100_003) {
                streamed.write_all(piece).unwrap();
            }
            streamed.finish().unwrap();
            staged.commit().unwrap();
            assert!(std::fs::read(&path).unwrap() == bytes, "{extra}");
        }
    }
}
