//! The options by which every verb reads documents and cuts terms.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use tokapi::analyze::{Analyzer, AnalyzerOptions, Cut, STEMMERS, StopWords};
use tokapi::collection::{Storage, Stored};
use tokapi::corpus::{DEFAULT_CHUNK_BYTES, Format, OnError, Skipped};
use tokapi::index::is_ciff;
use tokapi::{BuildOptions, Collection, Corpus, CorpusOptions, Error, Paths, Strings};

use crate::engine;
use crate::format::FormatName;
use crate::progress::show;
use crate::size;
use crate::storage;
use crate::summary::note;
use crate::tune;

/// The documents, the terms, and who inverts.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub struct Args {
    #[command(flatten)]
    pub reading: Reading,

    #[command(flatten)]
    engine: engine::Args,
}

/// Which documents are read, and how they are cut into terms.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub struct Reading {
    /// Files, folders, globs, or - for standard input, in any mixture
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,

    /// The inputs' format [default: told from each name and its first bytes]
    ///
    /// Whatever the format, gzip and zstd are recognised.
    #[arg(long, value_enum, help_heading = "Input")]
    format: Option<FormatName>,

    /// The field, column or element that holds a document's id
    ///
    /// [default: id, _id or docno; DOCNO in TREC]
    #[arg(long, value_name = "NAME", help_heading = "Input")]
    id_field: Option<String>,

    /// The fields, columns or elements that hold the text, joined in this order
    ///
    /// [default: contents, or title and text; all of a TREC document]
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        help_heading = "Input"
    )]
    text_field: Vec<String>,

    /// What to do with a document that cannot be read, or whose id is taken
    #[arg(long, value_enum, default_value = "stop", help_heading = "Input")]
    on_error: OnErrorName,

    /// The text that a thread works on at a time, or auto
    ///
    /// auto is what `tokapi tune` has found to be the best, for an input that does not fit into the memory; otherwise
    /// 16MiB, and less for small inputs.
    #[arg(long, value_name = "SIZE", value_parser = chunk_size, default_value = "auto", help_heading = "Input")]
    chunk_size: ChunkSize,

    /// How text is cut into terms [default: unicode]
    #[arg(long, value_enum, help_heading = "Terms")]
    analyzer: Option<CutName>,

    /// Terms to drop: none, english (Lucene's 33), or a file with one on each line
    #[arg(
        long,
        value_name = "WHICH",
        default_value = "none",
        help_heading = "Terms"
    )]
    stop_words: String,

    /// The Snowball stemmer: none, english, german, ...
    #[arg(long, value_name = "LANGUAGE", default_value = "none", value_parser = stemmers(), help_heading = "Terms")]
    stemmer: String,

    /// Drop terms of fewer characters
    #[arg(long, value_name = "COUNT", help_heading = "Terms")]
    min_length: Option<usize>,

    /// Drop terms of more characters
    #[arg(long, value_name = "COUNT", help_heading = "Terms")]
    max_length: Option<usize>,
}

#[derive(Debug, Clone, Copy)]
enum ChunkSize {
    Auto,
    Bytes(u64),
}

