//! The second pass over the documents: what is kept of them for display and filters.
//!
//! Postings are made without it; where texts or fields are to be kept, the corpus is read once more,
//! and its documents go to the store in the order of the part. Which these are, the part's ids tell:
//! documents that were left out because their id was taken are left out again.

use std::path::Path;

use super::document::encode_values;
use super::fields::FieldWriter;
use super::manifest::PartNote;
use super::part::{Ids, Part};
use super::store::StoreWriter;
use crate::collection::{BuildOptions, Storage, thread_pool};
use crate::corpus::{Block, Chunk, Corpus, Input, OnError};
use crate::error::{Error, Place, Position, Result};
use crate::pipeline::Stages;

/// The documents of a collection once more, for what an index keeps of them.
pub struct Contents<'a> {
    corpus: Corpus,
    text: bool,
    options: &'a BuildOptions,
    storage: &'a Storage,
    /// The inputs as they were at first.
    inputs: Vec<(Input, String)>,
}

impl<'a> Contents<'a> {
    /// Keeps the fields that `corpus` keeps ([`Corpus::fields`]), and texts where `text` says so. The corpus
    /// has the same options as the one that the collection is built from ([`Corpus::again`]), which has not
    /// been read yet: if an input changes from now on, that is told.
    pub fn new(
        corpus: Corpus,
        text: bool,
        options: &'a BuildOptions,
        storage: &'a Storage,
    ) -> Self {
        let describe = |input: &Input| (input.clone(), input.description());
        Contents {
            inputs: corpus.inputs().map(describe).collect(),
            corpus,
            text,
            options,
            storage,
        }
    }

    /// The fields that are kept.
    pub(super) fn fields(&self) -> Vec<String> {
        self.corpus.fields().to_vec()
    }

    /// Whether texts are kept.
    pub(super) fn text(&self) -> bool {
        self.text
    }

    /// Writes the store and the lists of fields of the part in `folder`, whose other files are whole.
    pub(super) fn write(mut self, folder: &Path, note: &mut PartNote) -> Result<()> {
        let pool = thread_pool(self.options)?;
        let part = Part::open(folder, note)?;
        let mut ids = part.ids();
        let mut keeper = Keeper {
            next: ids.next()?,
            ids,
            store: StoreWriter::create(folder)?,
            lists: match self.corpus.fields() {
                [] => None,
                _ => Some(FieldWriter::create(folder)?),
            },
            names: self.fields(),
            text: self.text,
            on_error: self.corpus.on_error(),
            numbered: 0,
            values: Vec::new(),
        };
        let memory = &self.storage.memory;
        let threads = pool.current_num_threads();
        self.corpus.share_among(threads);
        let most = usize::try_from(memory.chunk_bytes(threads)).unwrap_or(usize::MAX);
        // What a pass with other chunks has taken is below twice its limit.
        let document_bytes = memory.document_bytes().saturating_mul(2);
        let chunk_bytes = self.corpus.chunk_bytes().min(most);
        self.corpus.bound(chunk_bytes, document_bytes);
        let corpus = &mut self.corpus;
        let read = || {
            let mut block = Block::default();
            Ok(corpus.fill(&mut block)?.then_some(block))
        };
        let worker = || {
            |mut block: Block| {
                let mut chunk = Chunk::default();
                block.parse(&mut chunk)?;
                Ok(chunk)
            }
        };
        let kept: Result<_> = pool.install(|| {
            let times = Stages::of_pool().run(read, worker, |chunk| keeper.push(&chunk))?;
            log::info!("second pass: {times:?}");
            keeper.store.finish(note)?;
            Ok((keeper.next.is_none(), keeper.lists))
        });
        let changed = |(input, before): &(Input, String)| input.description() != *before;
        if let Some((input, _)) = self.inputs.iter().find(|input| changed(input)) {
            return Err(has_changed(&input.path));
        }
        let (is_whole, lists) = kept?;
        if !is_whole {
            let last = self.inputs.last();
            let last = last.map_or(Path::new(""), |(input, _)| &input.path);
            return Err(other_documents(last));
        }
        match lists {
            Some(lists) => lists.finish(folder, note, self.options, self.storage),
            None => Ok(()),
        }
    }
}

/// Keeps documents in the order of their part.
struct Keeper<'a> {
    /// The id of the next document of the part, and those behind it.
    next: Option<&'a [u8]>,
    ids: Ids<'a>,
    store: StoreWriter,
    lists: Option<FieldWriter>,
    names: Vec<String>,
    text: bool,
    on_error: OnError,
    /// The documents of the input so far.
    numbered: u64,
    values: Vec<u8>,
}

impl Keeper<'_> {
    /// Keeps the documents of a chunk that are in the part.
    fn push(&mut self, chunk: &Chunk) -> Result<()> {
        for document in 0..chunk.len() {
            let mut number = itoa::Buffer::new();
            let id = match chunk.id(document) {
                b"" => number.format(self.numbered).as_bytes(),
                id => id,
            };
            self.numbered += 1;
            if self.next != Some(id) {
                match self.on_error {
                    OnError::Skip => continue,
                    OnError::Stop => return Err(other_documents(chunk.file(document))),
                }
            }
            self.next = self.ids.next()?;
            encode_values(chunk.values(document), self.names.len(), &mut self.values);
            let text = match self.text {
                true => chunk.text(document),
                false => &[],
            };
            self.store.push(&[&self.values, text])?;
            if let Some(lists) = &mut self.lists {
                let values = chunk.values(document);
                lists.push(values.map(|(field, value)| (&*self.names[field], value)))?;
            }
        }
        Ok(())
    }
}

/// The error that an input changed.
fn has_changed(path: &Path) -> Error {
    Error::Input {
        place: Place {
            path: path.to_path_buf(),
            position: Position::Whole,
        },
        what: "it has changed while it was read; begin again".into(),
    }
}

/// The error that an input does not give the documents that it gave at first.
fn other_documents(path: &Path) -> Error {
    Error::Input {
        place: Place {
            path: path.to_path_buf(),
            position: Position::Whole,
        },
        what: "read once more, it gives other documents; begin again when nothing changes it"
            .into(),
    }
}
