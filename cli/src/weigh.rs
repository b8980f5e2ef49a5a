//! `tokapi weigh`: documents in, the BM25 weight of every term in every document out.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::ValueEnum;
use serde_json::json;
use tokapi::Prune;
use tokapi::Stored;
use tokapi::{Bm25, Error};
use tokapi::{Order, Output, Target, Written};

use crate::formula;
use crate::input;
use crate::number;
use crate::progress;
use crate::storage;
use crate::summary::{Summary, note, print};

/// Weigh every term of every document by BM25
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokapi weigh docs.jsonl -o weights.parquet
  tokapi weigh docs.jsonl -o weights.tsv --top 10
  tokapi weigh docs/ 'more/*.tsv.gz' -o weights.npz --stop-words english --stemmer english
  tokapi weigh corpus.parquet --id-field docid --text-field title,body -o vectors.jsonl.zst
  zcat trec.gz | tokapi weigh --format trec - -o - --to tsv | head
  tokapi weigh docs.jsonl -o w.parquet --formula bm25plus --k1 0.9 --b 0.4 --tables --json")]
#[command(mut_arg("text_field", |field| field.alias("fields")))]
pub struct Args {
    /// The file to write; - is standard output, for tsv and jsonl
    ///
    /// The ending of the name gives the format: .parquet, .tsv, .npz or .jsonl. A further .gz or .zst compresses tsv and
    /// jsonl. The file appears under its name when it is whole.
    #[arg(short, long, value_name = "FILE", required_unless_present = "to")]
    output: Option<PathBuf>,

    /// The format of the output [default: the ending of its name]
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: Option<TargetName>,

    #[command(flatten)]
    input: input::Args,

    #[command(flatten)]
    formula: formula::Args,

    #[command(flatten)]
    storage: storage::Args,

    /// Print the summary as one JSON object
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    wanted: Wanted,
}

/// The weights that are written and printed, and their order.
#[derive(Debug, clap::Args)]
#[group(skip)]
#[command(next_help_heading = "Output")]
struct Wanted {
    /// Write the lengths of the documents and the df of the terms into tables beside the output
    #[arg(long)]
    tables: bool,

    /// The order of the weights; npz and jsonl are always by document
    #[arg(long, value_enum, default_value = "term")]
    order: OrderName,

    /// Keep only the heaviest terms of each document
    #[arg(long, value_name = "COUNT", value_parser = number::at_least(1usize))]
    top: Option<usize>,

    /// Keep only weights of this size or more
    #[arg(long, value_name = "WEIGHT", value_parser = number::real::<f32>, allow_negative_numbers = true)]
    min_weight: Option<f32>,

    /// Print the ten heaviest terms of the first documents
    #[arg(long, value_name = "DOCUMENTS", default_value_t = 0, value_parser = number::at_least(0usize))]
    show: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
enum TargetName {
    /// Parquet with the columns term, doc, tf and weight
    Parquet,
    /// A line with term, doc, tf and weight for each weight
    Tsv,
    /// A CSR matrix for SciPy; files beside it name the rows and columns
    Npz,
    /// A line {"id", "indices", "values"} for each document
    Jsonl,
    /// No output: for timing
    None,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum OrderName {
    /// By term, then by document
    Term,
    /// By document, then by term
    Document,
}

pub fn run(args: Args, threads: usize) -> Result<(), Error> {
    let started = Instant::now();
    let bm25 = args.formula.bm25();
    bm25.check()?;
    let output = args.output()?;
    if let Some(output) = &output {
        output.check()?;
    }
    let files = output.as_ref().map(Output::files).unwrap_or_default();
    let analyzer = args.input.reading.analyzer()?;
    let mut collection = args.input.read(&analyzer, threads, &files, &args.storage)?;
    collection.prune(
        &bm25,
        &Prune::default()
            .top(args.wanted.top)
            .min_weight(args.wanted.min_weight),
    )?;
    let mut summary = Summary::new(started, &collection);
    if args.wanted.show > 0 {
        let shown = heaviest(&collection, &bm25, args.wanted.show)?;
        say(&shown, &output)?;
    }
    let progress = collection.progress().clone();
    let write = || match &output {
        Some(output) => output.write(collection, &bm25),
        None => collection.weigh_only(&bm25),
    };
    let written = progress::show(&progress, write);
    let Written { files, terms, .. } = written.map_err(storage::suggest_resuming)?;
    summary.terms = terms;
    if args.json {
        return say(&(summary.json(json!({ "files": files })) + "\n"), &output);
    }
    let names: Vec<String> = files
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    if !names.is_empty() && !is_stdout(&output) {
        note(&format!("wrote {}\n", names.join(", ")));
    }
    note(&summary.text());
    Ok(())
}

fn suggest_to(error: Error) -> Error {
    match error {
        Error::Usage(what) if what.ends_with("name the format") => Error::Usage(what + " (--to)"),
        other => other,
    }
}

fn is_stdout(output: &Option<Output>) -> bool {
    output
        .as_ref()
        .is_some_and(|output| output.path == Path::new("-"))
}

/// Prints on standard output, unless the weights go there.
fn say(text: &str, output: &Option<Output>) -> Result<(), Error> {
    if is_stdout(output) {
        note(text);
        return Ok(());
    }
    print(text.as_bytes())
}

/// The heaviest terms of the first `count` documents, as lines.
fn heaviest(collection: &Stored, bm25: &Bm25, count: usize) -> Result<String, Error> {
    let mut text = String::new();
    for document in collection.first_documents(bm25, count)? {
        text += &document.id;
        for (term, weight) in document.terms.iter().take(10) {
            text += &format!("  {term} {weight:.3}");
        }
        text.push('\n');
    }
    Ok(text)
}

impl Args {
    fn output(&self) -> Result<Option<Output>, Error> {
        if self.to == Some(TargetName::None) {
            return Ok(None);
        }
        let Some(path) = self.output.clone() else {
            return Err(Error::Usage(
                "there is no output: give a file with -o".into(),
            ));
        };
        let target = match self.to {
            Some(TargetName::Parquet) => Target::Parquet,
            Some(TargetName::Tsv) => Target::Tsv,
            Some(TargetName::Npz) => Target::Npz,
            Some(TargetName::Jsonl) => Target::Vectors,
            Some(TargetName::None) | None if path == Path::new("-") => {
                return Err(Error::Usage(
                    "standard output has no name: add --to tsv or --to jsonl".into(),
                ));
            }
            Some(TargetName::None) | None => Target::of_name(&path).map_err(suggest_to)?,
        };
        Ok(Some(
            Output::new(path, target)
                .tables(self.wanted.tables)
                .order(match self.wanted.order {
                    OrderName::Term => Order::Term,
                    OrderName::Document => Order::Document,
                }),
        ))
    }
}
