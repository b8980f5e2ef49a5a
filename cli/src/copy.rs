//! `tokapi copy`: an index as it is now, in a folder of its own.

use std::path::PathBuf;

use serde_json::json;
use tokapi::{Error, Index};
use tokapi_storage::apart::Paths;

use crate::summary::{counted, grouped, note, print_json};

/// Copy an index as it is now, also while it changes
///
/// The copy is an index of its own, and later changes of the one do not reach the other. A file of an index never
/// changes, so both share their files (hard links) where the file system permits: the copy takes hardly any time or space.
/// Onto another disk the files are copied.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokapi copy index -o backup
  tokapi copy index -o /mnt/backup/monday && tokapi check /mnt/backup/monday")]
pub struct Args {
    /// The folder of the index
    #[arg(value_name = "DIR")]
    index: PathBuf,

    /// The folder to write, new or empty; it appears under its name when it is whole
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<(), Error> {
    let mut paths = Paths::default();
    paths.read(&args.index);
    paths.write(&args.output);
    paths.check()?;
    let index = Index::open(&args.index)?;
    index.copy_to(&args.output)?;
    let documents = index.statistics().documents;
    let bytes: u64 = index.info().files.iter().map(|(_, bytes)| bytes).sum();
    if args.json {
        return print_json(&json!({
            "output": args.output,
            "epoch": index.epoch(),
            "documents": documents,
            "bytes": bytes,
        }));
    }
    note(&format!(
        "wrote {}: {} of {}, as of epoch {}\n",
        args.output.display(),
        counted(documents, "document"),
        counted(bytes, "byte"),
        grouped(index.epoch())
    ));
    Ok(())
}