fn chunk_size(text: &str) -> Result<ChunkSize, String> {
    match text {
        "auto" => Ok(ChunkSize::Auto),
        size => size::parse(size).map(ChunkSize::Bytes),
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum OnErrorName {
    /// Stop with one line that says where
    Stop,
    /// Leave it out and count it
    Skip,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum CutName {
    /// Words with their marks in any script, as runs of letters, marks, numbers and underscores; lower-cased, in NFC
    Unicode,
    /// What \w+ matches in Python, lower-cased; marks part words
    Python,
    /// Letters, digits and all beyond ASCII; ASCII is lower-cased
    Plain,
    /// Split at white space, nothing else
    Whitespace,
}

fn stemmers() -> clap::builder::PossibleValuesParser {
    ["none"]
        .into_iter()
        .chain(STEMMERS.map(|(name, _)| name))
        .collect::<Vec<_>>()
        .into()
}

impl Args {
    /// Reads and inverts the whole input, cut by `analyzer`, for the files `outputs`, within the memory of `storage`;
    /// shows how far it is.
    pub fn read(
        &self,
        analyzer: &Analyzer,
        threads: usize,
        outputs: &[PathBuf],
        storage: &storage::Args,
    ) -> Result<Stored, Error> {
        let storage_options = storage.storage(outputs.first().map(PathBuf::as_path))?;
        let stored = self.read_spilling(threads, outputs, storage, |corpus, options| {
            Stored::build(corpus, &options.analyzer(analyzer), &storage_options)
        })?;
        note_fallback(stored.fallback());
        Ok(stored)
    }

    /// Gives the whole input, and how it is read and inverted within the memory of `storage`, to `build`; shows how
    /// far it is.
    pub fn read_spilling<T>(
        &self,
        threads: usize,
        outputs: &[PathBuf],
        storage: &storage::Args,
        build: impl FnOnce(Corpus, BuildOptions) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.read_checked(threads, outputs, |corpus, mut options| {
            options.no_overlap = storage.no_overlap;
            if let ChunkSize::Auto = self.reading.chunk_size {
                options.tuned = tune::load(&options);
            }
            build(corpus, options)
        })
    }

    /// Reads and inverts the whole input into memory; `output` must not overwrite it.
    pub fn read_apart_from(&self, threads: usize, output: &Path) -> Result<Collection, Error> {
        let outputs = [output.to_path_buf()];
        let analyzer = self.reading.analyzer()?;
        let collection = self.read_checked(threads, &outputs, |corpus, options| {
            Collection::build(corpus, &options.analyzer(analyzer))
        })?;
        note_fallback(collection.fallback());
        Ok(collection)
    }

    /// The lines of the whole input as they are, but for empty ones, and what was left out.
    pub fn read_lines(&self, output: &Path) -> Result<(Strings, Skipped), Error> {
        let mut corpus = self
            .reading
            .corpus(Some(Format::Terms), self.reading.chunk_size)?;
        self.paths(&[output.to_path_buf()], &corpus).check()?;
        let progress = corpus.progress();
        let (mut lines, mut skipped) = (Strings::default(), Skipped::default());
        let read = || {
            while let Some((chunk, left_out)) = corpus.next_chunk()? {
                skipped.append(left_out);
                for document in 0..chunk.len() {
                    let found = chunk.text(document).split(|&byte| byte == b'\n');
                    let found = found.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
                    // Empty lines part documents; here they mean nothing.
                    found
                        .filter(|line| !line.is_empty())
                        .for_each(|line| lines.push(line));
                }
            }
            Ok(())
        };
        show(&progress, read).map_err(suggest_skipping)?;
        Ok((lines, skipped))
    }

    fn read_checked<T>(
        &self,
        threads: usize,
        outputs: &[PathBuf],
        build: impl FnOnce(Corpus, BuildOptions) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let corpus = self.reading.corpus(None, self.reading.chunk_size)?;
        self.paths(outputs, &corpus).check()?;
        let progress = corpus.progress();
        let options = self.engine.options(threads, corpus.total_bytes())?;
        show(&progress, || build(corpus, options))
            .map_err(suggest_skipping)
            .map_err(storage::suggest_resuming)
    }

    /// What is read to make `outputs` of `corpus`, and what is written.
    pub fn paths(&self, outputs: &[PathBuf], corpus: &Corpus) -> Paths {
        let mut paths = self.reading.paths(outputs);
        corpus.inputs().for_each(|input| paths.read(&input.path));
        self.engine.dictionary().inspect(|file| paths.read(file));
        paths
    }

    /// What it takes to read the beginning of the input again and again.
    ///
    /// `outputs` must not overwrite it.
    pub fn sample(&self, threads: usize, outputs: &[PathBuf]) -> Result<Sample<'_>, Error> {
        if let ChunkSize::Bytes(_) = self.reading.chunk_size {
            return Err(Error::Usage(
                "--chunk-size is what is to be found; leave it away".into(),
            ));
        }
        let corpus = self.reading.corpus(None, ChunkSize::Auto)?;
        if corpus.inputs().any(|input| input.is_stdin()) {
            return Err(Error::Usage(
                "standard input cannot be read again; put some of it into a file".into(),
            ));
        }
        self.paths(outputs, &corpus).check()?;
        let bytes = corpus.total_bytes();
        Ok(Sample {
            args: self,
            // This engine is measured, and no other.
            options: self
                .engine
                .options(threads, bytes)?
                .analyzer(self.reading.analyzer()?)
                .or_cpu(false),
            files: corpus.inputs().map(|input| input.path.clone()).collect(),
            bytes,
        })
    }
}

impl Reading {
    /// The one input, which is an index.
    pub fn index(&self) -> Result<&Path, Error> {
        match &self.inputs[..] {
            [index] => Ok(index),
            _ => Err(Error::Usage("give one index".into())),
        }
    }

    /// The input, where it is an index in the Common Index File Format.
    pub fn ciff(&self) -> Result<Option<&Path>, Error> {
        let mut inputs = self.inputs.iter();
        match inputs.find(|input| self.format.is_none() && is_ciff(input)) {
            Some(file) if self.inputs.len() > 1 => Err(Error::Usage(format!(
                "{}: a CIFF file becomes an index of its own; name it alone",
                file.display()
            ))),
            file => Ok(file.map(PathBuf::as_path)),
        }
    }

    /// Opens the inputs, all as `format` where one is named, in chunks of at most `most` bytes
    /// unless their size is asked for.
    pub fn corpus_within(&self, most: u64, format: Option<Format>) -> Result<Corpus, Error> {
        let chunk_size = match self.chunk_size {
            ChunkSize::Auto if most < DEFAULT_CHUNK_BYTES as u64 => ChunkSize::Bytes(most),
            asked => asked,
        };
        self.corpus(format, chunk_size)
    }

    /// Opens the inputs, all as `format` where one is named.
    fn corpus(&self, format: Option<Format>, chunk_size: ChunkSize) -> Result<Corpus, Error> {
        if let Some(file) = self.ciff()? {
            return Err(Error::Usage(format!(
                "{}: a CIFF file has no text; make an index of it with `tokapi index`",
                file.display()
            )));
        }
        let options = CorpusOptions::default()
            .format(format.or(self.format.map(Into::into)))
            .id_field(self.id_field.clone())
            .text_fields(&self.text_field)
            .chunk_bytes(match chunk_size {
                ChunkSize::Auto => None,
                ChunkSize::Bytes(bytes) => Some(usize::try_from(bytes).unwrap_or(usize::MAX)),
            })
            .on_error(match self.on_error {
                OnErrorName::Stop => OnError::Stop,
                OnErrorName::Skip => OnError::Skip,
            });
        Corpus::open(&self.inputs, options)
    }

    /// What is read beside the documents to make `outputs`, and what is written.
    pub fn paths(&self, outputs: &[PathBuf]) -> Paths {
        let mut paths = Paths::default();
        outputs.iter().for_each(|output| paths.write(output));
        if let StopWords::File(file) = self.stop_words() {
            paths.read(file);
        }
        paths
    }

    /// Which terms are dropped.
    fn stop_words(&self) -> StopWords {
        match self.stop_words.as_str() {
            "none" => StopWords::None,
            "english" => StopWords::English,
            file => StopWords::File(file.into()),
        }
    }

    /// Whether documents that cannot be had are left out.
    pub fn skips(&self) -> bool {
        matches!(self.on_error, OnErrorName::Skip)
    }

    /// Whether the options of terms are all left away.
    pub fn has_usual_terms(&self) -> Result<bool, Error> {
        let usual = Analyzer::default().options();
        Ok(self.analyzer.is_none() && self.analyzer()?.options() == usual)
    }

    /// What cuts text into terms.
    pub fn analyzer(&self) -> Result<Analyzer, Error> {
        Analyzer::new(&AnalyzerOptions {
            cut: match self.analyzer.unwrap_or(CutName::Unicode) {
                CutName::Unicode => Cut::Unicode,
                CutName::Python => Cut::Python,
                CutName::Plain => Cut::Plain,
                CutName::Whitespace => Cut::Whitespace,
            },
            stop_words: self.stop_words(),
            stemmer: (self.stemmer != "none").then(|| self.stemmer.clone()),
            min_length: self.min_length,
            max_length: self.max_length,
        })
    }
}

/// The beginning of an input.
pub struct Sample<'a> {
    args: &'a Args,
    pub options: BuildOptions,
    pub files: Vec<PathBuf>,
    /// The size of the whole input on disk.
    pub bytes: u64,
}

impl Sample<'_> {
    /// Reads and inverts the first `bytes` bytes in chunks of `chunk_bytes`.
    pub fn read(&self, bytes: u64, chunk_bytes: u64, storage: &Storage) -> Result<Stored, Error> {
        let mut corpus = self
            .args
            .reading
            .corpus(None, ChunkSize::Bytes(chunk_bytes))?;
        corpus.limit(bytes);
        Stored::build(corpus, &self.options, storage).map_err(suggest_skipping)
    }
}

pub fn note_fallback(why: Option<&str>) {
    if let Some(why) = why {
        note(&format!(
            "tokapi: the CPU did what the GPU could not: {why}\n"
        ));
    }
}

fn suggest_skipping(error: Error) -> Error {
    match error {
        // An input that changed is read again, and not left out.
        Error::Input { place, what } if !what.contains("begin again") => Error::Input {
            place,
            what: what + " (or leave it out: --on-error skip)",
        },
        other => other,
    }
}
