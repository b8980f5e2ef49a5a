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
pub(crate) mod ids;
pub(crate) mod layout;
pub(crate) mod lists;
mod look_up;
pub(crate) mod note;
mod ordered;
mod retain;
pub(crate) mod sequences;
mod sparse_set;
pub(crate) mod store;
pub(crate) mod tokens;
pub(crate) mod window;
pub(crate) mod writer;

use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bounds::LengthCodes;
use cursor::Cursor;
use deleted::Deleted;
use file::PageFile;
use ids::{IdFile, Ids};
use layout::PartFile;
use lists::{Found, Lists};
pub(crate) use look_up::{LookUp, Posting};
use note::{DeletedNote, PartNote};
use sequences::Sequences;
use store::Store;
use tokapi_storage::error::Result;
use tokens::Tokens;
use window::Window;

/// A part of an index in one state: its files, which never change, and its deleted documents.
pub(crate) struct Part {
    pub note: PartNote,
    /// The deleted documents.
    pub deleted: Option<Arc<Deleted>>,
    files: Arc<PartFiles>,
}

/// The files of a part, but for that of its deleted documents.
pub(crate) struct PartFiles {
    /// A number that no other files of this process have.
    pub number: u64,
    pub lists: Lists,
    lengths: Arc<PageFile>,
    ids: IdFile,
    sequences: Sequences,
    codes: LengthCodes,
    /// The lists of fields, if fields are kept.
    pub fields: Option<Lists>,
    /// The texts and fields of documents, if they are kept.
    pub store: Option<Store>,
    /// The documents as sequences of terms, if they are kept.
    pub tokens: Option<Tokens>,
}

impl Deref for Part {
    type Target = PartFiles;

    fn deref(&self) -> &PartFiles {
        &self.files
    }
}

impl Part {
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
        let files = Arc::new(PartFiles::open(folder, note, window)?);
        let deleted = note.deleted.as_ref();
        let deleted = deleted.map(|deleted| files.open_deleted(folder, note, deleted, window));
        Ok(Part {
            note: note.clone(),
            deleted: deleted.transpose()?.map(Arc::new),
            files,
        })
    }

    /// Opens the part of the index in `path` that `note` describes as [`Part::open`] does, with the files of this one if
    /// they are the same.
    pub fn open_again(&self, path: &Path, note: &PartNote, window: &Window) -> Result<Self> {
        if !self.note.is_same_part(note) {
            return Part::open(path, note, window);
        }
        let deleted = match &note.deleted {
            known if *known == self.note.deleted => self.deleted.clone(),
            None => None,
            Some(deleted) => {
                let folder = path.join(&note.name);
                let opened = self.files.open_deleted(&folder, note, deleted, window)?;
                Some(Arc::new(opened))
            }
        };
        Ok(Part {
            note: note.clone(),
            deleted,
            files: Arc::clone(&self.files),
        })
    }
}

impl PartFiles {
    fn open(folder: &Path, note: &PartNote, window: &Window) -> Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let lengths = note.open(folder, layout::LENGTHS, window)?;
        let ids = IdFile::open(folder, note, window)?;
        let documents = u32::try_from(note.documents)
            .map_err(|_| lengths.damaged("a part has fewer than 2^32 documents"))?;
        let codes_at = (4 * documents as usize).next_multiple_of(8);
        let codes = LengthCodes::of_starts(lengths.slice(codes_at, 256)?);
        let codes = codes.ok_or_else(|| lengths.damaged("its codes do not ascend"))?;
        let lists = Lists::open(folder, note, &layout::TEXT, documents, window)?;
        let has = |file: PartFile| note.files.contains_key(file.name);
        Ok(PartFiles {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            lists,
            lengths,
            ids,
            sequences: Sequences::open(folder, note, window)?,
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

    fn open_deleted(
        &self,
        folder: &Path,
        note: &PartNote,
        deleted: &DeletedNote,
        window: &Window,
    ) -> Result<Deleted> {
        // A part has fewer than 2^32.
        let documents = note.documents as u32;
        Deleted::open(folder, deleted, documents, &self.lists, window)
    }
}

impl Part {
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

    /// The lengths of all documents.
    pub fn all_lengths(&self) -> Result<&[u32]> {
        self.lengths.slice(0, self.documents() as usize)
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
        self.ids.id(document)
    }

    /// The document with this id, deleted or not.
    pub fn find_id(&self, id: &[u8]) -> Result<Option<u32>> {
        self.ids.find(id)
    }

    /// Whether ids are found without reading all of them.
    pub fn has_id_table(&self) -> bool {
        self.ids.has_table()
    }

    /// An upper bound, close to exact, of the bytes of all ids.
    pub fn id_bytes(&self) -> u64 {
        self.ids.bytes()
    }

    /// The ids of documents, in order.
    pub fn ids(&self, documents: Range<u32>) -> Result<Ids<'_>> {
        self.ids.range(documents)
    }

    /// The sequence numbers of its documents.
    pub fn sequences(&self) -> &Sequences {
        &self.sequences
    }

    /// The entry of `term`.
    pub fn find(&self, term: &[u8]) -> Result<Option<Found<'_>>> {
        self.lists.find(term)
    }

    /// The list of deleted documents.
    pub fn deleted(&self) -> Result<Option<Found<'_>>> {
        self.deleted.as_deref().map(Deleted::found).transpose()
    }

    /// Whether a document is deleted.
    pub fn is_deleted(&self, document: u32) -> Result<bool> {
        match self.deleted()? {
            Some(found) => Ok(Cursor::new(&found)?.seek(document)? == Some(document)),
            None => Ok(false),
        }
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
        files.extend(self.ids.files());
        let sequences = self.sequences.file();
        files.extend(sequences.map(|file| (layout::SEQUENCES.name, file)));
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
