//! The second pass over the documents keeps texts, fields and positions for display, filters and
//! phrases.
//!
//! The first pass makes the postings. If texts or fields are to be kept, the second pass reads the
//! corpus again and stores its documents in the order of the part. The part's ids identify them:
//! documents that the first pass left out because their id was repeated are left out again.

use std::path::Path;

use super::fields::FieldWriter;
use crate::document::encode_values;
use crate::manifest::Keep;
use crate::part::Part;
use crate::part::ids::Ids;
use crate::part::lists::Lists;
use crate::part::note::PartNote;
use crate::part::store::{Record, StoreWriter};
use crate::part::tokens::{TermRanks, TokensWriter, is_last, push_code};
use crate::part::window::Window;
use tokapi_storage::error::{Error, Place, Position, Result};
use tokapi_storage::pipeline::Stages;
use tokapi_storage::progress::Progress;
use tokapi_text::analyze::Analyzer;
use tokapi_text::corpus::{Block, Chunk, Corpus, Input, OnError, Spooled};
use tokapi_weigh::collection::{BuildOptions, Storage, thread_pool};
use tokapi_weigh::invert::CpuInverter;

/// The second pass over the documents of a collection; it supplies the data that an index keeps.
pub struct Contents<'a> {
    corpus: Corpus,
    keep: Keep,
    options: &'a BuildOptions,
    storage: &'a Storage,
    /// The inputs as the first pass saw them.
    inputs: Vec<(Input, String)>,
    /// Copies of inputs that can be read only once.
    _spooled: Option<Spooled>,
    /// Whether these are the first documents of the index. Documents that are added to others may lack a field.
    are_first: bool,
}

impl<'a> Contents<'a> {
    /// Keeps the data that `keep` names; the fields are those of `corpus`
    /// ([`Corpus::keep_fields`]). The corpus must have the same options as the one that the
    /// collection is built from ([`Corpus::again`]), which has not been read yet. A later change
    /// of an input is reported as an error.
    pub fn new(
        corpus: Corpus,
        keep: Keep,
        options: &'a BuildOptions,
        storage: &'a Storage,
    ) -> Self {
        let describe = |input: &Input| (input.clone(), input.description());
        Contents {
            inputs: corpus.inputs().map(describe).collect(),
            corpus,
            keep,
            options,
            storage,
            _spooled: None,
            are_first: true,
        }
    }

    /// The documents are added to those of an index.
    pub(crate) fn added(mut self) -> Self {
        self.are_first = false;
        self
    }

    /// Prepares `corpus`, which has not been read yet, for two passes that keep the data in
    /// `keep`. None if nothing is kept.
    pub(crate) fn prepare(
        corpus: &mut Corpus,
        keep: &Keep,
        options: &'a BuildOptions,
        storage: &'a Storage,
    ) -> Result<Option<Self>> {
        if keep.is_nothing() {
            return Ok(None);
        }
        corpus.keep_fields(&keep.fields)?;
        let output = storage.output.as_deref().unwrap_or(Path::new("tokapi"));
        let spooled = corpus.spool(output)?;
        let mut contents = Contents::new(corpus.again(), keep.clone(), options, storage);
        contents._spooled = Some(spooled);
        Ok(Some(contents))
    }

    /// The data of documents that is kept.
    pub(crate) fn keep(&self) -> &Keep {
        &self.keep
    }

    /// Writes the kept data to the part in `folder`, whose other files are complete. Documents
    /// without ids are named by numbers from `first` on. The first pass read `read_before`
    /// documents, including those left out. `analyzer` cuts the terms.
    pub(crate) fn write(
        mut self,
        folder: &Path,
        note: &mut PartNote,
        first: u64,
        read_before: u64,
        analyzer: &Analyzer,
        progress: &Progress,
    ) -> Result<()> {
        self.corpus = self.corpus.with_progress(progress.clone());
        let pool = thread_pool(self.options)?;
        let window = Window::within(&self.storage.memory);
        let part = Part::open_in(folder, note, &window)?;
        let keep = self.keep.clone();
        note.fields = Some(keep.fields.len());
        let ranks = match keep.positions {
            true => Some(TermRanks::write(folder, &part.lists, note, &window)?),
            false => None,
        };
        let mut ids = part.ids(0..part.documents())?;
        let mut keeper = Keeper {
            next: ids.next()?,
            ids,
            store: match keep.stores() {
                true => Some(StoreWriter::create(folder)?),
                false => None,
            },
            lists: match keep.fields[..] {
                [] => None,
                _ => Some(FieldWriter::create(folder)?),
            },
            tokens: match keep.positions {
                true => Some(TokensWriter::create(folder)?),
                false => None,
            },
            keep: &keep,
            on_error: self.corpus.on_error(),
            part: &part,
            numbered: first,
            read: 0,
            values: Vec::new(),
            found: vec![false; keep.fields.len()],
        };
        self.corpus.share_among(pool.current_num_threads());
        self.corpus.bound_as_before();
        let corpus = &mut self.corpus;
        let read = || {
            let mut block = Block::default();
            Ok(corpus.fill(&mut block)?.then_some(block))
        };
        let worker = || {
            let mut cutter = ranks.as_ref().map(|ranks| Coder {
                cpu: CpuInverter::new(analyzer),
                ranks,
                lists: &part.lists,
            });
            let stores = keep.stores();
            move |mut block: Block| {
                let mut chunk = Chunk::default();
                let skipped = block.parse(&mut chunk)?;
                let coded = match &mut cutter {
                    // The analyzer overwrites the text.
                    Some(cutter) if stores => Some(cutter.code(&mut chunk.clone())?),
                    Some(cutter) => Some(cutter.code(&mut chunk)?),
                    None => None,
                };
                Ok((chunk, coded, skipped.count))
            }
        };
        let kept: Result<_> = pool.install(|| {
            let times = Stages::of_pool().run(read, worker, |(chunk, coded, skipped)| {
                keeper.read += chunk.len() as u64 + skipped;
                keeper.push(&chunk, coded.as_ref())
            })?;
            log::info!("second pass: {times}");
            if let Some(store) = keeper.store {
                store.finish(note)?;
            }
            if let Some(tokens) = keeper.tokens {
                tokens.finish(note)?;
            }
            if self.are_first && part.documents() > 0 {
                let fields = keep.fields.iter().zip(&keeper.found);
                for (field, _) in fields.filter(|(_, found)| !**found) {
                    log::warn!("no document has the field `{field}`");
                }
            }
            let is_whole = keeper.next.is_none() && keeper.read == read_before;
            Ok((is_whole, keeper.lists))
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
            Some(lists) => lists.finish(folder, note, self.options, self.storage, progress),
            None => Ok(()),
        }
    }
}

/// The coded terms of the documents of a chunk.
struct Coded {
    codes: Vec<u8>,
    /// The end of every document's codes.
    ends: Vec<usize>,
    /// Whether the document has a term that the part does not have.
    unknown: Vec<bool>,
}

/// Stands for a rank: the part does not have the term.
const UNKNOWN: u32 = u32::MAX;

/// Codes terms by their ranks.
struct Coder<'a> {
    cpu: CpuInverter<'a>,
    ranks: &'a TermRanks,
    lists: &'a Lists,
}

