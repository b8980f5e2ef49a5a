//! `tokapi delete` and `tokapi merge`: an index that changes.

use std::path::PathBuf;

use serde_json::json;
use tokapi::index::{IndexWriter, ReorderProgress};
use tokapi::{Error, Index, Memory};

use crate::progress::{with_postings_bar, with_reordering};
use crate::queries::read_lines;
use crate::reorder::Which;
use crate::size;
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
#[command(after_help = "\
Examples:
  tokapi merge index
  tokapi merge index --reorder graph")]
pub struct MergeArgs {
    /// The folder of the index
    #[arg(value_name = "DIR")]
    index: PathBuf,

    /// Put the documents in another order, so that the index is smaller and queries are faster
    ///
    /// Answers are the same, but that documents of the same score come in that order.
    #[arg(long, value_enum, value_name = "WHICH")]
    reorder: Option<Which>,

    /// The most memory for finding that order [default: four fifths of what is available]
    #[arg(long, value_name = "SIZE", value_parser = size::parse, requires = "reorder")]
    memory: Option<u64>,

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
    let memory = args.memory.map(Memory::new).transpose()?;
    with_postings_bar(before.postings, &merged, || writer.merge())?;
    if let Some(which) = args.reorder {
        let progress = ReorderProgress::default();
        let memory = memory.unwrap_or_else(Memory::available);
        let how = which.reordering(memory, threads, &progress);
        with_reordering(&progress, || writer.reorder(&how))?;
    }
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
