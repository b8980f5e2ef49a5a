//! Documents as the records of jobs: every block of a corpus is a split.

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

/// Where a document stands among all of an input: places ascend as documents do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "(u32, u32)", into = "(u32, u32)")]
pub struct DocumentPlace {
    /// The number of its split.
    pub split: u32,
    /// Its number in the split.
    pub index: u32,
}

/// From split and index; a pair is faster to read than a field after the other.
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
#[derive(Clone, Copy)]
pub struct Document<'a> {
    /// Where it stands.
    pub place: DocumentPlace,
    /// Its id; empty where the format has none, which stands for its number in the whole input.
    pub id: &'a str,
    /// Its text; ASCII letters are lower-cased if the analyzer does that.
    pub text: &'a str,
    /// The file that it stands in.
    pub file: &'a Path,
    /// Where raw terms start and end.
    edges: &'a [u32],
    /// What raw terms become, where not all stay as they are.
    names: Option<&'a Names>,
}

/// What raw terms become; those that are not in it stay as they are.
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

/// The documents of a corpus, as input of jobs.
pub struct Documents {
    corpus: Corpus,
    analyzer: Arc<Analyzer>,
    /// Blocks whose buffers can be used again.
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
    /// Where blocks go that are used again, if there is use for them.
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

/// Raw terms whose names are remembered: some 100 MB.
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
                    // A stem is remembered also where it is the word, for it takes long to find.
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
        // The byte behind a document is none of a term; the padding of the chunk is long enough.
        let end = span.start + (length as usize + 1).next_multiple_of(64);
        let (text, edges) = (&self.chunk.text, &mut self.edges);
        self.cutter
            .edges(text, span.start, end, &mut State::default(), edges);
        let within = edges.partition_point(|&edge| edge <= length);
        // Where the next document begins at once, its first term does not belong here.
        edges.truncate(within & !1);
        Ok(())
    }
}

/// Text of a document, which always is valid.
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
