//! Ids and lengths of documents by number: in memory if they fit, otherwise in a checked scratch
//! file that is read a few documents at a time.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use super::super::Room;
use super::super::spill::scratch_folder;
use tokapi_storage::error::{Error, Result};
use tokapi_storage::scratch::frames::{FrameFile, FrameWriter, OpenFrames};
use tokapi_storage::strings::Strings;
use tokapi_storage::varint;
use tokapi_storage::whole::StagedFolder;

/// Documents in a frame. A frame is read as a whole, so the number is small. The position of every
/// frame is in memory, so the number is not too small.
pub(super) const FRAME_DOCUMENTS: usize = 64;

/// Ids and lengths by number.
#[derive(Serialize, Deserialize)]
pub(super) enum DocumentStore {
    Memory { ids: Strings, lengths: Vec<u32> },
    Scratch(StoredDocuments),
}

/// Documents in a scratch file.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredDocuments {
    file: FrameFile,
    /// The start of each frame, and the end of the last.
    places: Vec<u64>,
    count: usize,
    #[serde(skip)]
    open: OnceLock<OpenFrames>,
    /// The folder of the file, removed with it; none if this process did not create the file.
    #[serde(skip)]
    _folder: Option<Arc<StagedFolder>>,
}

impl Default for DocumentStore {
    fn default() -> Self {
        DocumentStore::Memory {
            ids: Strings::default(),
            lengths: Vec::new(),
        }
    }
}

impl DocumentStore {
    /// The number of documents.
    pub(super) fn len(&self) -> usize {
        match self {
            DocumentStore::Memory { lengths, .. } => lengths.len(),
            DocumentStore::Scratch(stored) => stored.count,
        }
    }

    /// Passes id and length of every document of `numbers` to `each`; fastest if they ascend.
    ///
    /// # Errors
    /// The scratch file cannot be read, or is damaged; an error of `each`.
    ///
    /// # Panics
    /// Panics if a document does not exist.
    pub(super) fn fetch(
        &self,
        numbers: impl IntoIterator<Item = u32>,
        mut each: impl FnMut(&[u8], u32) -> Result<()>,
    ) -> Result<()> {
        match self {
            DocumentStore::Memory { ids, lengths } => numbers
                .into_iter()
                .map(|number| number as usize)
                .try_for_each(|number| each(ids.get(number), lengths[number])),
            DocumentStore::Scratch(stored) => {
                let mut frame = StoredFrame::default();
                for number in numbers {
                    let (id, length) = frame.get(stored, number as usize)?;
                    each(id, length)?;
                }
                Ok(())
            }
        }
    }
}

/// A frame of consecutive documents.
#[derive(Default)]
struct StoredFrame {
    /// Its number, once it is loaded.
    number: Option<usize>,
    buffer: Vec<u8>,
    /// The ranges of the ids in the buffer, and the lengths.
    documents: Vec<(std::ops::Range<usize>, u32)>,
}

impl StoredFrame {
    /// Id and length of a document.
    fn get(&mut self, stored: &StoredDocuments, document: usize) -> Result<(&[u8], u32)> {
        let number = document / FRAME_DOCUMENTS;
        if self.number != Some(number) {
            self.number = None;
            self.read(stored, number)?;
            self.number = Some(number);
        }
        let (id, length) = &self.documents[document % FRAME_DOCUMENTS];
        Ok((&self.buffer[id.clone()], *length))
    }

    fn read(&mut self, stored: &StoredDocuments, number: usize) -> Result<()> {
        let open = match stored.open.get() {
            Some(open) => open,
            None => {
                let opened = stored.file.open()?;
                stored.open.get_or_init(|| opened)
            }
        };
        let range = stored.places[number]..stored.places[number + 1];
        let length = open.read(range, &mut self.buffer)?.len();
        let head = self.buffer.len() - length;
        self.documents.clear();
        let mut rest = &self.buffer[head..];
        while !rest.is_empty() {
            let numbers = varint::take(&mut rest).zip(varint::take(&mut rest));
            let fields = numbers.and_then(|(length, bytes)| {
                let start = self.buffer.len() - rest.len();
                let bytes = usize::try_from(bytes).ok()?;
                rest = rest.get(bytes..)?;
                Some((start..start + bytes, u32::try_from(length).ok()?))
            });
            let torn = || stored.file.corrupt("a document in it is torn");
            self.documents.push(fields.ok_or_else(torn)?);
        }
        Ok(())
    }
}

/// Stores documents.
pub(super) struct DocumentWriter<'a> {
    room: &'a Room,
    ids: Strings,
    lengths: Vec<u32>,
    file: Option<StoredWriter>,
}

/// Writes documents to a file.
struct StoredWriter {
    folder: Arc<StagedFolder>,
    file: FrameWriter,
    places: Vec<u64>,
    count: usize,
    open: Vec<u8>,
}

impl<'a> DocumentWriter<'a> {
    /// Holds documents in memory while `room` has memory for them.
    pub(super) fn new(room: &'a Room) -> Self {
        DocumentWriter {
            room,
            ids: Strings::default(),
            lengths: Vec::new(),
            file: None,
        }
    }

