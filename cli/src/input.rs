//! The options by which every verb reads documents and cuts terms.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use tokapi::{Analyzer, AnalyzerOptions, Cut, StopWords};
use tokapi::{BuildOptions, Collection, Corpus, CorpusOptions, Error, Strings};
use tokapi::{Format, OnError, Skipped};
use tokapi::{Storage, Stored};
use tokapi_index::is_ciff;
use tokapi_storage::apart::Paths;
use tokapi_text::analyze::STEMMERS;
use tokapi_text::corpus::DEFAULT_CHUNK_BYTES;

use crate::engine;
use crate::format::{FormatName, several};
use crate::number;
use crate::progress::show;
use crate::remedy;
use crate::size;
use crate::storage;
use crate::summary::note;
use crate::tuned;

/// The documents, the terms, and the engine.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub struct Args {
    #[command(flatten)]
    pub reading: Reading,

    #[command(flatten)]
    engine: engine::Args,
}

/// The documents, and the options of their terms.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub struct Reading {
    /// Files, folders and patterns such as '*.tsv.gz'; - is standard input
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,

    /// The format of the inputs [default: told from each file's name and first bytes]
    ///
    /// Compression by gzip or zstd is recognised in every format.
    #[arg(long, value_enum)]
    format: Option<FormatName>,

    /// The field, column or element with the id of a document
    ///
    /// [default: id, _id or docno; DOCNO in TREC]
    #[arg(long, value_name = "NAME", help_heading = "Reading")]
    id_field: Option<String>,

    /// The fields, columns or elements with the text; several are joined in this order
    ///
    /// [default: contents, or title and text; all of a TREC document]
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        help_heading = "Reading"
    )]
    text_field: Vec<String>,

    /// The treatment of a document that cannot be read or repeats an id
    #[arg(
        long,
        value_enum,
        value_name = "ACTION",
        default_value = "stop",
        help_heading = "Reading"
    )]
    on_error: OnErrorName,

    /// The size of the chunks of text that threads work on, or auto
    ///
    /// auto is 16MiB, and less for small inputs. If the input does not fit into memory, auto is the best size that
    /// `tokapi tune` has found.
    #[arg(
        long,
        value_name = "SIZE",
        value_parser = chunk_size,
        default_value = "auto",
        help_heading = "Reading"
    )]
    chunk_size: ChunkSize,

    /// How text is cut into terms [default: unicode]
    #[arg(long, value_enum)]
    analyzer: Option<CutName>,

    /// The terms to drop: none, english (the 33 of Lucene), or a file with a term on each line
    #[arg(long, value_name = "WHICH", default_value = "none")]
    stop_words: String,

    /// The language of the Snowball stemmer, or none
    #[arg(long, value_name = "LANGUAGE", default_value = "none", value_parser = stemmers())]
    stemmer: String,

    /// Drop terms with fewer characters
    #[arg(long, value_name = "COUNT", value_parser = number::at_least(0usize), help_heading = "Terms")]
    min_length: Option<usize>,

    /// Drop terms with more characters
    #[arg(long, value_name = "COUNT", value_parser = number::at_least(0usize), help_heading = "Terms")]
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
    /// Stop with an error that names the place
    Stop,
    /// Leave the document out, and count it
    Skip,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum CutName {
    /// Words of any script: runs of letters, marks, numbers and underscores; lower-cased, in NFC
    Unicode,
    /// The matches of \w+ in Python, lower-cased; a combining mark ends a word
    Python,
    /// Runs of ASCII letters, digits and all characters beyond ASCII; only ASCII is lower-cased
    Plain,
    /// Text between white space, as it is
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
    /// shows the progress.
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
            options.no_overlap = storage.course.no_overlap;
            if let ChunkSize::Auto = self.reading.chunk_size {
                options.tuned = tuned::load(&options);
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

    /// The lines of the whole input as they are, without the empty ones, and the documents that were left out.
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
        show(&progress, read).map_err(|error| self.reading.suggest(error))?;
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
        // Who names each file, or the format, means them.
        let is_named =
            self.reading.format.is_some() || corpus.inputs().count() <= self.reading.inputs.len();
        let formats = match is_named {
            true => None,
            false => several(&corpus),
        };
        let built = show(&progress, || build(corpus, options))
            .map_err(|error| self.reading.suggest(error))
            .map_err(storage::suggest_resuming)?;
        if let Some(formats) = formats {
            note(&format!(
                "tokapi: the inputs have several formats: {formats}\n"
            ));
        }
        Ok(built)
    }

    /// All files that are read to make `outputs` of `corpus`, and the outputs.
    pub fn paths(&self, outputs: &[PathBuf], corpus: &Corpus) -> Paths {
        let mut paths = self.reading.paths(outputs);
        corpus.inputs().for_each(|input| paths.read(&input.path));
        self.engine.dictionary().inspect(|file| paths.read(file));
        paths
    }

    /// The beginning of the input, to be read again and again. `outputs` must not overwrite it.
    pub fn sample(&self, threads: usize, outputs: &[PathBuf]) -> Result<Sample<'_>, Error> {
        if let ChunkSize::Bytes(_) = self.reading.chunk_size {
            return Err(Error::Usage(
                "tune looks for the best chunk size: drop --chunk-size".into(),
            ));
        }
        let corpus = self.reading.corpus(None, ChunkSize::Auto)?;
        if corpus.inputs().any(|input| input.is_stdin()) {
            return Err(Error::Usage(
                "tune reads its input several times, and standard input can be read only once: save a part of it to a file"
                    .into(),
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
            _ => Err(Error::Usage(
                "this needs exactly one index as its input".into(),
            )),
        }
    }

    /// The input, if it is an index in the Common Index File Format.
    pub fn ciff(&self) -> Result<Option<&Path>, Error> {
        let mut inputs = self.inputs.iter();
        match inputs.find(|input| self.format.is_none() && is_ciff(input)) {
            Some(file) if self.inputs.len() > 1 => Err(Error::Usage(format!(
                "{}: a CIFF file makes an index of its own: give it as the only input",
                file.display()
            ))),
            file => Ok(file.map(PathBuf::as_path)),
        }
    }

    /// Opens the inputs, all as `format` if it is given, in chunks of at most `most` bytes unless the user gave
    /// their size.
    pub fn corpus_within(&self, most: u64, format: Option<Format>) -> Result<Corpus, Error> {
        let chunk_size = match self.chunk_size {
            ChunkSize::Auto if most < DEFAULT_CHUNK_BYTES as u64 => ChunkSize::Bytes(most),
            asked => asked,
        };
        self.corpus(format, chunk_size)
    }

    /// Opens the inputs, all as `format` if it is given.
    fn corpus(&self, format: Option<Format>, chunk_size: ChunkSize) -> Result<Corpus, Error> {
        if let Some(file) = self.ciff()? {
            return Err(Error::Usage(format!(
                "{}: a CIFF file has no text; import it with `tokapi index`",
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

    /// All files that are read besides the documents, and the outputs.
    pub fn paths(&self, outputs: &[PathBuf]) -> Paths {
        let mut paths = Paths::default();
        outputs.iter().for_each(|output| paths.write(output));
        if let StopWords::File(file) = self.stop_words() {
            paths.read(file);
        }
        paths
    }

    /// The terms that are dropped.
    fn stop_words(&self) -> StopWords {
        match self.stop_words.as_str() {
            "none" => StopWords::None,
            "english" => StopWords::English,
            file => StopWords::File(file.into()),
        }
    }

    /// Adds the options that help to an error of the input.
    pub fn suggest(&self, error: Error) -> Error {
        remedy::of_input(error, &self.inputs)
    }

    /// Whether documents that cannot be read are left out.
    pub fn skips(&self) -> bool {
        matches!(self.on_error, OnErrorName::Skip)
    }

    /// Whether none of the options of terms was given.
    pub fn has_usual_terms(&self) -> Result<bool, Error> {
        let usual = Analyzer::default().options();
        Ok(self.analyzer.is_none() && self.analyzer()?.options() == usual)
    }

    /// The analyzer that cuts text into terms.
    pub fn analyzer(&self) -> Result<Analyzer, Error> {
        Analyzer::new(
            &AnalyzerOptions::default()
                .cut(match self.analyzer.unwrap_or(CutName::Unicode) {
                    CutName::Unicode => Cut::Unicode,
                    CutName::Python => Cut::Python,
                    CutName::Plain => Cut::Plain,
                    CutName::Whitespace => Cut::Whitespace,
                })
                .stop_words(self.stop_words())
                .stemmer((self.stemmer != "none").then(|| self.stemmer.clone()))
                .min_length(self.min_length)
                .max_length(self.max_length),
        )
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
        Stored::build(corpus, &self.options, storage)
            .map_err(|error| self.args.reading.suggest(error))
    }
}

pub fn note_fallback(why: Option<&str>) {
    if let Some(why) = why {
        note(&format!(
            "tokapi: the CPU did a part of the work of the GPU: {why}\n"
        ));
    }
}
