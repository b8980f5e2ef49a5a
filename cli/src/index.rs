//! `tokapi index`: documents in, an index out.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Instant;

use serde_json::json;
use tokapi::index::Contents;
use tokapi::{BuildOptions, Corpus, Error, Index};

use crate::summary::{Summary, note, print};
use crate::{input, progress, storage};

/// Build an index that queries are answered from
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokapi index docs.jsonl -o index
  tokapi index docs/ -o index --analyzer unicode --stop-words english --stemmer english
  tokapi index huge.tsv.zst -o index --memory 2GB
  tokapi index docs.jsonl -o index --store --field lang,year
  tokapi search index 'boundary layer flow'")]
pub struct Args {
    #[command(flatten)]
    input: input::Args,

    #[command(flatten)]
    storage: storage::Args,

    /// The folder to write; it appears under its name when it is whole
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    output: PathBuf,

    /// Keep every document's text, for snippets
    #[arg(long, help_heading = "Output")]
    store: bool,

    /// Fields, columns or elements to keep, for --filter and for display
    ///
    /// Values are strings, numbers, booleans and lists of these. Documents are found by values of up to 1024 bytes. The
    /// input is read twice where something is kept; what cannot be read twice goes to a file beside the output first.
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        help_heading = "Output"
    )]
    field: Vec<String>,

    /// Print the summary as one JSON object
    #[arg(long, help_heading = "Output")]
    json: bool,
}

pub fn run(args: &Args, threads: usize) -> Result<(), Error> {
    let started = Instant::now();
    Index::check_new(&args.output)?;
    let output = Some(args.output.as_path());
    let storage = args.storage.storage(output)?;
    let options = BuildOptions {
        threads,
        ..BuildOptions::default()
    };
    let mut kept = None;
    let keep = |corpus: &mut Corpus| {
        if args.store || !args.field.is_empty() {
            corpus.keep_fields(&args.field)?;
            let spooled = corpus.spool(&args.output)?;
            let again = corpus.again();
            let progress = again.progress();
            let contents = Contents::new(again, args.store, &options, &storage);
            kept = Some((contents, progress, spooled));
        }
        Ok(())
    };
    let collection = args.input.read(threads, output, keep, &args.storage)?;
    let mut summary = Summary::new(started, &collection);
    let (postings, dealt) = (collection.postings_count(), collection.dealt());
    let analyzer = args.input.analyzer()?;
    let built = match (kept, dealt) {
        (Some((contents, progress, _spooled)), _) => {
            let total = progress.total_bytes.load(Ordering::Relaxed);
            progress::with_bar((total > 0).then_some(total), &progress.read_bytes, || {
                Index::build_with_contents(collection, &analyzer, &args.output, contents)
            })
        }
        (None, Some(dealt)) => progress::with_postings_bar(postings, &dealt, || {
            Index::build(collection, &analyzer, &args.output)
        }),
        (None, None) => Index::build(collection, &analyzer, &args.output),
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