impl Coder<'_> {
    fn code(&mut self, chunk: &mut Chunk) -> Result<Coded> {
        let tokens = self.cpu.tokens(chunk)?;
        let most = tokens.ids.iter().max().map_or(0, |&id| id as usize + 1);
        let mut ranks = vec![0; most];
        for (term, &id) in tokens.terms.iter().zip(&tokens.ids) {
            let rank = self.ranks.of(self.lists, term)?;
            // Only omitted documents have terms that the part does not have.
            ranks[id as usize] = rank.unwrap_or(UNKNOWN);
        }
        let mut coded = Coded {
            codes: Vec::with_capacity(2 * tokens.occurrences.len()),
            ends: Vec::with_capacity(tokens.ends.len()),
            unknown: Vec::with_capacity(tokens.ends.len()),
        };
        let mut from = 0;
        for &end in tokens.ends {
            let mut unknown = false;
            for &id in &tokens.occurrences[from as usize..end as usize] {
                let rank = ranks[id as usize];
                unknown |= rank == UNKNOWN;
                push_code(rank, &mut coded.codes);
            }
            coded.unknown.push(unknown);
            coded.ends.push(coded.codes.len());
            from = end;
        }
        Ok(coded)
    }
}

/// Stores documents in the order of their part.
struct Keeper<'a> {
    /// The next document of the part and its id, and the following ones.
    next: Option<(u32, &'a [u8])>,
    ids: Ids<'a>,
    store: Option<StoreWriter>,
    lists: Option<FieldWriter>,
    tokens: Option<TokensWriter>,
    keep: &'a Keep,
    on_error: OnError,
    part: &'a Part,
    /// The number of the next document of the input.
    numbered: u64,
    /// The number of documents read, including those left out.
    read: u64,
    values: Vec<u8>,
    /// Whether a document has a value in each kept field.
    found: Vec<bool>,
}

impl Keeper<'_> {
    /// Stores the documents of a chunk that are in the part.
    fn push(&mut self, chunk: &Chunk, coded: Option<&Coded>) -> Result<()> {
        let mut codes_from = 0;
        for place in 0..chunk.len() {
            let codes = coded.map_or(&[][..], |coded| {
                let from = std::mem::replace(&mut codes_from, coded.ends[place]);
                &coded.codes[from..codes_from]
            });
            let mut number = itoa::Buffer::new();
            let id = match chunk.id(place) {
                b"" => number.format(self.numbered).as_bytes(),
                id => id,
            };
            self.numbered += 1;
            if self.next.is_none_or(|(_, next)| next != id) {
                match self.on_error {
                    OnError::Skip => continue,
                    OnError::Stop => return Err(other_documents(chunk.file(place))),
                }
            }
            if let (Some(coded), Some((document, _))) = (coded, self.next) {
                let count = codes.iter().filter(|&&byte| is_last(byte)).count();
                if count as u64 != u64::from(self.part.length(document)?) || coded.unknown[place] {
                    return Err(other_documents(chunk.file(place)));
                }
            }
            self.next = self.ids.next()?;
            let fields = &self.keep.fields;
            if let Some(store) = &mut self.store {
                encode_values(chunk.values(place), fields.len(), &mut self.values);
                let text = match self.keep.text {
                    true => chunk.text(place),
                    false => &[],
                };
                let values = &self.values;
                store.push(Record { values, text })?;
            }
            if let Some(lists) = &mut self.lists {
                let values = chunk.values(place);
                for value in values.clone() {
                    self.found[value.field] = true;
                }
                lists.push(values.map(|value| (&*fields[value.field], value.text)))?;
            }
            if let Some(tokens) = &mut self.tokens {
                tokens.push(codes)?;
            }
        }
        Ok(())
    }
}

/// The error that an input has changed.
fn has_changed(path: &Path) -> Error {
    Error::Input {
        place: Place {
            path: path.to_path_buf(),
            position: Position::Whole,
        },
        what: "it has changed while it was read; begin again".into(),
    }
}

/// The error that an input gives other documents than in the first pass.
fn other_documents(path: &Path) -> Error {
    Error::Input {
        place: Place {
            path: path.to_path_buf(),
            position: Position::Whole,
        },
        what: "its second reading gave other documents; begin again when no program changes it"
            .into(),
    }
}
