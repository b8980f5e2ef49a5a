//! `tokapi generate`: a synthetic collection of any size.

use std::path::{Path, PathBuf};

use serde_json::json;
use tokapi::corpus::Format;
use tokapi::generate::{self, Extent, Options, RANKS, Vocabulary};
use tokapi::{Compression, Error, Paths, Progress};

use crate::format::FormatName;
use crate::progress::show;
use crate::size;
use crate::summary::{grouped, note, print};

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

/// Make a synthetic collection: log-normal document lengths, words of a web vocabulary
///
/// Documents have 739 words on average (log-normal, mu 6.0, sigma 1.1), drawn independently from 10 million terms. The
/// same options give the same bytes, whatever the number of threads. The output appears under its name when it is whole.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(group = clap::ArgGroup::new("extent").required(true).args(["size", "documents"]))]
pub struct Args {
    /// The file or folder to write; `-` is standard output
    ///
    /// The ending tells the format: .terms, .jsonl, .tsv, .trec, .parquet, or a final / for a folder of plain text;
    /// .gz or .zst after the first four compresses.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Stop after the document that reaches this size, as 100MB or 2GB
    ///
    /// The uncompressed output counts; in Parquet, the ids and contents.
    #[arg(long, value_parser = size::parse)]
    size: Option<u64>,

    /// Stop after this many documents
    #[arg(long, value_name = "COUNT")]
    documents: Option<u64>,

    /// The average number of words of a document [default: 739]
    #[arg(long, value_name = "COUNT", value_parser = words)]
    words: Option<f64>,

    /// Other seeds give other documents
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// The format, where the output's ending does not tell it [standard output: terms]
    ///
    /// JSON and Parquet have the fields id and contents; text is a folder with a file for every document.
    #[arg(long, value_enum)]
    format: Option<FormatName>,

    /// Draw from a list, `term<TAB>count` on every line (also .gz, .zst), in place of the built-in made-up words
    ///
    /// A list shorter than the vocabulary is extended by made-up words that are not in it, whose counts continue
    /// the list's smallest: last * (rank / listed)^-1.443. See --list-only.
    #[arg(long, value_name = "FILE")]
    vocabulary: Option<PathBuf>,

    /// How many terms to draw from; a longer list is cut after its most frequent ones
    #[arg(long, value_name = "TERMS", default_value_t = RANKS)]
    vocabulary_size: u32,

    /// Draw from the terms of the list alone
    #[arg(long, requires = "vocabulary", conflicts_with = "vocabulary_size")]
    list_only: bool,

    /// Print the summary as one JSON object
    #[arg(long)]
    json: bool,
}

/// Generates the collection; shows a bar on standard error where that is a terminal.
///
/// # Errors
/// As [`generate::to_path`] and [`Vocabulary::read`], and [`Error::Usage`] when the format cannot be told.
pub fn run(args: Args, threads: usize) -> Result<(), Error> {
    let (format, compression) = format_of(&args)?;
    let mut paths = Paths::default();
    paths.write(&args.output);
    args.vocabulary.iter().for_each(|list| paths.read(list));
    paths.check()?;
    let vocabulary = match &args.vocabulary {
        Some(list) => Vocabulary::read(list, (!args.list_only).then_some(args.vocabulary_size))?,
        None => Vocabulary::built_in(args.vocabulary_size)?,
    };
    let extent = match (args.size, args.documents) {
        (Some(bytes), _) => Extent::Bytes(bytes),
        (None, Some(documents)) => Extent::Documents(documents),
        (None, None) => return Err(Error::Usage("give --size or --documents".to_owned())),
    };
    let options = Options {
        extent,
        seed: args.seed,
        words: args.words,
        vocabulary,
        format,
        compression,
        threads,
    };
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
        // The collection may stand on standard output.
        return match args.output == Path::new("-") {
            true => {
                note(&line);
                Ok(())
            }
            false => print(line.as_bytes()),
        };
    }
    note(&format!(
        "{} documents, {} words, {} bytes\n",
        grouped(made.documents),
        grouped(made.words),
        grouped(made.bytes)
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
                "cannot tell the format of `{name}`; name it .terms, .jsonl, .tsv, .csv, .trec or .parquet, or give --format"
            ))
        })?;
    Ok((format, compression))
}
