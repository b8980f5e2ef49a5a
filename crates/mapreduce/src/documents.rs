//! Documents as the records of jobs. Every block of a corpus is a split.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use hashbrown::HashMap;
use serde::{Deserialize, Serialize};

use super::input::{Input, PortableInput, Reader};
use tokapi_storage::error::{Error, Place, Position, Result};
use tokapi_storage::progress::{Progress, Stage};
use tokapi_text::analyze::cut::{Cutter, State};
use tokapi_text::analyze::{Analyzer, AnalyzerOptions};
use tokapi_text::corpus::{Block, Chunk, Corpus, Skipped};

/// The place of a document in the whole input; places ascend with documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "(u32, u32)", into = "(u32, u32)")]
pub struct DocumentPlace {
    /// The number of its split.
    pub split: u32,
    /// Its number in the split.
    pub index: u32,
}

/// Built from split and index: a pair is faster to decode than two fields.
impl From<(u32, u32)> for DocumentPlace {
    #[inline]
    fn from((split, index): (u32, u32)) -> Self {
        DocumentPlace { split, index }
    }
}

impl From<DocumentPlace> for (u32, u32) {
    #[inline]
    fn from(place: DocumentPlace) -> Self {
        (place.split, place.index)
    }
}

/// A document, cut into terms.
///
/// [`Portable`](crate::Portable) has an example.
#[derive(Clone, Copy)]
pub struct Document<'a> {
    /// Its place in the input.
    #[doc(hidden)]
    pub place: DocumentPlace,
    /// Its id. It is empty if the format has no ids; then the id is the document's number in the
    /// input.
    pub id: &'a str,
    /// Its text; ASCII letters are in lower case if the analyzer lowers them.
    pub text: &'a str,
    /// The file of the document.
    pub file: &'a Path,
    /// The start and end of each raw term.
    edges: &'a [u32],
    /// The normalization of raw terms, unless all stay unchanged.
    names: Option<&'a Names>,
}

/// Normalized forms by raw term; terms not in it stay unchanged.
type Names = HashMap<Box<str>, Option<Box<str>>>;

impl<'a> Document<'a> {
    /// The terms, in order.
    pub fn terms(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let (text, names) = (self.text, self.names);
        raw_terms(text, self.edges).filter_map(move |raw| match names {
            None => Some(raw),
            Some(names) => names.get(raw).map_or(Some(raw), Option::as_deref),
        })
    }
}

impl fmt::Display for Document<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        match self.id {
            "" => write!(
                f,
                "{file}, document {} of chunk {}",
                self.place.index + 1,
                self.place.split + 1
            ),
            id => write!(f, "{file}, document {id}"),
        }
    }
}

fn raw_terms<'a>(text: &'a str, edges: &'a [u32]) -> impl Iterator<Item = &'a str> + use<'a> {
    // Terms are cut between characters.
    let term = |pair: &[u32]| &text[pair[0] as usize..pair[1] as usize];
    edges.chunks_exact(2).map(term)
}

/// The documents of a corpus, as the input of jobs.
///
/// [`Portable`](crate::Portable) has an example.
pub struct Documents {
    corpus: Corpus,
    analyzer: Arc<Analyzer>,
    /// Blocks whose buffers can be reused.
    spare: Arc<Mutex<Vec<Block>>>,
}

impl Documents {
    /// The documents of `corpus`, cut by `analyzer`, in splits for `threads` threads.
    pub fn new(mut corpus: Corpus, analyzer: Arc<Analyzer>, threads: usize) -> Self {
        corpus.share_among(threads.max(1));
        Documents {
            corpus,
            analyzer,
            spare: Arc::default(),
        }
    }
}

impl Input for Documents {
    type Split = Block;
    type Reader = DocumentReader;

    fn split_finely(&mut self) {
        self.corpus.chunk_finely();
    }

    fn begin(&self, progress: &Progress) {
        progress.begin(Stage::Reading, self.corpus.total_bytes());
    }

    fn next_split(&mut self) -> Result<Option<Block>> {
        let spare = self.spare.lock();
        let block = spare.unwrap_or_else(PoisonError::into_inner).pop();
        let mut block = block.unwrap_or_default();
        Ok(self.corpus.fill(&mut block)?.then_some(block))
    }

    fn reader(&self) -> DocumentReader {
        DocumentReader::new(Arc::clone(&self.analyzer), Some(Arc::clone(&self.spare)))
    }
}

impl PortableInput for Documents {
    type Reading = AnalyzerOptions;

