//! Writes the files of a part from coded shares.

use std::path::Path;

use super::bounds::FrontFinder;
use super::encode::{self, DocumentLengths, Encoded, Piece, Shard};
use super::file::PageWriter;
use super::layout::{self, ListFiles, ListPlace, PartFile, ShardHeader};
use super::note::PartNote;
use tokapi_storage::error::{Error, Result};
use tokapi_storage::progress::Progress;
use tokapi_storage::strings::Strings;
use tokapi_storage::{bits, varint};

/// The files of a part that store lists.
pub(crate) struct ListsWriter {
    files: &'static ListFiles,
    terms: PageWriter,
    lists: PageWriter,
    postings: PageWriter,
    shards: Vec<u64>,
    first_terms: Strings,
    places: Vec<ListPlace>,
    /// The number of lists in blocks that have begun.
    begun: u64,
    open: Option<OpenList>,
    finder: FrontFinder,
    term_count: u64,
    posting_count: u64,
}

/// A list in blocks that may continue in the next share.
struct OpenList {
    place: ListPlace,
    lasts: Vec<u32>,
    starts: Vec<u32>,
    entries: Vec<super::block::Entry>,
    df: u64,
    postings: u64,
}

impl ListsWriter {
    /// Begins the files in `folder`.
    pub fn create(
        folder: &Path,
        files: &'static ListFiles,
        documents: &DocumentLengths<'_>,
    ) -> Result<Self> {
        let create = |file: PartFile| PageWriter::create(folder.join(file.name));
        Ok(ListsWriter {
            files,
            terms: create(files.terms)?,
            lists: create(files.lists)?,
            postings: create(files.postings)?,
            shards: Vec::new(),
            first_terms: Strings::default(),
            places: Vec::new(),
            begun: 0,
            open: None,
            finder: FrontFinder::new(documents.codes, &documents.statistics),
            term_count: 0,
            posting_count: 0,
        })
    }

    /// Adds a share. Shares come in order.
    pub fn push(&mut self, encoded: &Encoded) -> Result<()> {
        let base = self.postings.at();
        self.postings.write(&encoded.postings)?;
        for shard in &encoded.shards {
            self.push_shard(shard)?;
        }
        let mut from = 0;
        for piece in &encoded.lists {
            let blocks = from..piece.blocks_end;
            from = piece.blocks_end;
            self.push_piece(encoded, piece, blocks, base)?;
        }
        self.term_count += encoded.terms;
        self.posting_count += encoded.posting_count;
        Ok(())
    }

    fn push_shard(&mut self, shard: &Shard) -> Result<()> {
        self.terms.align(8)?;
        self.shards.push(self.terms.at());
        self.first_terms.push(&shard.first_term);
        let offset_bits = shard.offset_bits();
        let mut offsets = Vec::new();
        bits::push(shard.offsets.iter().copied(), offset_bits, &mut offsets);
        // Aligned, so that every offset can be read as a whole word.
        offsets.resize((offsets.len() + 8).next_multiple_of(8), 0);
        let header = ShardHeader {
            // A shard is far below 2^32 bytes.
            terms: shard.offsets.len() as u32,
            trie_words: shard.trie.len() as u32,
            offset_bytes: offsets.len() as u32,
            record_bytes: shard.records.len() as u32,
            offset_bits,
            zero: 0,
            first_list: self.begun,
        };
        self.begun += shard.lists;
        self.terms.write(bytemuck::bytes_of(&header))?;
        self.terms.write(bytemuck::cast_slice(&shard.trie))?;
        self.terms.write(&offsets)?;
        self.terms.write(&shard.records)
    }

    fn push_piece(
        &mut self,
        encoded: &Encoded,
        piece: &Piece,
        blocks: std::ops::Range<usize>,
        base: u64,
    ) -> Result<()> {
        let begin = base + 4 * u64::from(encoded.starts[blocks.start]);
        let end = match encoded.starts.get(blocks.end) {
            Some(&start) => base + 4 * u64::from(start),
            None => self.postings.at(),
        };
        let mut open = match self.open.take().filter(|_| !piece.begins) {
            Some(mut open) => {
                let front = open.place.front;
                open.place.front = encode::join_fronts(&mut self.finder, front, piece.front);
                open
            }
            None => OpenList {
                place: ListPlace {
                    begin,
                    front: piece.front,
                    ..ListPlace::default()
                },
                lasts: Vec::new(),
                starts: Vec::new(),
                entries: Vec::new(),
                df: piece.df,
                postings: 0,
            },
        };
        open.place.end = end;
        open.postings += piece.postings;
        open.lasts.extend(&encoded.lasts[blocks.clone()]);
        open.entries.extend(&encoded.entries[blocks.clone()]);
        for &start in &encoded.starts[blocks] {
            let start = base / 4 + u64::from(start) - open.place.begin / 4;
            let start = u32::try_from(start)
                .map_err(|_| Error::Limit("a postings list takes more than 16 GB".into()))?;
            open.starts.push(start);
        }
        match open.postings == open.df {
            true => self.end_list(open),
            false => {
                self.open = Some(open);
                Ok(())
            }
        }
    }

