//! `tokapi search`: the best documents for a query, or for every query of a file.

mod answer;
mod engine;
mod hints;
mod output;

use std::io::{BufRead, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;

use clap::ValueEnum;
use rayon::prelude::*;
use tokapi::{Error, Index};
use tokapi::{Filter, Hit, Occur, Query, SearchOptions};
use tokapi_device::cooperate::{InOrder, SchedulerOptions};
use tokapi_index::query::Algorithm;
use tokapi_storage::apart::Paths;
use tokapi_storage::whole::Staged;

use crate::formula;
use crate::gpu;
use crate::queries::{self, NumberedQuery};
use crate::summary::{note, print};
use answer::Asked;
use engine::EngineName;
use output::Output;

/// Find the best documents for a query, or for every query of a file
///
/// A search maps the index and reads only the pages that it needs. The system caches these pages and takes them back when
/// memory is short, so that search has no --memory.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokapi search index 'boundary layer flow'
  tokapi search index '+supersonic wing -delta' -k 20 --explain
  tokapi search index '\"boundary layer\" flow'
  tokapi search index 'boundary layer' --filter lang:en --filter -year:1999
  tokapi search index '' --filter lang:en --count
  tokapi search index --queries queries.tsv --run bm25.run -k 1000 --k1 0.9 --b 0.4
  tokapi search index --queries log.tsv --run log.run --engine gpu
  tokapi search index
      reads queries from standard input, one on each line")]
pub struct Args {
    /// The folder of the index
    #[arg(value_name = "DIR")]
    index: PathBuf,

    /// The query; without one, queries are read from standard input
    ///
    /// +word must occur. -word must not; a query that begins with it follows --. "Words in quotes" must occur one after the
    /// other. '' finds all documents that pass the filters, in their order.
    #[arg(value_name = "QUERY", conflicts_with = "queries")]
    query: Vec<String>,

    /// A file of queries; - is standard input
    ///
    /// Each line has an id, a tab and a text, or is a JSON object with _id and text.
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,

    /// The file for the results of --queries, as a TREC run [default: standard output]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "count", "explain"])]
    run: Option<PathBuf>,

    /// The number of documents to find
    #[arg(short, aliases = ["top", "limit"], default_value_t = 10, value_name = "COUNT", value_parser = at_least_one)]
    k: usize,

    /// The words that a document must have
    #[arg(long, value_enum, default_value = "or")]
    mode: Mode,

    /// Only documents with exactly this value in this field; -FIELD:VALUE for those without
    ///
    /// With several filters, a document must pass all.
    #[arg(long, value_name = "FIELD:VALUE", allow_hyphen_values = true)]
    filter: Vec<String>,

    /// Only count the documents that match
    #[arg(long, conflicts_with = "explain")]
    count: bool,

    /// Show the parts of each score
    #[arg(long)]
    explain: bool,

    #[command(flatten)]
    formula: formula::Args,

    /// The engine that answers
    ///
    /// A GPU gives the answers of the CPU, to the last bit. It holds as many of the lists as fit, those of the queries first.
    /// auto estimates whether it saves more time than it takes to copy the lists there. Without measurements of this machine
    /// (`tokapi tune DIR --queries FILE`), it assumes these times. For the CPU: 0.3 us times the square root of the number of
    /// documents for each query, divided by the number of threads. For the copy: 0.5 s plus 21 ns a posting.
    #[arg(
        long,
        value_enum,
        default_value = "auto",
        value_name = "ENGINE",
        help_heading = "Engine"
    )]
    engine: EngineName,

    #[command(flatten)]
    gpu: gpu::Args,

    /// Score all matching documents, without any shortcut: for comparison
    #[arg(long, help_heading = "Engine")]
    exhaustive: bool,

    #[command(flatten)]
    of_file: OfFile,

    #[command(flatten)]
    shown: answer::Args,

    /// Print one JSON object for each query
    #[arg(long, help_heading = None)]
    json: bool,
}

/// The options of a file of queries.
#[derive(Debug, clap::Args)]
#[group(skip)]
#[command(next_help_heading = "Queries of a file")]
struct OfFile {
    /// The name of the run, in its last column [default: tokapi]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["json", "count"])]
    tag: Option<String>,

    /// Obey + and - in a file of queries too; otherwise they are text there
    #[arg(long)]
    operators: bool,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|&count| count > 0);
    count.ok_or_else(|| "give 1 or more; to count matches only, use --count".into())
}

/// The most documents of answers, and the most queries, that are in memory at a time.
const BLOCK_HITS: usize = 1 << 20;
const BLOCK_QUERIES: usize = 1 << 14;

