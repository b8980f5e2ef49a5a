//! `tokapi dictionary`: builds and reads dictionaries.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};
use tokapi::{Dictionary, Error};
use tokapi_storage::whole::Staged;
use tokapi_weigh::dictionary::Stats;

use crate::input;
use crate::number;
use crate::summary::{grouped, note, print, skipped_text};

/// Map n terms to the integers 0 to n - 1 and back, by a succinct trie in a file
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokapi dictionary build docs.jsonl -o terms.dict --min-df 2
  tokapi dictionary stats terms.dict
  tokapi dictionary lookup terms.dict boundary layer")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Build(Box<BuildArgs>),
    Stats(StatsArgs),
    Lookup(LookupArgs),
}

/// Build the dictionary of a collection's terms, or of a list of terms
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokapi dictionary build docs.jsonl -o terms.dict
  tokapi dictionary build docs/ 'more/*.tsv.gz' -o terms.dict --min-df 2
  tokapi dictionary build --terms words.txt.zst -o words.dict
  cut -f1 weights.terms.tsv | tokapi dictionary build --terms - -o terms.dict --json")]
struct BuildArgs {
    /// The file to write; - is standard output
    ///
    /// It appears under its name when it is whole.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    #[command(flatten)]
    input: input::Args,

    /// Read lists of terms, with a term on each line, instead of documents
    #[arg(long, help_heading = "Terms", conflicts_with_all = [
        "format", "id_field", "text_field", "analyzer", "stop_words", "stemmer", "min_length", "max_length", "engine",
        "min_df",
    ])]
    terms: bool,

    /// Drop terms that occur in fewer documents
    #[arg(
        long,
        value_name = "COUNT",
        default_value_t = 1,
        value_parser = number::at_least(0u64),
        help_heading = "Terms"
    )]
    min_df: u64,

    /// Print the summary as one JSON object
    #[arg(long)]
    json: bool,
}

/// Show the size of a dictionary
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokapi dictionary stats terms.dict
  tokapi dictionary stats terms.dict --json")]
struct StatsArgs {
    /// The dictionary
    file: PathBuf,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Print the ids of terms, or the terms of ids
///
/// Each line has the term or id that was given, a tab, and the answer; - if there is none.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokapi dictionary lookup terms.dict boundary layer
  tokapi dictionary lookup terms.dict < words.txt
  tokapi dictionary lookup terms.dict --id 0 1 2")]
struct LookupArgs {
    /// The dictionary
    file: PathBuf,

    /// The terms or ids to look up [default: the lines of standard input]
    #[arg(value_name = "TERM")]
    terms: Vec<OsString>,

    /// Look up ids instead of terms
    #[arg(long)]
    id: bool,

