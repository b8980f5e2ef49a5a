//! The sequence numbers of the documents of a part. They ascend. If they have gaps, a file has the distance of each
//! from the first; otherwise the first is enough.

use std::path::Path;
use std::sync::Arc;

use super::file::{PageFile, PageWriter};
use super::layout;
use super::note::PartNote;
use super::window::Window;
use tokapi_storage::error::Result;

/// The sequence numbers of a part.
pub(crate) struct Sequences {
    first: u64,
    documents: u32,
    /// None if there are no gaps.
    distances: Option<Arc<PageFile>>,
}

impl Sequences {
    /// Opens the sequence numbers of the part in `folder` that `note` describes.
    pub fn open(folder: &Path, note: &PartNote, window: &Window) -> Result<Self> {
        let distances = match note.files.contains_key(layout::SEQUENCES.name) {
            true => Some(note.open(folder, layout::SEQUENCES, window)?),
            false => None,
        };
        Ok(Sequences {
            first: note.first_sequence,
            // A part has fewer than 2^32.
            documents: note.documents as u32,
            distances,
        })
    }

    /// The file, if there is one.
    pub fn file(&self) -> Option<&PageFile> {
        self.distances.as_deref()
    }

    /// The number of a document.
    #[inline]
    pub fn of(&self, document: u32) -> Result<u64> {
        let distance = match &self.distances {
            None => document.into(),
            Some(file) => file.slice::<u64>(8 * document as usize, 1)?[0],
        };
        Ok(self.first.saturating_add(distance))
    }

    /// The number of documents whose sequence numbers are at most `sequence`.
    pub fn count_to(&self, sequence: u64) -> Result<u32> {
        let (mut from, mut to) = (0, self.documents);
        while from < to {
            let middle = from.midpoint(to);
            match self.of(middle)? <= sequence {
                true => from = middle + 1,
                false => to = middle,
            }
        }
        Ok(from)
    }

    /// Checks that they ascend, and are below `next`.
    pub fn are_sound(&self, next: u64) -> Result<bool> {
        let mut least = self.first;
        for document in 0..self.documents {
            let sequence = self.of(document)?;
            if sequence < least || sequence >= next {
                return Ok(false);
            }
            least = sequence + 1;
        }
        Ok(true)
    }
}

/// Writes the sequence numbers of the part in `folder`: `sequences`, ascending, one for each document.
pub(crate) fn write(
    folder: &Path,
    note: &mut PartNote,
    mut sequences: impl FnMut() -> Result<Option<u64>>,
) -> Result<()> {
    let Some(first) = sequences()? else {
        return Ok(());
    };
    note.first_sequence = first;
    let mut writer = PageWriter::create(folder.join(layout::SEQUENCES.name))?;
    let mut next = Some(first);
    while let Some(sequence) = next {
        writer.write(&(sequence - first).to_le_bytes())?;
        next = sequences()?;
    }
    let written = writer.finish(layout::SEQUENCES.kind)?;
    note.files.insert(layout::SEQUENCES.name.into(), written);
    Ok(())
}