/// Lanes of a GPU: with 8, queries a second were two to four times those of one (`benches/gpu/queries.txt`).
const LANES: usize = 8;

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Mode {
    /// Any of the words
    Or,
    /// All of the words
    And,
    /// The words one after the other
    Phrase,
}

pub fn run(args: &Args, threads: usize) -> Result<(), Error> {
    let mut paths = Paths::default();
    paths.read(&args.index);
    args.queries.iter().for_each(|file| paths.read(file));
    args.run.iter().for_each(|file| paths.write(file));
    paths.check()?;
    let index = Arc::new(Index::open(&args.index)?);
    if let (Some(impacts), true) = (index.impacts(), args.formula.is_given()) {
        return Err(Error::Usage(format!(
            "{}: the weights of this index were computed by {}: drop the formula, or build an index without --impacts",
            args.index.display(),
            impacts.bm25
        )));
    }
    let filters = args.filter.iter();
    let filters = filters.map(|filter| Filter::parse(filter, &index));
    let search = Search {
        args,
        filters: filters.collect::<Result<_, _>>()?,
        options: SearchOptions::default()
            .k(args.k)
            .bm25(args.formula.bm25())
            .algorithm(match args.exhaustive {
                true => Algorithm::Exhaustive,
                false => Algorithm::Auto,
            }),
        index: &index,
        threads,
    };
    search.options.bm25.check()?;
    if args.shown.text && !index.keep().text {
        return Err(Error::Usage(format!(
            "{} keeps no texts: drop --text, or build an index with --store",
            args.index.display()
        )));
    }
    let of_file = args.run.is_some() || args.of_file.tag.is_some() || args.of_file.operators;
    if args.queries.is_none() && of_file {
        return Err(Error::Usage(
            "--run, --tag and --operators need a file of queries: add --queries FILE".into(),
        ));
    }
    if args.explain && args.queries.is_some() && !args.json {
        return Err(Error::Usage(
            "a run has no column for explanations: add --json".into(),
        ));
    }
    if args.count && args.engine == EngineName::Gpu {
        return Err(Error::Usage(
            "a GPU finds the best documents and does not count: use --engine cpu or auto".into(),
        ));
    }
    if let Some(file) = &args.queries {
        if let Some(run) = &args.run {
            Staged::check(run)?;
        }
        return search.file(&queries::read(file)?);
    }
    if !args.query.is_empty() {
        return search.one(&args.query.join(" "));
    }
    search.prompt()
}

struct Search<'a> {
    args: &'a Args,
    filters: Vec<Filter>,
    options: SearchOptions,
    index: &'a Arc<Index>,
    threads: usize,
}