    /// The number of the next document.
    ///
    /// # Errors
    /// 2^32 documents.
    pub(super) fn count(&self) -> Result<u32> {
        let count = match &self.file {
            Some(file) => file.count,
            None => self.lengths.len(),
        };
        u32::try_from(count)
            .map_err(|_| Error::Limit("the collection has 2^32 or more documents; split it".into()))
    }

    /// Adds a document; if `id` is empty, its number is its name.
    ///
    /// # Errors
    /// There are 2^32 documents; the scratch file cannot be written.
    pub(super) fn push(&mut self, id: &[u8], length: u32) -> Result<()> {
        let mut number = itoa::Buffer::new();
        let id = match id {
            b"" => number.format(self.count()?).as_bytes(),
            id => id,
        };
        if let Some(file) = &mut self.file {
            return file.push(id, length);
        }
        self.ids.push(id);
        self.lengths.push(length);
        // Memory: an offset and a length, and a norm if documents are weighed.
        let held_bytes = self.ids.byte_count() as u64 + 20 * self.lengths.len() as u64;
        match held_bytes <= self.room.memory_bytes {
            true => Ok(()),
            false => self.spill(),
        }
    }

    /// Moves all documents to a file.
    fn spill(&mut self) -> Result<()> {
        let mut file = StoredWriter::create(&self.room.scratch)?;
        let ids = std::mem::take(&mut self.ids);
        let lengths = std::mem::take(&mut self.lengths);
        for (id, length) in ids.iter().zip(lengths) {
            file.push(id, length)?;
        }
        self.file = Some(file);
        Ok(())
    }

    pub(super) fn finish(self) -> Result<DocumentStore> {
        match self.file {
            Some(file) => file.finish().map(DocumentStore::Scratch),
            None => Ok(DocumentStore::Memory {
                ids: self.ids,
                lengths: self.lengths,
            }),
        }
    }
}

impl StoredWriter {
    fn create(scratch: &Path) -> Result<Self> {
        let folder = scratch_folder(scratch)?;
        // The path is absolute: worker processes with other working directories read the file too.
        let path = std::path::absolute(folder.temporary())
            .map_err(tokapi_storage::scratch::frames::scratch(folder.temporary()))?;
        let file = FrameWriter::create(path.join("documents"), u64::from(std::process::id()))?;
        Ok(StoredWriter {
            folder: Arc::new(folder),
            places: vec![file.at()],
            file,
            count: 0,
            open: Vec::new(),
        })
    }

    fn push(&mut self, id: &[u8], length: u32) -> Result<()> {
        varint::push(length.into(), &mut self.open);
        varint::push(id.len() as u64, &mut self.open);
        self.open.extend_from_slice(id);
        self.count += 1;
        match self.count.is_multiple_of(FRAME_DOCUMENTS) {
            true => self.flush(),
            false => Ok(()),
        }
    }

    fn flush(&mut self) -> Result<()> {
        self.file
            .push(|frame| frame.extend_from_slice(&self.open))?;
        self.places.push(self.file.at());
        self.open.clear();
        Ok(())
    }

    fn finish(mut self) -> Result<StoredDocuments> {
        if !self.open.is_empty() {
            self.flush()?;
        }
        Ok(StoredDocuments {
            file: self.file.finish()?,
            places: self.places,
            count: self.count,
            open: OnceLock::new(),
            _folder: Some(self.folder),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokapi_storage::progress::Progress;

    #[test]
    fn documents_come_back_from_memory_and_from_scratch() {
        let scratch = tempfile::tempdir().unwrap();
        let id = |n: u32| {
            if n.is_multiple_of(7) {
                String::new()
            } else {
                format!("id {n}")
            }
        };
        let called = |n: u32| {
            if n.is_multiple_of(7) {
                n.to_string()
            } else {
                id(n)
            }
        };
        for (memory_bytes, count) in [
            (0, 0),
            (0, 1),
            (0, 64),
            (0, 65),
            (900, 1000),
            (1 << 20, 1000),
        ] {
            let room = Room {
                memory_bytes,
                scratch: scratch.path().to_path_buf(),
                progress: Progress::new(),
            };
            let mut writer = DocumentWriter::new(&room);
            for n in 0..count {
                writer.push(id(n).as_bytes(), 3 * n).unwrap();
            }
            let store = writer.finish().unwrap();
            assert_eq!(store.len(), count as usize);
            for step in [1, 63, 200] {
                let numbers: Vec<u32> = (0..count).rev().step_by(step).collect();
                let mut found = Vec::new();
                let fetched = store.fetch(numbers.iter().copied(), |id, length| {
                    found.push((String::from_utf8(id.to_vec()).unwrap(), length));
                    Ok(())
                });
                fetched.unwrap();
                let expected: Vec<_> = numbers.iter().map(|&n| (called(n), 3 * n)).collect();
                assert_eq!(found, expected);
            }
            drop(store);
            assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
        }
    }
}
