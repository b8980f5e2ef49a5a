//! A NumPy array in its own file, whose length is known only at the end.

use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::path::Path;

use super::arrays::header;

/// The size of a write.
const BUFFER_BYTES: usize = 1 << 20;

/// A one-dimensional array for `numpy.load` that is being written.
pub struct Npy {
    file: BufWriter<File>,
    descr: &'static str,
    count: u64,
}

impl Npy {
    /// Begins the file `path` with elements of type `descr`.
    ///
    /// # Errors
    /// An error of the file's system.
    pub fn create(path: &Path, descr: &'static str) -> io::Result<Self> {
        let mut file = BufWriter::with_capacity(BUFFER_BYTES, File::create(path)?);
        // The header has the same size for any length of the array.
        file.write_all(&header(descr, &[0]))?;
        Ok(Npy {
            file,
            descr,
            count: 0,
        })
    }

    /// Adds `elements`, little-endian.
    ///
    /// # Errors
    /// An error of the file's system.
    pub fn write<T: bytemuck::Pod>(&mut self, elements: &[T]) -> io::Result<()> {
        self.count += elements.len() as u64;
        self.file.write_all(bytemuck::cast_slice(elements))
    }

    /// Finishes the array, and waits until it is on disk.
    ///
    /// # Errors
    /// An error of the file's system.
    pub fn finish(mut self) -> io::Result<()> {
        self.file.rewind()?;
        self.file.write_all(&header(self.descr, &[self.count]))?;
        self.file.into_inner()?.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_is_that_of_what_was_written() {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        let mut array = Npy::create(&path, "<i4").unwrap();
        array.write(&[1i32, 2]).unwrap();
        array.write(&[3i32]).unwrap();
        array.finish().unwrap();
        let bytes = std::fs::read(path).unwrap();
        assert_eq!(bytes[..128], header("<i4", &[3]));
        assert_eq!(bytes[128..], [1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]);
    }
}
