//! A zip of NumPy arrays for `numpy.load`.

use std::io::{self, Seek, SeekFrom, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

/// From this size on, the size of an array is written in 64 bits.
const ZIP64_BYTES: u64 = u32::MAX as u64;

/// A zip of arrays that are written one after the other.
pub(super) struct Arrays<W: Write + Seek>(ZipWriter<Quiet<W>>);

impl<W: Write + Seek> Arrays<W> {
    /// A zip without arrays.
    pub fn new(file: W) -> Self {
        Arrays(ZipWriter::new(Quiet {
            file,
            position: 0,
            failed: false,
        }))
    }

    /// Begins array `name` with elements of type `descr`, each of `element_bytes`.
    ///
    /// # Errors
    /// An error of the file's system.
    pub fn start(
        &mut self,
        name: &str,
        descr: &str,
        element_bytes: u64,
        shape: &[u64],
    ) -> io::Result<()> {
        let header = header(descr, shape);
        let bytes = header.len() as u64 + element_bytes * shape.iter().product::<u64>();
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .last_modified_time(DateTime::DEFAULT)
            .large_file(bytes >= ZIP64_BYTES);
        self.0.start_file(format!("{name}.npy"), options)?;
        self.0.write_all(&header)
    }

    /// Adds elements to the current array.
    ///
    /// # Errors
    /// An error of the file's system.
    pub fn write(&mut self, elements: &[u8]) -> io::Result<()> {
        self.0.write_all(elements)
    }

    /// Finishes the last array and the zip.
    ///
    /// # Errors
    /// An error of the file's system.
    pub fn finish(self) -> io::Result<()> {
        self.0.finish()?;
        Ok(())
    }
}

/// The header of version 1.0 of NumPy's format: a magic string, the length of a Python dictionary, and the dictionary,
/// padded so that the header is a multiple of 64 bytes.
pub(super) fn header(descr: &str, shape: &[u64]) -> Vec<u8> {
    let shape: String = shape.iter().map(|length| format!("{length},")).collect();
    let dictionary =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
    // 128 bytes less the 10 before the dictionary and the line feed after it: room for two dimensions.
    let padded = format!("{dictionary:<117}\n");
    debug_assert_eq!(padded.len(), 118);
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    header.extend_from_slice(&(padded.len() as u16).to_le_bytes());
    header.extend_from_slice(padded.as_bytes());
    header
}

/// A file that fails once, and from then on only counts.
///
/// A [`ZipWriter`] that is dropped after an error tries to finish its file, and prints the result to standard error. A
/// library must not print, so that attempt has to succeed.
struct Quiet<W> {
    file: W,
    /// The position that the zip writer expects.
    position: u64,
    failed: bool,
}

impl<W> Quiet<W> {
    /// Notes an error that ends the work.
    fn note<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        let given_up = |error: &io::Error| error.kind() != io::ErrorKind::Interrupted;
        self.failed |= result.as_ref().is_err_and(given_up);
        result
    }
}

impl<W: Write> Write for Quiet<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = match self.failed {
            true => bytes.len(),
            false => {
                let written = self.file.write(bytes);
                self.note(written)?
            }
        };
        self.position += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.failed {
            true => Ok(()),
            false => {
                let flushed = self.file.flush();
                self.note(flushed)
            }
        }
    }
}

impl<W: Seek> Seek for Quiet<W> {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.position = match (self.failed, position) {
            (false, position) => {
                let sought = self.file.seek(position);
                self.note(sought)?
            }
            (true, SeekFrom::Start(position)) => position,
            (true, SeekFrom::Current(_) | SeekFrom::End(_)) => self.position,
        };
        Ok(self.position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_header_has_the_same_size() {
        for shape in [&[][..], &[0], &[u64::MAX], &[u64::MAX, 2]] {
            let header = header("<i8", shape);
            assert_eq!(header.len(), 128);
            assert_eq!(header[8..10], 118_u16.to_le_bytes());
        }
    }

    /// A pipe, which cannot seek.
    struct Pipe;

    impl Write for Pipe {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Seek for Pipe {
        fn seek(&mut self, _: SeekFrom) -> io::Result<u64> {
            Err(io::ErrorKind::NotSeekable.into())
        }
    }

    #[test]
    fn an_error_is_given_once() {
        let mut quiet = Quiet {
            file: Pipe,
            position: 0,
            failed: false,
        };
        quiet.write_all(b"four").unwrap();
        assert!(quiet.stream_position().is_err());
        assert_eq!(quiet.stream_position().unwrap(), 4);
        quiet.write_all(b"more").unwrap();
        assert_eq!(quiet.seek(SeekFrom::End(0)).unwrap(), 8);
        assert_eq!(quiet.seek(SeekFrom::Start(2)).unwrap(), 2);
        assert!(Arrays::new(Pipe).start("a", "<i8", 8, &[1]).is_err());
    }
}
