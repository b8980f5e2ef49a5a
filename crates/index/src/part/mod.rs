//! A part of an index: its files, and how they are written and read.
//!
//! Files are mapped pages with checksums (`file`), within a memory bound (`window`). Tries find
//! the terms (`lists`). Postings are stored in blocks of 128 documents (`block`), each with bounds
//! of its weights for every formula (`bounds`). An encoder writes them (`encode`, `writer`), and a
//! cursor reads them (`cursor`).

pub(crate) mod block;
pub(crate) mod bounds;
pub(crate) mod cursor;
pub(crate) mod deleted;
pub(crate) mod encode;
pub(crate) mod file;
pub(crate) mod layout;
pub(crate) mod lists;
mod look_up;
pub(crate) mod note;
mod retain;
mod sparse_set;
pub(crate) mod store;
pub(crate) mod tokens;
pub(crate) mod window;
pub(crate) mod writer;

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bounds::LengthCodes;
use cursor::Cursor;
use deleted::Deleted;
use file::PageFile;
use layout::{GROUP_IDS, PartFile};
use lists::{Found, Lists};
pub(crate) use look_up::{LookUp, Posting};
use note::{DeletedNote, PartNote};
use store::Store;
use tokapi_storage::error::Result;
use tokapi_storage::varint;
use tokens::Tokens;
use window::Window;

/// A part of an index.
pub(crate) struct Part {
    pub note: PartNote,
    pub lists: Lists,
    /// The deleted documents.
    pub deleted: Option<Deleted>,
    lengths: Arc<PageFile>,
    ids: Arc<PageFile>,
    /// The starts of the groups of ids.
    groups: usize,
    codes: LengthCodes,
    /// The lists of fields, if fields are kept.
    pub fields: Option<Lists>,
    /// The texts and fields of documents, if they are kept.
    pub store: Option<Store>,
    /// The documents as sequences of terms, if they are kept.
    pub tokens: Option<Tokens>,
}

impl Part {
    /// The sequence number of its first document, which has the number `first` in the index.
    pub fn first_sequence(&self, first: u64) -> u64 {
        first
    }

    /// Opens the part of the index in `path` that `note` describes. The window limits the pages of
    /// its files in memory.
    pub fn open(path: &Path, note: &PartNote, window: &Window) -> Result<Self> {
        if Path::new(&note.name).file_name() != Some(note.name.as_ref()) {
            return Err(file::damaged(path, "the name of a part is none"));
        }
        Part::open_in(&path.join(&note.name), note, window)
    }

    /// Opens the part in `folder` that `note` describes, as [`Part::open`] does.
    pub fn open_in(folder: &Path, note: &PartNote, window: &Window) -> Result<Self> {
        let lengths = note.open(folder, layout::LENGTHS, window)?;
        let ids = note.open(folder, layout::IDS, window)?;
        let documents = u32::try_from(note.documents)
            .map_err(|_| lengths.damaged("a part has fewer than 2^32 documents"))?;
        let codes_at = (4 * documents as usize).next_multiple_of(8);
        let codes = LengthCodes::of_starts(lengths.slice(codes_at, 256)?);
        let codes = codes.ok_or_else(|| lengths.damaged("its codes do not ascend"))?;
        let [groups] = ids.tail::<1>()?;
        if groups > ids.len() {
            return Err(ids.damaged("a place in it is beyond its end"));
        }
        let lists = Lists::open(folder, note, &layout::TEXT, documents, window)?;
        let deleted = note.deleted.as_ref();
        let deleted = deleted.map(|note| Deleted::open(folder, note, documents, &lists, window));
        let has = |file: PartFile| note.files.contains_key(file.name);
        Ok(Part {
            note: note.clone(),
            lists,
            deleted: deleted.transpose()?,
            lengths,
            ids,
            groups,
            tokens: match has(layout::TOKENS) {
                true => Some(Tokens::open(folder, note, window)?),
                false => None,
            },
            codes,
            fields: match has(layout::FIELDS.terms) {
                true => Some(Lists::open(
                    folder,
                    note,
                    &layout::FIELDS,
                    documents,
                    window,
                )?),
                false => None,
            },
            store: match [layout::STORE, layout::FORMER_STORE]
                .into_iter()
                .find(|&file| has(file))
            {
                Some(file) => Some(Store::open(folder, note, file, window)?),
                None => None,
            },
        })
    }

    /// The number of documents.
    pub fn documents(&self) -> u32 {
        // A part has fewer than 2^32.
        self.note.documents as u32
    }

    /// The lengths of the length codes.
    pub fn codes(&self) -> &LengthCodes {
        &self.codes
    }

    /// The length of a document.
    #[inline]
    pub fn length(&self, document: u32) -> Result<u32> {
        Ok(self.lengths.slice::<u32>(4 * document as usize, 1)?[0])
    }

    /// Writes the lengths of `documents` to a buffer that is at least as long.
    #[inline]
    pub fn lengths(&self, documents: &[u32], lengths: &mut [u32]) -> Result<()> {
        match self.lengths.checked_as_a_whole() {
            Some(bytes) => {
                let all: &[u32] = bytemuck::cast_slice(&bytes[..4 * self.note.documents as usize]);
                for (length, &document) in lengths.iter_mut().zip(documents) {
                    *length = all[document as usize];
                }
            }
            None => {
                for (length, &document) in lengths.iter_mut().zip(documents) {
                    *length = self.length(document)?;
                }
            }
        }
        Ok(())
    }

