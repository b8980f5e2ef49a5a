//! `tokapi stats`: counts of a collection.

use std::time::Instant;

use serde_json::json;
use tokapi::Error;

use crate::input;
use crate::storage;
use crate::summary::{Summary, print};

/// The help of --scratch: there is no output that scratch files could go beside.
const SCRATCH: &str = "A folder for scratch files; give one for each disk [default: the system's folder for temporary files]";

/// Count documents, words, distinct terms and postings of a collection
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokapi stats docs.jsonl
  tokapi stats --json folder/ more/*.tsv.gz
  zcat dump.gz | tokapi stats --format trec -")]
#[command(mut_arg("scratch", |scratch| scratch.help(SCRATCH).long_help(format!("{SCRATCH}\n\nWith two disks, one is read while the other is written."))))]
pub struct Args {
    #[command(flatten)]
    input: input::Args,

    #[command(flatten)]
    storage: storage::Args,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args, threads: usize) -> Result<(), Error> {
    let started = Instant::now();
    let analyzer = args.input.reading.analyzer()?;
    let collection = args.input.read(&analyzer, threads, &[], &args.storage)?;
    let mut summary = Summary::new(started, &collection);
    let average = collection.statistics().average_length();
    summary.terms = collection.count_terms()?;
    let average = if average.is_finite() { average } else { 0.0 };
    let text = match args.json {
        true => summary.json(json!({ "average_length": average })) + "\n",
        false => summary.text() + &format!("average length  {average:>15.2}\n"),
    };
    print(text.as_bytes())
}