    fn reading(&self) -> AnalyzerOptions {
        self.analyzer.options()
    }

    fn reader_of(reading: AnalyzerOptions) -> Result<DocumentReader> {
        let analyzer = Arc::new(Analyzer::new(&reading)?);
        Ok(DocumentReader::new(analyzer, None))
    }

    fn passed(&self, block: &Block) {
        self.corpus.pass_over(block);
    }

    fn place(block: &Block) -> String {
        block.place()
    }
}

/// Reads and cuts the documents of blocks.
pub struct DocumentReader {
    analyzer: Arc<Analyzer>,
    cutter: Cutter,
    /// Receives blocks to reuse, if they can be reused.
    spare: Option<Arc<Mutex<Vec<Block>>>>,
    chunk: Chunk,
    edges: Vec<u32>,
    names: Names,
}

impl DocumentReader {
    fn new(analyzer: Arc<Analyzer>, spare: Option<Arc<Mutex<Vec<Block>>>>) -> Self {
        DocumentReader {
            cutter: analyzer.cutter(),
            analyzer,
            spare,
            chunk: Chunk::default(),
            edges: Vec::new(),
            names: Names::default(),
        }
    }
}

/// Maximum number of raw terms whose normalized forms are cached: about 100 MB.
const MOST_NAMES: usize = 1 << 20;

impl Reader for DocumentReader {
    type Split = Block;
    type Record<'a> = Document<'a>;

    fn read(
        &mut self,
        number: u32,
        mut block: Block,
        each: &mut impl FnMut(Document<'_>) -> Result<()>,
    ) -> Result<Skipped> {
        let skipped = block.parse(&mut self.chunk)?;
        if let Some(spare) = &self.spare {
            let spare = spare.lock();
            spare.unwrap_or_else(PoisonError::into_inner).push(block);
        }
        if self.names.len() > MOST_NAMES {
            self.names = Names::default();
        }
        for index in 0..self.chunk.len() {
            self.cut(index)?;
            let text = text(&self.chunk, index, self.chunk.text(index))?;
            let keeps_ascii = self.analyzer.keeps_folded_ascii();
            let same = keeps_ascii && (!self.analyzer.folds_beyond_ascii() || text.is_ascii());
            if !same {
                for raw in raw_terms(text, &self.edges) {
                    if (keeps_ascii && raw.is_ascii()) || self.names.contains_key(raw) {
                        continue;
                    }
                    let name = self.analyzer.normalize(raw);
                    // A stem is cached even if it equals the word, because stemming is slow.
                    if self.analyzer.stems() || name.as_deref() != Some(raw) {
                        let name = name.map(|name| name.into_owned().into_boxed_str());
                        self.names.insert(raw.into(), name);
                    }
                }
            }
            each(Document {
                place: DocumentPlace {
                    split: number,
                    index: u32::try_from(index).map_err(|_| too_large())?,
                },
                id: self::text(&self.chunk, index, self.chunk.id(index))?,
                text,
                file: self.chunk.file(index),
                edges: &self.edges,
                names: (!same).then_some(&self.names),
            })?;
        }
        Ok(skipped)
    }
}

impl DocumentReader {
    /// Cuts a document.
    fn cut(&mut self, index: usize) -> Result<()> {
        let span = self.chunk.spans[index];
        let length = span.end - span.start;
        let length = u32::try_from(length).map_err(|_| too_large())?;
        if self.analyzer.folds_ascii() {
            self.chunk.text[span.start..span.end].make_ascii_lowercase();
        }
        self.edges.clear();
        // The byte behind a document belongs to no term; the padding of the chunk is long enough.
        let end = span.start + (length as usize + 1).next_multiple_of(64);
        let (text, edges) = (&self.chunk.text, &mut self.edges);
        self.cutter
            .edges(text, span.start, end, &mut State::default(), edges);
        let within = edges.partition_point(|&edge| edge <= length);
        // If the next document begins there, its first term is not part of this one.
        edges.truncate(within & !1);
        Ok(())
    }
}

/// Text of a document. It is always valid.
fn text<'a>(chunk: &Chunk, index: usize, bytes: &'a [u8]) -> Result<&'a str> {
    std::str::from_utf8(bytes).map_err(|_| Error::Input {
        place: Place {
            path: chunk.file(index).to_path_buf(),
            position: Position::Whole,
        },
        what: "a document is not valid UTF-8".into(),
    })
}

fn too_large() -> Error {
    Error::Limit("a document or a chunk has 2^32 or more bytes or documents; split it".into())
}
