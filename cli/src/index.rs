//! `tokapi index`: documents or a CIFF file in, an index out.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use serde_json::json;
use tokapi::index::IndexInfo;
use tokapi::{Compression, Error, Index};

use crate::summary::{Summary, note, print};
use crate::{input, progress, storage};

/// Build an index that queries are answered from
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokapi index docs.jsonl -o index
  tokapi index docs/ -o index --analyzer unicode --stop-words english --stemmer english
  tokapi index huge.tsv.zst -o index --memory 2GB
  tokapi index lucene.ciff.gz -o index --stemmer english
      the index of another search engine; the options of terms say how queries are cut
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
    if let Some(file) = args.input.ciff()? {
        return import(args, file, threads);
    }
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
    say(args, &summary, &info)
}

/// Makes an index of a file in the Common Index File Format.
fn import(args: &Args, file: &Path, threads: usize) -> Result<(), Error> {
    let started = Instant::now();
    let analyzer = args.input.analyzer()?;
    let bytes = std::fs::metadata(file).map_or(0, |metadata| metadata.len());
    // What a compressed file holds is not known yet.
    let total = (Compression::of_name(file) == Compression::None).then_some(bytes);
    let read_bytes = AtomicU64::new(0);
    progress::with_bar(total, &read_bytes, || {
        Index::import_ciff(file, &analyzer, threads, &args.output, &read_bytes)
    })?;
    let info = Index::open(&args.output)?.info();
    say(args, &Summary::of_index(started, &info, bytes), &info)
}

fn say(args: &Args, summary: &Summary, info: &IndexInfo) -> Result<(), Error> {
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
