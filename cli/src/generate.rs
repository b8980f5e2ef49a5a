//! `tokapi generate`: a synthetic collection of any size.

use std::path::{Path, PathBuf};

use serde_json::json;
use tokapi::Format;
use tokapi::{Error, Progress};
use tokapi_storage::apart::Paths;
use tokapi_storage::compress::Compression;
use tokapi_text::generate;
use tokapi_text::generate::{Extent, Options, RANKS, Vocabulary};

use crate::format::FormatName;
use crate::number;
use crate::progress::show;
use crate::size;
use crate::summary::{counted, note, print};

const EXAMPLES: &str = "\
Examples:
  tokapi generate -o 100MB.terms --size 100MB
      the collection of the published measurements: 17.9 million words
  tokapi generate -o web.jsonl.zst --documents 1000000 --seed 7
  tokapi generate -o passages.tsv --documents 10000000 --words 56
  tokapi generate -o folder/ --format text --documents 500
  tokapi generate -o english.terms --size 1GB --vocabulary terms.tsv.gz
      real words by their counts, made-up ones beyond the list
  tokapi generate -o - --size 10MB | sort | uniq -c | sort -rn | head";

/// A number of words: 1 or more.
fn words(text: &str) -> Result<f64, String> {
    let words = text.parse::<f64>().ok();
    let words = words.filter(|words| (1.0..=1e9).contains(words));
    words.ok_or_else(|| "not a number of words from 1 to 1e9".into())
}

/// Make a synthetic collection of any size
///
/// Lengths of documents are log-normal (mu 6.0, sigma 1.1), 739 words on average. Words are drawn independently from 10
/// million terms, with the frequencies of the web. The same options give the same bytes, for any number of threads.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(group = clap::ArgGroup::new("extent").required(true).args(["size", "documents"]))]
pub struct Args {
    /// The file or folder to write; - is standard output
    ///
    /// The ending of the name gives the format: .terms, .jsonl, .tsv, .trec or .parquet, or / for a folder of plain text. A
    /// further .gz or .zst compresses the first four. The output appears under its name when it is whole.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Stop after the document that reaches this size, such as 100MB or 2GB
    ///
    /// The size is that of the uncompressed output; of Parquet, that of the ids and texts.
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    size: Option<u64>,

    /// Stop after this many documents
    #[arg(long, value_name = "COUNT", value_parser = number::at_least(0u64))]
    documents: Option<u64>,

    /// The average number of words in a document [default: 739]
    #[arg(long, value_name = "COUNT", value_parser = words)]
    words: Option<f64>,

    /// The seed of the random numbers
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = number::at_least(0u64))]
    seed: u64,

    /// The format, if the ending of the name does not give it [default for standard output: terms]
    ///
    /// JSON and Parquet have the fields id and contents; text is a folder with a file for each document.
    #[arg(long, value_enum)]
    format: Option<FormatName>,

    /// Print the summary as one JSON object
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    drawn: Drawn,
}

/// The words that texts are made of.
#[derive(Debug, clap::Args)]
#[group(skip)]
#[command(next_help_heading = "Vocabulary")]
struct Drawn {
    /// Draw words from a list, with a term, a tab and a count on each line, instead of made-up words
    ///
    /// The list may be compressed (.gz, .zst). A list shorter than the vocabulary is extended by made-up words; their counts
    /// continue the smallest count of the list: last * (rank / listed)^-1.443. --list-only does not extend it.
    #[arg(long, value_name = "FILE")]
    vocabulary: Option<PathBuf>,

    /// The number of terms to draw from; of a longer list, the most frequent ones
    #[arg(long, value_name = "COUNT", default_value_t = RANKS, value_parser = number::within(0..=u32::MAX))]
    vocabulary_size: u32,

    /// Draw only from the terms of the list
    #[arg(long, requires = "vocabulary", conflicts_with = "vocabulary_size")]
    list_only: bool,
}

/// Generates the collection; shows a bar on standard error if that is a terminal.
///
/// # Errors
/// As [`generate::to_path`] and [`Vocabulary::read`], and [`Error::Usage`] if the format is not known.
pub fn run(args: Args, threads: usize) -> Result<(), Error> {
    let (format, compression) = format_of(&args)?;
    let mut paths = Paths::default();
    paths.write(&args.output);
    args.drawn
        .vocabulary
        .iter()
        .for_each(|list| paths.read(list));
    paths.check()?;
    let vocabulary = match &args.drawn.vocabulary {
        Some(list) => Vocabulary::read(
            list,
            (!args.drawn.list_only).then_some(args.drawn.vocabulary_size),
        )?,
        None => Vocabulary::built_in(args.drawn.vocabulary_size)?,
    };
    let extent = match (args.size, args.documents) {
        (Some(bytes), _) => Extent::Bytes(bytes),
        (None, Some(documents)) => Extent::Documents(documents),
        (None, None) => {
            return Err(Error::Usage(
                "the size is missing: give --size or --documents".to_owned(),
            ));
        }
    };
    let options = Options::new(extent, format)
        .seed(args.seed)
        .words(args.words)
        .vocabulary(vocabulary)
        .compression(compression)
        .threads(threads);
    let progress = Progress::new();
    let made = show(&progress, || {
        generate::to_path(&options, &args.output, &progress)
    })?;
    if args.json {
        let object = json!({
            "output": args.output,
            "documents": made.documents,
            "words": made.words,
            "bytes": made.bytes,
        });
        let line = format!("{object}\n");
        // The collection may go to standard output.
        return match args.output == Path::new("-") {
            true => {
                note(&line);
                Ok(())
            }
            false => print(line.as_bytes()),
        };
    }
    note(&format!(
        "{}, {}, {}\n",
        counted(made.documents, "document"),
        counted(made.words, "word"),
        counted(made.bytes, "byte")
    ));
    Ok(())
}

fn format_of(args: &Args) -> Result<(Format, Compression), Error> {
    let to_stdout = args.output == Path::new("-");
    let (by_name, compression) = generate::of_name(&args.output);
    let format = args
        .format
        .map(Into::into)
        .or(by_name)
        .or(to_stdout.then_some(Format::Terms))
        .ok_or_else(|| {
            let name = args.output.display();
            Error::Usage(format!(
                "the name `{name}` gives no format: end it in .terms, .jsonl, .tsv, .csv, .trec or .parquet, or add --format"
            ))
        })?;
    Ok((format, compression))
}
