//! The words of a dictionary: built in memory, or mapped from a file.

use std::fs::File;
use std::path::Path;

use memmap2::Mmap;

use tokapi_storage::error::{Error, Place, Position, Result};

/// A whole dictionary file.
pub(super) enum Image {
    Memory(Vec<u64>),
    Mapped(Mmap),
}

impl Image {
    /// Maps a file of whole words.
    pub fn map(path: &Path) -> Result<Self> {
        let unread = |source| Error::Read {
            path: path.to_path_buf(),
            source,
        };
        let file = File::open(path).map_err(unread)?;
        let metadata = file.metadata().map_err(unread)?;
        if !metadata.is_file() {
            return Err(damaged(path, "a dictionary is a file; this is none".into()));
        }
        if metadata.len() == 0 || metadata.len() % 8 != 0 {
            return Err(damaged(path, not_words()));
        }
        // SAFETY: the map is only read. That nobody shortens or changes the file meanwhile cannot be
        // checked; `Dictionary::open` asks for it, and `Dictionary::save` replaces files, it does
        // not write into them.
        let map = unsafe { Mmap::map(&file) }.map_err(unread)?;
        match map.len() % 8 {
            0 => Ok(Image::Mapped(map)),
            _ => Err(damaged(path, not_words())),
        }
    }

    /// Copies the bytes of a file.
    pub fn copy(bytes: &[u8]) -> Result<Self, String> {
        let (words, rest) = bytes.as_chunks();
        match rest.is_empty() {
            true => Ok(Image::Memory(
                words.iter().copied().map(u64::from_le_bytes).collect(),
            )),
            false => Err(not_words()),
        }
    }

    pub fn words(&self) -> &[u64] {
        match self {
            Image::Memory(words) => words,
            // A map begins at a page, and its length has been checked.
            Image::Mapped(map) => bytemuck::cast_slice(map),
        }
    }
}

fn not_words() -> String {
    "this is no dictionary, or one that is cut off".into()
}

/// The error for a file with fault `what`.
pub(super) fn damaged(path: &Path, what: String) -> Error {
    Error::Input {
        place: Place {
            path: path.to_path_buf(),
            position: Position::Whole,
        },
        what: what + "; build it again with `tokapi dictionary build`",
    }
}
