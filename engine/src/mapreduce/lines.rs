//! Lines of text as the records of jobs.

use std::fmt;
use std::path::Path;

use super::input::{Input, Reader};
use super::portable::PortableInput;
use crate::corpus::{Block, Chunk, Corpus, CorpusOptions, Format, OnError, Skipped};
use crate::error::{Error, Place, Position, Result};

/// A line, without its end.
#[derive(Clone, Copy)]
pub struct Line<'a> {
    /// What stands on it.
    pub text: &'a str,
    file: &'a Path,
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: String = self.text.chars().take(60).collect();
        write!(f, "{}, line `{shown}`", self.file.display())
    }
}

/// The lines of files, but for empty ones, as input of jobs.
pub struct Lines {
    corpus: Corpus,
}

impl Lines {
    /// The lines of files, folders, globs and standard input, compressed or not, in splits for
    /// `threads` threads.
    ///
    /// # Errors
    /// A path that does not exist, a glob that matches nothing.
    pub fn open<P: AsRef<Path>>(paths: &[P], on_error: OnError, threads: usize) -> Result<Self> {
        Ok(Lines::of(Corpus::open(paths, options(on_error))?, threads))
    }

    /// The lines of `text`.
    pub fn of_text(text: &str, threads: usize) -> Self {
        let corpus = Corpus::from_bytes("memory", text, options(OnError::Stop));
        Lines::of(corpus, threads)
    }

    /// The lines of a corpus that was opened as [`Format::Terms`].
    pub fn of(mut corpus: Corpus, threads: usize) -> Self {
        corpus.share_among(threads.max(1));
        Lines { corpus }
    }
}

/// In this format a line is never cut.
fn options(on_error: OnError) -> CorpusOptions {
    CorpusOptions {
        format: Some(Format::Terms),
        on_error,
        ..CorpusOptions::default()
    }
}

impl Input for Lines {
    type Split = Block;
    type Reader = LineReader;

    fn next_split(&mut self) -> Result<Option<Block>> {
        let mut block = Block::default();
        Ok(self.corpus.fill(&mut block)?.then_some(block))
    }

    fn reader(&self) -> LineReader {
        LineReader::default()
    }
}

impl PortableInput for Lines {
    type Reading = ();

    fn reading(&self) {}

    fn reader_of((): ()) -> Result<LineReader> {
        Ok(LineReader::default())
    }

    fn passed(&self, block: &Block) {
        self.corpus.pass_over(block);
    }

    fn place(block: &Block) -> String {
        block.place()
    }
}

/// Reads the lines of blocks.
#[derive(Default)]
pub struct LineReader {
    chunk: Chunk,
}

impl Reader for LineReader {
    type Split = Block;
    type Record<'a> = Line<'a>;

    fn read(
        &mut self,
        _: u32,
        mut block: Block,
        each: &mut impl FnMut(Line<'_>) -> Result<()>,
    ) -> Result<Skipped> {
        let skipped = block.parse(&mut self.chunk)?;
        for index in 0..self.chunk.len() {
            let file = self.chunk.file(index);
            let text = std::str::from_utf8(self.chunk.text(index));
            let text = text.map_err(|_| Error::Input {
                place: Place {
                    path: file.to_path_buf(),
                    position: Position::Whole,
                },
                what: "a line is not valid UTF-8".into(),
            })?;
            for text in text.lines().filter(|line| !line.is_empty()) {
                each(Line { text, file })?;
            }
        }
        Ok(skipped)
    }
}