    /// The id of a document.
    pub fn id(&self, document: u32) -> Result<&[u8]> {
        let range = self.place_of_id(self.id_at(document)?)?;
        self.ids.bytes(range)
    }

    /// The offset of a document's id, at its length prefix; any offset if the document does not
    /// exist.
    fn id_at(&self, document: u32) -> Result<usize> {
        let (group, place) = (
            u64::from(document) / GROUP_IDS,
            u64::from(document) % GROUP_IDS,
        );
        if document >= self.documents() {
            return Ok(0);
        }
        let at = self.groups + 8 * group as usize;
        let mut at = self.ids.slice::<u64>(at, 1)?[0] as usize;
        for _ in 0..place {
            at = self.place_of_id(at)?.end;
        }
        Ok(at)
    }

    /// The offset of an id whose length prefix is at `at`.
    fn place_of_id(&self, at: usize) -> Result<Range<usize>> {
        let damaged = || self.ids.damaged("an id is not what was written");
        // A length prefix takes at most ten bytes.
        let end = self.groups.min(at.saturating_add(10)).max(at);
        let bytes = self.ids.bytes(at..end)?;
        let mut rest = bytes;
        let length = varint::take(&mut rest).ok_or_else(damaged)?;
        let length = usize::try_from(length).map_err(|_| damaged())?;
        let start = at + bytes.len() - rest.len();
        Ok(start..start.checked_add(length).ok_or_else(damaged)?)
    }

    /// An upper bound, close to exact, of the bytes of all ids.
    pub fn id_bytes(&self) -> u64 {
        self.groups as u64
    }

    /// The ids of documents, in order.
    pub fn ids(&self, documents: Range<u32>) -> Result<Ids<'_>> {
        Ok(Ids {
            part: self,
            at: self.id_at(documents.start)?,
            documents,
        })
    }

    /// The entry of `term`.
    pub fn find(&self, term: &[u8]) -> Result<Option<Found<'_>>> {
        self.lists.find(term)
    }

    /// The list of deleted documents.
    pub fn deleted(&self) -> Result<Option<Found<'_>>> {
        self.deleted.as_ref().map(Deleted::found).transpose()
    }

    /// The deleted documents, ascending.
    pub fn deleted_documents(&self) -> Result<Vec<u32>> {
        let mut documents = Vec::new();
        if let Some(found) = self.deleted()? {
            let mut cursor = Cursor::new(&found)?;
            for block in 0..cursor.block_count() {
                cursor.go_to_block(block);
                cursor.decode()?;
                documents.extend_from_slice(cursor.documents());
            }
        }
        Ok(documents)
    }

    /// Writes the list of deleted `documents`, ascending and not empty, to the file `name` in
    /// `folder`, the folder of the part.
    pub fn write_deleted(
        &self,
        folder: &Path,
        name: String,
        documents: &[u32],
    ) -> Result<DeletedNote> {
        let mut total_length = 0;
        for &document in documents {
            total_length += u64::from(self.length(document)?);
        }
        deleted::write(folder, name, &self.codes, documents, total_length)
    }

    /// The number of documents of a list that are not deleted.
    pub fn live_df(&self, found: &Found<'_>) -> Result<u64> {
        match &self.deleted {
            Some(deleted) => deleted.left_of(found),
            None => Ok(found.df),
        }
    }

    /// Every file, with its name.
    pub fn files(&self) -> Vec<(&'static str, &PageFile)> {
        let names = layout::TEXT.all().map(|file| file.name);
        let mut files: Vec<_> = names.into_iter().zip(self.lists.files()).collect();
        files.push((layout::LENGTHS.name, &self.lengths));
        files.push((layout::IDS.name, &self.ids));
        if let Some(fields) = &self.fields {
            let names = layout::FIELDS.all().map(|file| file.name);
            files.extend(names.into_iter().zip(fields.files()));
        }
        if let Some(store) = &self.store {
            files.push((store.name(), store.file()));
        }
        files.extend(self.tokens.iter().flat_map(Tokens::files));
        files.extend(
            self.deleted
                .iter()
                .map(|deleted| (layout::DELETED.name, deleted.file())),
        );
        files
    }

    /// The bytes of all files.
    pub fn file_bytes(&self) -> u64 {
        self.files().iter().map(|(_, file)| file.file_bytes()).sum()
    }
}

/// The ids of a part, in order.
pub(crate) struct Ids<'a> {
    part: &'a Part,
    at: usize,
    documents: Range<u32>,
}

impl<'a> Ids<'a> {
    /// The next document and its id; none at the end.
    pub fn next(&mut self) -> Result<Option<(u32, &'a [u8])>> {
        let Some(document) = self.documents.next() else {
            return Ok(None);
        };
        let place = self.part.place_of_id(self.at)?;
        self.at = place.end;
        Ok(Some((document, self.part.ids.bytes(place)?)))
    }
}
