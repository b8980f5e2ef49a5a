//! `tokapi info` and `tokapi check`: the size and content of an index, and whether it is whole.

use std::path::PathBuf;

use serde_json::{Map, Value, json};
use tokapi::Keep;
use tokapi::{Error, Index, Progress};

use crate::progress::show;
use crate::storage::Budget;
use crate::summary::{counted, grouped, print, print_json};
use crate::table::Table;

/// Show the size and the content of an index
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokapi info index
  tokapi info index --json")]
pub struct InfoArgs {
    /// The folder of the index
    #[arg(value_name = "DIR")]
    index: PathBuf,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Verify every checksum and the structure of an index
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokapi check index
  tokapi check index --memory 500MB --json")]
pub struct CheckArgs {
    /// The folder of the index
    #[arg(value_name = "DIR")]
    index: PathBuf,

    #[command(flatten)]
    budget: Budget,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn info(args: &InfoArgs) -> Result<(), Error> {
    let index = Index::open(&args.index)?;
    let info = index.info();
    let bytes: u64 = info.files.iter().map(|(_, bytes)| bytes).sum();
    let lists: u64 = info
        .files
        .iter()
        .filter(|(name, _)| matches!(*name, "lists" | "postings" | "terms"))
        .map(|(_, bytes)| bytes)
        .sum();
    let bits = 8.0 * lists as f64 / info.postings.max(1) as f64;
    if args.json {
        let files: Map<String, Value> = info
            .files
            .iter()
            .map(|&(name, bytes)| (name.to_owned(), bytes.into()))
            .collect();
        return print_json(&json!({
            "documents": info.statistics.documents,
            "deleted": info.deleted,
            "tokens": info.statistics.total_length,
            "average_length": info.statistics.average_length(),
            "terms": info.terms,
            "postings": info.postings,
            "parts": info.parts,
            "bytes": bytes,
            "bits_per_posting": bits,
            "files": files,
            "analyzer": info.analyzer,
            "fields": info.keep.fields,
            "stores_text": info.keep.text,
            "positions": info.keep.positions,
            "impacts": info.impacts,
            "left_over": { "count": info.left_over.count, "bytes": info.left_over.bytes },
        }));
    }
    let mut table = Table::default();
    let mut push = |name: &str, value: String| table.push(vec![name.to_owned(), value]);
    push("documents", grouped(info.statistics.documents));
    if info.deleted > 0 {
        push("deleted", grouped(info.deleted));
    }
    push("tokens", grouped(info.statistics.total_length));
    push(
        "average length",
        format!("{:.1}", info.statistics.average_length()),
    );
    push("terms", grouped(info.terms));
    push("postings", grouped(info.postings));
    push("parts", grouped(info.parts as u64));
    for (name, bytes) in &info.files {
        push(&format!("bytes of {name}"), grouped(*bytes));
    }
    push("bytes", grouped(bytes));
    push("bits per posting", format!("{bits:.2}"));
    let mut text = format!("{}analyzer  {}\n", table.text(), index.analyzer());
    if !info.keep.is_nothing() {
        text += &format!("keeps     {}\n", kept(&info.keep));
    }
    if let Some(impacts) = &info.impacts {
        text += &format!("weights   impacts by {}\n", impacts.bm25);
    }
    if info.left_over.count > 0 {
        text += &format!(
            "left over {} files and folders of {} bytes from interrupted changes; the next change removes them\n",
            grouped(info.left_over.count),
            grouped(info.left_over.bytes)
        );
    }
    print(text.as_bytes())
}

/// The content that an index keeps of its documents, in words.
fn kept(keep: &Keep) -> String {
    let mut parts = Vec::new();
    if keep.text {
        parts.push("texts".to_owned());
    }
    match &keep.fields[..] {
        [] => {}
        [field] => parts.push(format!("field {field}")),
        fields => parts.push(format!("fields {}", fields.join(", "))),
    }
    if keep.positions {
        parts.push("positions".to_owned());
    }
    parts.join("; ")
}

pub fn check(args: &CheckArgs) -> Result<(), Error> {
    let memory = args.budget.memory()?;
    let index = Index::open_within(&args.index, &memory)?;
    let progress = Progress::new();
    let checked = show(&progress, || index.check_with(&progress))?;
    if args.json {
        return print_json(&json!({
            "documents": checked.documents,
            "terms": checked.terms,
            "postings": checked.postings,
            "bytes": checked.bytes,
        }));
    }
    print(
        format!(
            "{} is whole: {}, {}, {}, {}\n",
            args.index.display(),
            counted(checked.documents, "document"),
            counted(checked.terms, "term"),
            counted(checked.postings, "posting"),
            counted(checked.bytes, "byte")
        )
        .as_bytes(),
    )
}
