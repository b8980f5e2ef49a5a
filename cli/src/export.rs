//! `tokapi export`: writes an index in the formats of other search engines.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::ValueEnum;
use serde_json::json;
use tokapi::{Error, Index, Progress};
use tokapi_storage::apart::Paths;

use crate::formula;
use crate::progress::show;
use crate::storage::Budget;
use crate::summary::{counted, note, peak_memory_bytes, print_json};

/// Write an index in a format of other search engines
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokapi export index --to ciff -o index.ciff
  tokapi export index --to ciff -o index.ciff.zst
  tokapi export index --to bm25s -o folder --k1 0.9 --b 0.4
      retriever = bm25s.BM25.load('folder', load_corpus=True)")]
pub struct Args {
    /// The folder of the index
    #[arg(value_name = "DIR")]
    index: PathBuf,

    /// The format
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: TargetName,

    /// The file or folder to write; - is standard output, for ciff
    ///
    /// It appears under its name when it is whole.
    #[arg(short, long, value_name = "PATH")]
    output: PathBuf,

    /// Print the summary as one JSON object
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    budget: Budget,

    #[command(flatten)]
    formula: formula::Args,
}

#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
enum TargetName {
    /// A file in the Common Index File Format, compressed if its name ends in .gz or .zst; impacts become frequencies
    Ciff,
    /// A folder of weights for the Python package bm25s: robertson without the factor k1 + 1, and 0 at least
    Bm25s,
}

pub fn run(args: &Args) -> Result<(), Error> {
    let started = Instant::now();
    let to_stdout = args.output == Path::new("-");
    if to_stdout && args.json {
        return Err(Error::Usage(
            "the summary and the index cannot both go to standard output: give a file with -o, or drop --json".into(),
        ));
    }
    if to_stdout && args.to == TargetName::Bm25s {
        return Err(Error::Usage(
            "bm25s reads a folder, which cannot go to standard output: name one with -o".into(),
        ));
    }
    if args.to == TargetName::Ciff && args.formula.is_given() {
        return Err(Error::Usage(
            "the formula is for --to bm25s: drop it".into(),
        ));
    }
    let mut paths = Paths::default();
    paths.read(&args.index);
    paths.write(&args.output);
    paths.check()?;
    let index = Index::open_within(&args.index, &args.budget.memory()?)?;
    let progress = Progress::new();
    let exported = show(&progress, || match args.to {
        TargetName::Ciff => index.export_ciff(&args.output, &progress),
        TargetName::Bm25s => index.export_bm25s(&args.formula.bm25(), &args.output, &progress),
    })?;
    let seconds = started.elapsed().as_secs_f64();
    if args.json {
        return print_json(&json!({
            "output": args.output,
            "documents": exported.documents,
            "terms": exported.terms,
            "postings": exported.postings,
            "seconds": seconds,
            "peak_memory_bytes": peak_memory_bytes(),
        }));
    }
    note(&format!(
        "wrote {}: {}, {}, {} in {seconds:.3} seconds\n",
        args.output.display(),
        counted(exported.documents, "document"),
        counted(exported.terms, "term"),
        counted(exported.postings, "posting")
    ));
    Ok(())
}
