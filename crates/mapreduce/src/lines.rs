//! Lines of text as the records of jobs.

use std::fmt;
use std::path::Path;

use super::input::{Input, PortableInput, Reader};
use tokapi_storage::error::Result;
use tokapi_storage::progress::{Progress, Stage};
use tokapi_text::corpus::{Block, Corpus, CorpusOptions, Format, OnError, Skipped};

/// A line, without its line end.
///
/// [`Job`](crate::Job) has an example.
#[derive(Clone, Copy)]
pub struct Line<'a> {
    /// The text of the line.
    pub text: &'a str,
    file: &'a Path,
    /// Counts its number in the file.
    number: &'a dyn Fn() -> u64,
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: String = self.text.chars().take(60).collect();
        let (file, number) = (self.file.display(), (self.number)());
        write!(f, "{file}, line {number} `{shown}`")
    }
}

/// The non-empty lines of files, as the input of jobs.
///
/// [`Job`](crate::Job) has an example.
pub struct Lines {
    corpus: Corpus,
}

impl Lines {
    /// The corpus format: records end with lines, so splits can have any size.
    pub const FORMAT: Format = Format::Jsonl;

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

    /// The lines of a corpus that was opened as [`Lines::FORMAT`].
    pub fn of(mut corpus: Corpus, threads: usize) -> Self {
        corpus.share_among(threads.max(1));
        Lines { corpus }
    }

    /// Reports the bytes read to `progress`, and stops if that is cancelled.
    pub fn with_progress(self, progress: Progress) -> Self {
        Lines {
            corpus: self.corpus.with_progress(progress),
        }
    }
}

fn options(on_error: OnError) -> CorpusOptions {
    CorpusOptions::default()
        .format(Some(Lines::FORMAT))
        .on_error(on_error)
}

impl Input for Lines {
    type Split = Block;
    type Reader = LineReader;

    fn split_finely(&mut self) {
        self.corpus.chunk_finely();
    }

    fn begin(&self, progress: &Progress) {
        progress.begin(Stage::Reading, self.corpus.total_bytes());
    }

    fn next_split(&mut self) -> Result<Option<Block>> {
        let mut block = Block::default();
        Ok(self.corpus.fill(&mut block)?.then_some(block))
    }

    fn reader(&self) -> LineReader {
        LineReader
    }
}

impl PortableInput for Lines {
    type Reading = ();

    fn reading(&self) {}

    fn reader_of((): ()) -> Result<LineReader> {
        Ok(LineReader)
    }

    fn passed(&self, block: &Block) {
        self.corpus.pass_over(block);
    }

    fn place(block: &Block) -> String {
        block.place()
    }
}

/// Reads the lines of blocks.
pub struct LineReader;

impl Reader for LineReader {
    type Split = Block;
    type Record<'a> = Line<'a>;

    fn read(
        &mut self,
        _: u32,
        mut block: Block,
        each: &mut impl FnMut(Line<'_>) -> Result<()>,
    ) -> Result<Skipped> {
        block.lines(|text, file, number| each(Line { text, file, number }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokapi_storage::error::Error;

    /// All lines of `bytes` in splits of about 10 bytes, the number of splits, and the omitted
    /// lines.
    fn read(bytes: &[u8], on_error: OnError) -> Result<(Vec<String>, usize, Skipped)> {
        let options = options(on_error).chunk_bytes(Some(10));
        let mut input = Lines::of(Corpus::from_bytes("memory", bytes, options), 1);
        let (mut lines, mut splits, mut skipped) = (Vec::new(), 0, Skipped::default());
        while let Some(split) = input.next_split()? {
            skipped.append(input.reader().read(splits, split, &mut |line| {
                lines.push(line.text.to_owned());
                Ok(())
            })?);
            splits += 1;
        }
        Ok((lines, splits as usize, skipped))
    }

    #[test]
    fn splits_end_behind_any_line() {
        let (lines, splits, _) =
            read(b"a b\r\nc\td\n\n\ne, f\ng h i j k l m n\no", OnError::Stop).unwrap();
        assert_eq!(lines, ["a b", "c\td", "e, f", "g h i j k l m n", "o"]);
        assert!(splits >= 3, "{splits}");
    }

    #[test]
    fn a_line_that_is_no_text_is_named_or_left_out_alone() {
        let text = b"a\nb\nc\n\xff\nd\ne\n";
        let error = read(text, OnError::Stop).unwrap_err();
        assert!(matches!(&error, Error::Input { .. }), "{error}");
        assert!(error.to_string().starts_with("memory, line 4"), "{error}");
        let (lines, _, skipped) = read(text, OnError::Skip).unwrap();
        assert_eq!(lines, ["a", "b", "c", "d", "e"]);
        assert_eq!(skipped.count, 1);
    }
}