    fn end_list(&mut self, mut list: OpenList) -> Result<()> {
        self.lists.align(8)?;
        list.place.table = self.lists.at();
        // 2^32 documents need fewer than 2^32 blocks.
        list.place.blocks = list.entries.len() as u32;
        self.lists.write(bytemuck::cast_slice(&list.entries))?;
        self.lists.write(bytemuck::cast_slice(&list.lasts))?;
        self.lists.write(bytemuck::cast_slice(&list.starts))?;
        self.places.push(list.place);
        Ok(())
    }

    /// Ends the files. Returns the number of terms and of postings.
    pub fn finish(mut self, note: &mut PartNote) -> Result<(u64, u64)> {
        debug_assert!(self.open.is_none() && self.places.len() as u64 == self.begun);
        self.lists.align(8)?;
        let places_at = self.lists.at();
        self.lists.write(bytemuck::cast_slice(&self.places))?;
        self.lists
            .write(bytemuck::bytes_of(&[places_at, self.places.len() as u64]))?;
        self.terms.align(8)?;
        let directory_at = self.terms.at();
        self.terms.write(bytemuck::cast_slice(&self.shards))?;
        let mut end = 0u64;
        for term in self.first_terms.iter() {
            end += term.len() as u64;
            self.terms.write(&end.to_le_bytes())?;
        }
        for term in self.first_terms.iter() {
            self.terms.write(term)?;
        }
        self.terms.align(8)?;
        self.terms.write(bytemuck::bytes_of(&[
            directory_at,
            self.shards.len() as u64,
        ]))?;
        let writers = [self.terms, self.lists, self.postings];
        for (file, writer) in self.files.all().into_iter().zip(writers) {
            let written = writer.finish(file.kind)?;
            note.files.insert(file.name.into(), written);
        }
        Ok((self.term_count, self.posting_count))
    }
}

/// The files of a part that store documents.
pub(crate) struct DocumentsWriter {
    lengths: PageWriter,
    ids: PageWriter,
    groups: Vec<u64>,
    /// The first document number, if documents are named by number.
    first: u64,
    count: u64,
    total_length: u64,
    buffer: Vec<u8>,
}

impl DocumentsWriter {
    /// Begins the files in `folder`; documents without ids are named by numbers from `first` on.
    pub fn create(folder: &Path, first: u64) -> Result<Self> {
        Ok(DocumentsWriter {
            first,
            lengths: PageWriter::create(folder.join(layout::LENGTHS.name))?,
            ids: PageWriter::create(folder.join(layout::IDS.name))?,
            groups: Vec::new(),
            count: 0,
            total_length: 0,
            buffer: Vec::new(),
        })
    }

    /// Adds documents.
    ///
    /// # Errors
    /// Some documents have ids and others do not, and earlier documents have taken the first numbers; `progress` is
    /// cancelled.
    pub fn push(
        &mut self,
        documents: &tokapi_weigh::collection::Documents,
        progress: &Progress,
    ) -> Result<()> {
        if self.first > 0 && documents.some_numbered && !documents.numbered {
            return Err(Error::Usage(
                "some of the new documents have an id and others have none; give all of them ids, or add the two kinds \
                 separately"
                    .into(),
            ));
        }
        self.lengths
            .write(bytemuck::cast_slice(&documents.lengths))?;
        self.buffer.clear();
        for (id, &length) in documents.ids.iter().zip(&documents.lengths) {
            progress.check()?;
            if self.count.is_multiple_of(layout::GROUP_IDS) {
                self.groups.push(self.ids.at() + self.buffer.len() as u64);
            }
            let mut number = itoa::Buffer::new();
            let id = match documents.numbered {
                true => number.format(self.first + self.count).as_bytes(),
                false => id,
            };
            varint::push(id.len() as u64, &mut self.buffer);
            self.buffer.extend_from_slice(id);
            self.count += 1;
            self.total_length += u64::from(length);
        }
        self.ids.write(&self.buffer)
    }

    /// Ends the files.
    pub fn finish(mut self, codes: &super::bounds::LengthCodes, note: &mut PartNote) -> Result<()> {
        self.lengths.align(8)?;
        self.lengths.write(bytemuck::cast_slice(codes.starts()))?;
        self.ids.align(8)?;
        let groups_at = self.ids.at();
        self.ids.write(bytemuck::cast_slice(&self.groups))?;
        self.ids.write(&groups_at.to_le_bytes())?;
        note.documents = self.count;
        note.total_length = self.total_length;
        for (file, writer) in [(layout::LENGTHS, self.lengths), (layout::IDS, self.ids)] {
            let written = writer.finish(file.kind)?;
            note.files.insert(file.name.into(), written);
        }
        Ok(())
    }
}
