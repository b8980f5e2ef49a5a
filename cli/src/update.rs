//! `tokapi delete` and `tokapi merge`.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde_json::json;
use tokapi::{Error, Index, Memory, Place, Position, Progress, Strings};
use tokapi::{IndexWriter, Missing, Reordering};
use tokapi_storage::apart::Paths;

use crate::progress::show;
use crate::reorder::Which;
use crate::storage::Budget;
use crate::summary::{counted, grouped, note, print_json};

/// Delete documents from an index: all that are named, or none
///
/// If an id belongs to no document, nothing is deleted. An error names the id, and the exit status is 1.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokapi delete index --id 17 --id 18
  tokapi delete index --ids gone.txt
  tokapi delete index --ids gone.txt --ignore-missing")]
#[command(group = clap::ArgGroup::new("which").required(true).multiple(true).args(["id", "ids"]))]
pub struct DeleteArgs {
    /// The folder of the index
    #[arg(value_name = "DIR")]
    index: PathBuf,

    /// The id of a document to delete
    #[arg(long, value_name = "ID")]
    id: Vec<String>,

    /// A file with an id on each line; - is standard input
    #[arg(long, value_name = "FILE")]
    ids: Option<PathBuf>,

    /// Delete the documents that exist, and ignore the other ids
    #[arg(long)]
    ignore_missing: bool,

    #[command(flatten)]
    budget: Budget,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Merge all parts of an index into one, without the deleted documents
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokapi merge index
  tokapi merge index --reorder graph")]
pub struct MergeArgs {
    /// The folder of the index
    #[arg(value_name = "DIR")]
    index: PathBuf,

    /// Order the documents so that the index is smaller and queries are faster
    ///
    /// Documents with equal scores come in the new order; apart from that, answers are the same.
    #[arg(long, value_enum, value_name = "ORDER")]
    reorder: Option<Which>,

    #[command(flatten)]
    budget: Budget,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn delete(args: &DeleteArgs, threads: usize) -> Result<(), Error> {
    let mut paths = Paths::default();
    paths.write(&args.index);
    args.ids.iter().for_each(|file| paths.read(file));
    paths.check()?;
    let memory = args.budget.memory()?;
    let lines = match &args.ids {
        Some(file) => read_ids(file, &memory)?,
        None => Strings::default(),
    };
    let lines = (0..lines.len()).map(|line| lines.text(line));
    let ids = args.id.iter().map(|id| Cow::from(&**id)).chain(lines);
    let missing = match args.ignore_missing {
        true => Missing::Ignore,
        false => Missing::Stop,
    };
    let mut writer = IndexWriter::open_within(&args.index, threads, memory)?;
    let deletion = writer
        .delete(ids, missing)
        .map_err(|error| suggest_ignoring(error, args))?;
    let merged = writer.wait();
    if args.json {
        print_json(&json!({
            "deleted": deletion.documents,
            "unknown": deletion.unknown,
        }))?;
    } else {
        let (index, deleted) = (
            args.index.display(),
            counted(deletion.documents, "document"),
        );
        let missing = match deletion.unknown.len() as u64 {
            0 => String::new(),
            missing => format!("; {} not found", counted(missing, "id")),
        };
        note(&format!("{index}: deleted {deleted}{missing}\n"));
    }
    merged
}

/// Adds the way to delete the documents that exist.
fn suggest_ignoring(error: Error, args: &DeleteArgs) -> Error {
    match error {
        Error::Damaged { path, what } if path == args.index => Error::Damaged {
            path,
            what: match what.ends_with("nothing was deleted") {
                true => what + " (--ignore-missing deletes the others)",
                false => what,
            },
        },
        other => other,
    }
}

/// The lines of a file that are not empty; - is standard input. All of them are in memory.
fn read_ids(path: &Path, memory: &Memory) -> Result<Strings, Error> {
    let unread = |source| Error::Read {
        path: path.to_path_buf(),
        source,
    };
    let mut file: Box<dyn BufRead> = match path == Path::new("-") {
        true => Box::new(io::stdin().lock()),
        false => Box::new(BufReader::new(File::open(path).map_err(unread)?)),
    };
    let (mut ids, mut line) = (Strings::default(), Vec::new());
    for number in 1.. {
        line.clear();
        if file.read_until(b'\n', &mut line).map_err(unread)? == 0 {
            break;
        }
        let end = line
            .iter()
            .rposition(|byte| !b"\r\n".contains(byte))
            .map_or(0, |last| last + 1);
        let mut id = &line[..end];
        if number == 1 {
            id = id.strip_prefix("\u{feff}".as_bytes()).unwrap_or(id);
        }
        let wrong = |what: &str| Error::Input {
            place: Place {
                path: path.to_path_buf(),
                position: Position::Line(number),
            },
            what: what.into(),
        };
        if std::str::from_utf8(id).is_err() {
            return Err(wrong("this is not valid UTF-8"));
        }
        if !id.is_empty() {
            ids.push(id);
        }
        // There is also a set of the ids, and the documents found.
        let bytes = ids.byte_count() as u64 + 8 * ids.len() as u64;
        if bytes > memory.bytes() / 4 {
            return Err(wrong(
                "the ids up to this line do not fit into the memory budget: raise it, or delete in several runs",
            ));
        }
    }
    Ok(ids)
}

pub fn merge(args: &MergeArgs, threads: usize) -> Result<(), Error> {
    let memory = args.budget.memory()?;
    let progress = Progress::new();
    let mut writer =
        IndexWriter::open_within(&args.index, threads, memory)?.with_progress(progress.clone());
    let before = Index::open(&args.index)?.info();
    show(&progress, || match args.reorder {
        None => writer.merge(),
        Some(which) => writer.reorder(
            &Reordering::new(which.into())
                .memory(memory)
                .threads(threads)
                .progress(progress.clone()),
        ),
    })?;
    let after = Index::open(&args.index)?.info();
    let bytes =
        |info: &tokapi::IndexInfo| -> u64 { info.files.iter().map(|(_, bytes)| bytes).sum() };
    let (from, to) = (bytes(&before), bytes(&after));
    if args.json {
        return print_json(&json!({
            "parts_before": before.parts,
            "parts": after.parts,
            "bytes_before": from,
            "bytes": to,
        }));
    }
    note(&format!(
        "{}: {}, {} bytes; before: {}, {} bytes\n",
        args.index.display(),
        counted(after.parts as u64, "part"),
        grouped(to),
        counted(before.parts as u64, "part"),
        grouped(from)
    ));
    Ok(())
}