    /// Print a JSON object with the term and its id for each line; null if there is none
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args, threads: usize) -> Result<(), Error> {
    match args.command {
        Command::Build(args) => build(&args, threads),
        Command::Stats(args) => stats(&args),
        Command::Lookup(args) => lookup(&args),
    }
}

fn build(args: &BuildArgs, threads: usize) -> Result<(), Error> {
    let started = Instant::now();
    Staged::check(&args.output)?;
    // The only pool of this command; if it cannot be set, one of all cores serves.
    let _ = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build_global();
    let (dictionary, skipped) = match args.terms {
        true => {
            let (terms, skipped) = args.input.read_lines(&args.output)?;
            (Dictionary::build(terms.iter())?, skipped)
        }
        false => {
            let collection = args.input.read_apart_from(threads, &args.output)?;
            let lexicon = collection.lexicon();
            let terms = lexicon.terms.iter().zip(&lexicon.df);
            let kept = terms.filter_map(|(term, &df)| (df >= args.min_df).then_some(term));
            (Dictionary::build(kept)?, collection.skipped().clone())
        }
    };
    dictionary.save(&args.output)?;
    let stats = dictionary.stats();
    let seconds = started.elapsed().as_secs_f64();
    let to_stdout = args.output == Path::new("-");
    if args.json {
        let mut object = object(&stats);
        object["seconds"] = json!(seconds);
        object["skipped"] = json!(skipped.count);
        object["skipped_reasons"] = json!(skipped.reasons);
        object["files"] = json!([args.output]);
        let line = object.to_string() + "\n";
        return match to_stdout {
            true => {
                note(&line);
                Ok(())
            }
            false => print(line.as_bytes()),
        };
    }
    if !to_stdout {
        note(&format!("wrote {}\n", args.output.display()));
    }
    note(&text(&stats));
    note(&format!("seconds         {seconds:>15.3}\n"));
    note(&skipped_text(&skipped));
    Ok(())
}

fn stats(args: &StatsArgs) -> Result<(), Error> {
    let stats = Dictionary::open(&args.file)?.stats();
    let text = match args.json {
        true => object(&stats).to_string() + "\n",
        false => text(&stats),
    };
    print(text.as_bytes())
}

fn object(stats: &Stats) -> Value {
    json!({
        "terms": stats.terms,
        "bytes": stats.bytes,
        "bytes_per_term": stats.bytes_per_term(),
        "nodes": stats.nodes,
        "leaves": stats.leaves,
        "tail_bytes": stats.tail_bytes,
        "bits_per_node": stats.bits_per_node(),
    })
}

fn text(stats: &Stats) -> String {
    [
        ("terms", grouped(stats.terms)),
        ("bytes", grouped(stats.bytes)),
        ("bytes per term", format!("{:.2}", stats.bytes_per_term())),
        ("nodes", grouped(stats.nodes)),
        ("leaves", grouped(stats.leaves)),
        ("bits per node", format!("{:.2}", stats.bits_per_node())),
    ]
    .map(|(name, figure)| format!("{name:<16}{figure:>15}\n"))
    .concat()
}

fn lookup(args: &LookupArgs) -> Result<(), Error> {
    let dictionary = Dictionary::open(&args.file)?;
    let unwritten = Error::writing(Path::new("-"));
    let mut output = BufWriter::new(io::stdout().lock());
    let mut answer = |asked: &[u8], flush: bool| {
        let line = match (args.id, args.json) {
            (true, json) => {
                let (id, term) = term_of(&dictionary, asked)?;
                match json {
                    true => object_line(id, term.as_deref()),
                    false => answer_line(asked, term),
                }
            }
            (false, true) => object_line(dictionary.lookup(asked).into(), Some(asked)),
            (false, false) => answer_line(
                asked,
                dictionary.lookup(asked).map(|id| id.to_string().into()),
            ),
        };
        output.write_all(&line).map_err(unwritten)?;
        // A program that asks line by line waits for the answer.
        if flush { output.flush() } else { Ok(()) }.map_err(unwritten)
    };
    for asked in &args.terms {
        answer(asked.as_encoded_bytes(), false)?;
    }
    if args.terms.is_empty() {
        let mut input = BufReader::new(io::stdin().lock());
        let mut line = Vec::new();
        while next_line(&mut input, &mut line)? {
            answer(&line, input.buffer().is_empty())?;
        }
    }
    output.flush().map_err(unwritten)
}

/// A line of text: the question and the answer.
fn answer_line(asked: &[u8], answer: Option<Vec<u8>>) -> Vec<u8> {
    let answer = answer.unwrap_or_else(|| b"-".to_vec());
    [asked, b"\t", &answer, b"\n"].concat()
}

/// The same as JSON.
fn object_line(id: Value, term: Option<&[u8]>) -> Vec<u8> {
    let term = term.map(String::from_utf8_lossy);
    format!("{}\n", json!({ "term": term, "id": id })).into()
}

/// An id as it was written, and its term.
fn term_of(dictionary: &Dictionary, id: &[u8]) -> Result<(Value, Option<Vec<u8>>), Error> {
    let text = String::from_utf8_lossy(id);
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Error::Usage(format!(
            "`{text}` is not an id: ids are numbers"
        )));
    }
    // A number that is too large is the id of no term.
    let term = text.parse().ok().and_then(|id| dictionary.term(id));
    let id = text
        .parse::<u64>()
        .map_or_else(|_| json!(text), Value::from);
    Ok((id, term))
}

/// Reads a line without its end; false when there is none left.
fn next_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> Result<bool, Error> {
    line.clear();
    let read = input.read_until(b'\n', line);
    let count = read.map_err(|source| Error::Read {
        path: "-".into(),
        source,
    })?;
    if line.last() == Some(&b'\n') {
        line.pop();
        line.pop_if(|byte| *byte == b'\r');
    }
    Ok(count > 0)
}
