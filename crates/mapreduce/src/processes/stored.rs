//! Values in files, as frames with checksums: jobs, splits, lists of runs, outputs.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::super::codec;
use tokapi_storage::error::Result;
use tokapi_storage::scratch::frames::{FrameFile, FrameReader, FrameWriter, HEADER_BYTES, scratch};

/// Tasks name their files, in a folder of the job's own, so no stamp is needed to distinguish
/// them.
const STAMP: u64 = 0;
/// Approximate size of a frame in bytes.
const FRAME_BYTES: usize = 1 << 20;

/// Writes the serialized form of `value`.
pub(super) fn write(path: &Path, value: &impl Serialize) -> Result<()> {
    let mut bytes = Vec::new();
    codec::encode(value, &mut bytes)?;
    write_bytes(path, &bytes)
}

fn write_bytes(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = FrameWriter::create(path.to_path_buf(), STAMP)?;
    for piece in bytes.chunks(FRAME_BYTES) {
        file.push(|frame| frame.extend_from_slice(piece))?;
    }
    file.finish()?;
    Ok(())
}

/// Reads a value written by [`write`].
pub(super) fn read<T: DeserializeOwned>(path: &Path) -> Result<T> {
    codec::decode(&read_bytes(path)?)
}

fn read_bytes(path: &Path) -> Result<Vec<u8>> {
    let mut frames = frames(path)?;
    let mut bytes = Vec::new();
    while let Some(frame) = frames.next()? {
        bytes.extend_from_slice(frame);
    }
    Ok(bytes)
}

/// The frames of a file.
pub(super) fn frames(path: &Path) -> Result<FrameReader> {
    let metadata = std::fs::metadata(path).map_err(scratch(path))?;
    let file = FrameFile {
        path: path.to_path_buf(),
        stamp: STAMP,
        length: metadata.len(),
    };
    file.check()?;
    Ok(file.read(HEADER_BYTES, file.length, FRAME_BYTES + 64))
}

/// Writes outputs; no output spans two frames.
pub(super) struct OutputWriter {
    file: FrameWriter,
    open: Vec<u8>,
}

impl OutputWriter {
    pub(super) fn create(path: &Path) -> Result<Self> {
        Ok(OutputWriter {
            file: FrameWriter::create(path.to_path_buf(), STAMP)?,
            open: Vec::new(),
        })
    }

    /// Adds an output; `fill` appends its bytes.
    pub(super) fn push(&mut self, fill: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        fill(&mut self.open)?;
        match self.open.len() < FRAME_BYTES {
            true => Ok(()),
            false => self.flush(),
        }
    }

    fn flush(&mut self) -> Result<()> {
        self.file
            .push(|frame| frame.extend_from_slice(&self.open))?;
        self.open.clear();
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<()> {
        self.flush()?;
        self.file.finish()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokapi_storage::error::Error;

    #[test]
    fn what_is_written_is_read_and_damage_is_found() {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        let values: Vec<u32> = (0..1 << 20).collect();
        write(&path, &values).unwrap();
        assert!(read::<Vec<u32>>(&path).unwrap() == values);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[1_500_000] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        let damaged = read::<Vec<u32>>(&path);
        assert!(matches!(damaged, Err(Error::Damaged { .. })));
    }
}