impl Search<'_> {
    fn parse(&self, text: &str) -> Query {
        let analyzer = self.index.analyzer();
        let operators = self.args.queries.is_none() || self.args.of_file.operators;
        let query = match (self.args.mode, operators) {
            (Mode::Or, true) => Query::parse(text, analyzer, Occur::Should),
            (Mode::And, true) => Query::parse(text, analyzer, Occur::Must),
            (Mode::Or, false) => Query::any(analyzer.terms(text)),
            (Mode::And, false) => Query::all(analyzer.terms(text)),
            (Mode::Phrase, _) => Query::phrase(analyzer.terms(text)),
        };
        query.filters(self.filters.clone())
    }

    /// The scheduler that answers `queries` with a GPU, `ahead` of them at a time; none if the CPU answers all.
    fn in_order(&self, queries: &[Query], ahead: usize) -> Result<Option<InOrder>, Error> {
        // For a few queries, copying lists to a GPU does not pay.
        let engine = match (self.args.engine, &self.args.queries, self.args.count) {
            (EngineName::Auto, None, _) | (EngineName::Auto, _, true) => EngineName::Cpu,
            (engine, ..) => engine,
        };
        let options = SchedulerOptions::default()
            .threads(self.threads)
            .lanes(LANES.min(ahead))
            .queue(ahead);
        let search = self.options.clone();
        engine.in_order(self.index, self.args.gpu.device, queries, search, &options)
    }

    /// Answers one query.
    fn one(&self, text: &str) -> Result<(), Error> {
        self.hint(text);
        let query = self.parse(text);
        let mut in_order = self.in_order(std::slice::from_ref(&query), 1)?;
        let hits = found(&mut in_order, &query)?;
        tell(in_order.as_ref());
        let asked = Asked { id: None, text };
        print(self.answer(asked, &query, hits)?.as_bytes())
    }

    /// Answers queries from standard input, a line each.
    fn prompt(&self) -> Result<(), Error> {
        let input = std::io::stdin();
        let asks = input.is_terminal();
        let unread = |source| Error::Read {
            path: "-".into(),
            source,
        };
        // The queries are not known yet.
        let mut in_order = self.in_order(&[self.parse("")], 1)?;
        if asks {
            let documents = self.index.statistics().documents;
            note(&format!("{documents} documents; end with Ctrl-D\n"));
        }
        let mut lines = input.lock().lines();
        let (mut queries, mut failed) = (0u64, 0u64);
        loop {
            if asks {
                note("> ");
            }
            let Some(line) = lines.next() else {
                break;
            };
            let line = line.map_err(unread)?;
            if line.trim().is_empty() {
                continue;
            }
            queries += 1;
            self.hint(&line);
            let query = self.parse(&line);
            let asked = Asked {
                id: None,
                text: &line,
            };
            let answer =
                found(&mut in_order, &query).and_then(|hits| self.answer(asked, &query, hits));
            match answer {
                Ok(answer) => print(answer.as_bytes())?,
                // The next query may be right.
                Err(error @ (Error::Usage(_) | Error::NotKept(_))) => {
                    failed += 1;
                    note(&crate::message(&error));
                }
                Err(error) => return Err(error),
            }
        }
        tell(in_order.as_ref());
        match asks || failed == 0 {
            true => Ok(()),
            false => Err(Error::Usage(format!(
                "{failed} of {queries} queries could not be answered"
            ))),
        }
    }

    /// Answers a file of queries, on all threads, in order.
    fn file(&self, queries: &[NumberedQuery]) -> Result<(), Error> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads);
        let pool = pool
            .build()
            .map_err(|error| Error::Limit(format!("cannot start threads: {error}")))?;
        let mut output = Output::create(self.args.run.as_deref())?;
        let parse = |query: &NumberedQuery| self.parse(&query.text);
        let parsed: Vec<Query> = pool.install(|| queries.par_iter().map(parse).collect());
        let block = (BLOCK_HITS / self.options.k.max(1)).clamp(1, BLOCK_QUERIES);
        // The next queries are answered while a block is written.
        let mut in_order = self.in_order(&parsed, 2 * block)?;
        let mut answers = in_order
            .as_mut()
            .map(|in_order| in_order.answers(parsed.iter().cloned()));
        for (queries, parsed) in queries.chunks(block).zip(parsed.chunks(block)) {
            let hits: Vec<Option<Vec<Hit>>> = match &mut answers {
                None => vec![None; queries.len()],
                Some(answers) => {
                    let hits = answers.take(queries.len());
                    hits.map(|hits| hits.map(Some)).collect::<Result<_, _>>()?
                }
            };
            let asked = queries.par_iter().zip(parsed).zip(hits);
            let lines = asked.map(|((query, parsed), hits)| {
                let asked = Asked {
                    id: Some(&query.id),
                    text: &query.text,
                };
                let answer = match self.args.json || self.args.count {
                    true => self.answer(asked, parsed, hits),
                    false => self.run_lines(query, parsed, hits),
                };
                answer.map_err(|error| of_query(&query.id, error))
            });
            let lines: Vec<String> = pool.install(|| lines.collect::<Result<_, Error>>())?;
            output.write(lines.concat())?;
        }
        drop(answers);
        tell(in_order.as_ref());
        output.finish()
    }
}

/// The error, with the id of the query if the query is at fault.
fn of_query(id: &str, error: Error) -> Error {
    match error {
        Error::Usage(what) => Error::Usage(format!("query {id}: {what}")),
        Error::NotKept(_) => Error::Usage(format!(
            "query {id}: {error}{}",
            crate::remedy::flag(&error)
        )),
        other => other,
    }
}

/// The answer of a scheduler to a query, if there is a scheduler.
fn found(in_order: &mut Option<InOrder>, query: &Query) -> Result<Option<Vec<Hit>>, Error> {
    let Some(in_order) = in_order else {
        return Ok(None);
    };
    in_order.answers([query.clone()]).next().transpose()
}

/// Prints how many queries a GPU left to the CPU, and why.
fn tell(in_order: Option<&InOrder>) {
    let Some(in_order) = in_order else {
        return;
    };
    let shares = in_order.shares();
    if shares.cpu() > 0 {
        let why = in_order.lost().map(|why| format!(" ({why})"));
        note(&format!("tokapi: {shares}{}\n", why.unwrap_or_default()));
    }
}
