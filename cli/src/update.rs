//! `tokapi delete` and `tokapi merge`: an index that changes.

use std::path::PathBuf;

use serde_json::json;
use tokapi::index::IndexWriter;
use tokapi::{Error, Index};

use crate::progress::with_postings_bar;
use crate::queries::read_lines;
use crate::summary::{grouped, note, print};

/// Delete documents from an index
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokapi delete index --id 17 --id 18
  tokapi delete index --ids gone.txt")]
pub struct DeleteArgs {
    /// The folder of the index
    #[arg(value_name = "DIR")]
    index: PathBuf,

    /// The id of a document
    #[arg(long, value_name = "ID", required_unless_present = "ids")]
    id: Vec<String>,

    /// A file with an id on each line; - is standard input
    #[arg(long, value_name = "FILE")]
    ids: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Merge all parts of an index into one, without what is deleted
#[derive(Debug, clap::Args)]
pub struct MergeArgs {
    /// The folder of the index
    #[arg(value_name = "DIR")]
    index: PathBuf,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn delete(args: &DeleteArgs, threads: usize) -> Result<(), Error> {
    let lines = match &args.ids {
        Some(file) => read_lines(file)?,
        None => Vec::new(),
    };
    let lines = lines.iter().map(|(_, line)| line);
    let ids = args.id.iter().chain(lines).map(String::as_str);
    let mut writer = IndexWriter::open(&args.index, threads)?;
    let deletion = writer.delete(ids)?;
    let merged = writer.wait();
    if args.json {
        let object = json!({
            "deleted": deletion.documents,
            "unknown": deletion.unknown,
        });
        print(format!("{object}\n").as_bytes())?;
    } else {
        let (index, count) = (args.index.display(), grouped(deletion.documents));
        note(&format!("deleted {count} documents from {index}\n"));
    }
    merged?;
    match &deletion.unknown[..] {
        [] => Ok(()),
        [first, others @ ..] => Err(Error::Usage(format!(
            "{}: there is no document {first:?}{}",
            args.index.display(),
            match others.len() {
                0 => String::new(),
                more => format!(", nor {more} others that were to be deleted"),
            }
        ))),
    }
}

pub fn merge(args: &MergeArgs, threads: usize) -> Result<(), Error> {
    let mut writer = IndexWriter::open(&args.index, threads)?;
    let before = Index::open(&args.index)?.info();
    let merged = writer.merged_postings();
    with_postings_bar(before.postings, &merged, || writer.merge())?;
    let after = Index::open(&args.index)?.info();
    let bytes = |info: &tokapi::index::IndexInfo| -> u64 {
        info.files.iter().map(|(_, bytes)| bytes).sum()
    };
    let (from, to) = (bytes(&before), bytes(&after));
    if args.json {
        let object = json!({
            "parts_before": before.parts,
            "parts": after.parts,
            "bytes_before": from,
            "bytes": to,
        });
        return print(format!("{object}\n").as_bytes());
    }
    note(&format!(
        "{}: {} parts of {} bytes before, {} of {} now\n",
        args.index.display(),
        before.parts,
        grouped(from),
        after.parts,
        grouped(to)
    ));
    Ok(())
}
