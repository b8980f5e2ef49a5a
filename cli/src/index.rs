//! `tokapi index`: documents in, an index out.

use std::path::PathBuf;
use std::time::Instant;

use serde_json::json;
use tokapi::{Error, Index};

use crate::summary::{Summary, note, print};
use crate::{input, progress, storage};

/// Build an index that queries are answered from
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokapi index docs.jsonl -o index
  tokapi index docs/ -o index --analyzer unicode --stop-words english --stemmer english
  tokapi index huge.tsv.zst -o index --memory 2GB
  tokapi search index 'boundary layer flow'")]
pub struct Args {
    #[command(flatten)]
    input: input::Args,

    #[command(flatten)]
    storage: storage::Args,

    /// The folder to write; it appears under its name when it is whole
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    output: PathBuf,

    /// Print the summary as one JSON object
    #[arg(long, help_heading = "Output")]
    json: bool,
}

pub fn run(args: &Args, threads: usize) -> Result<(), Error> {
    let started = Instant::now();
    Index::check_new(&args.output)?;
    let output = Some(args.output.as_path());
    let collection = args
        .input
        .read(threads, output, |_| Ok(()), &args.storage)?;
    let mut summary = Summary::new(started, &collection);
    let (postings, dealt) = (collection.postings_count(), collection.dealt());
    let analyzer = args.input.analyzer()?;
    let build = || Index::build(collection, &analyzer, &args.output);
    let built = match dealt {
        Some(dealt) => progress::with_postings_bar(postings, &dealt, build),
        None => build(),
    };
    built.map_err(storage::suggest_resuming)?;
    let info = Index::open(&args.output)?.info();
    summary.terms = info.terms;
    let bytes: u64 = info.files.iter().map(|(_, bytes)| bytes).sum();
    if args.json {
        let more = json!({ "index": args.output, "index_bytes": bytes });
        return print((summary.json(more) + "\n").as_bytes());
    }
    note(&format!(
        "wrote {} ({bytes} bytes)\n",
        args.output.display()
    ));
    note(&summary.text());
    Ok(())
}
