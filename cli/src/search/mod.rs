//! `tokapi search`: the best documents for a query, or for a file of them.

mod answer;
mod engine;
mod hints;
mod output;

use std::io::{BufRead, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;

use clap::ValueEnum;
use rayon::prelude::*;
use tokapi::cooperate::{InOrder, SchedulerOptions};
use tokapi::output::Staged;
use tokapi::query::{Algorithm, Filter, Hit, Occur, Query, SearchOptions};
use tokapi::{Error, Index, Paths};

use crate::formula;
use crate::queries::{self, NumberedQuery};
use crate::summary::{note, print};
use answer::Asked;
use engine::EngineName;
use output::Output;

/// Find the best documents for a query
///
/// There is no --memory here: what a query touches of the index is mapped, and so is cache of the system, which takes it
/// back where memory is needed.
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
  tokapi search index")]
pub struct Args {
    /// The folder of the index
    #[arg(value_name = "DIR")]
    index: PathBuf,

    /// The query: words; +word must occur, -word must not (behind -- where it comes first), "words in quotes" one after the other; '' for all documents that
    /// the filters let through, in order. Without one, queries are asked for
    #[arg(value_name = "QUERY", conflicts_with = "queries")]
    query: Vec<String>,

    /// A file of queries: lines of an id, a tab and a text, or JSON lines with _id and text; - is standard input
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,

    /// Where the results of a file of queries go, as a TREC run [default: standard output]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "count", "explain"])]
    run: Option<PathBuf>,

    /// The name of the run in its last column
    #[arg(long, default_value = "tokapi")]
    tag: String,

    /// How many documents to find
    #[arg(short, default_value_t = 10, value_name = "COUNT", value_parser = at_least_one)]
    k: usize,

    /// Whether documents need any of the words, all of them, or all one after the other
    #[arg(long, value_enum, default_value = "or")]
    mode: Mode,

    /// Only documents with this value in this field, exactly; -field:value for those without. All filters must hold
    #[arg(long, value_name = "FIELD:VALUE", allow_hyphen_values = true)]
    filter: Vec<String>,

    /// Heed + and - in a file of queries too, where they are usually part of the text
    #[arg(long)]
    operators: bool,

    /// Only count the documents that match
    #[arg(long, conflicts_with = "explain")]
    count: bool,

    /// Say where every score comes from
    #[arg(long)]
    explain: bool,

    /// Score everything, without any shortcut: for comparison
    #[arg(long)]
    exhaustive: bool,

    /// Print one JSON object a query
    #[arg(long)]
    json: bool,

    /// The whole text of every document too, where the index keeps it
    #[arg(long, requires = "json", conflicts_with = "count")]
    text: bool,

    /// Do not show the part of each document's text that has most of the words
    #[arg(long)]
    no_snippets: bool,

    /// Who answers
    ///
    /// A GPU gets as many of the lists as fit, those of the queries first; answers are those of the CPU, to the
    /// last bit. auto takes one where its lists would be there before the CPU has answered: at 0.3 us times the root of the
    /// number of documents for a query and a thread, against 0.5 s and 21 ns a posting.
    #[arg(
        long,
        value_enum,
        default_value = "auto",
        value_name = "ENGINE",
        help_heading = "Engine"
    )]
    engine: EngineName,

    #[command(flatten)]
    formula: formula::Args,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|&count| count > 0);
    count.ok_or_else(|| "not a number of 1 or more; --count only counts".into())
}

/// Documents of all answers that are in memory at a time, at most, and queries.
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
            "{}: the weights of this index were computed by {}; build it without --impacts to choose with the query",
            args.index.display(),
            impacts.bm25
        )));
    }
    let filters = args.filter.iter();
    let filters = filters.map(|filter| Filter::parse(filter, &index));
    let search = Search {
        args,
        filters: filters.collect::<Result<_, _>>()?,
        options: SearchOptions {
            k: args.k,
            bm25: args.formula.bm25(),
            algorithm: match args.exhaustive {
                true => Algorithm::Exhaustive,
                false => Algorithm::Auto,
            },
        },
        index: &index,
        threads,
    };
    search.options.bm25.check()?;
    if args.text && !index.keep().text {
        return Err(Error::Usage(format!(
            "{} keeps no texts; build it with --store",
            args.index.display()
        )));
    }
    if args.queries.is_none() && (args.run.is_some() || args.operators) {
        return Err(Error::Usage(
            "--run and --operators are for a file of queries: add --queries FILE".into(),
        ));
    }
    if args.explain && args.queries.is_some() && !args.json {
        return Err(Error::Usage(
            "a run has no room for explanations; add --json".into(),
        ));
    }
    if args.count && args.engine == EngineName::Gpu {
        return Err(Error::Usage(
            "a GPU finds the best documents: --count goes with --engine cpu or auto".into(),
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
        let operators = self.args.queries.is_none() || self.args.operators;
        let query = match (self.args.mode, operators) {
            (Mode::Or, true) => Query::parse(text, analyzer, Occur::Should),
            (Mode::And, true) => Query::parse(text, analyzer, Occur::Must),
            (Mode::Or, false) => Query::any(analyzer.terms(text)),
            (Mode::And, false) => Query::all(analyzer.terms(text)),
            (Mode::Phrase, _) => Query::phrase(analyzer.terms(text)),
        };
        Query {
            filters: self.filters.clone(),
            ..query
        }
    }

    /// What answers `queries` with a GPU, `ahead` of them at a time; none where the CPU alone does.
    fn in_order(&self, queries: &[Query], ahead: usize) -> Result<Option<InOrder>, Error> {
        // Of a single query or some that people type, lists are not worth bringing anywhere unless asked for.
        let engine = match (self.args.engine, &self.args.queries, self.args.count) {
            (EngineName::Auto, None, _) | (EngineName::Auto, _, true) => EngineName::Cpu,
            (engine, ..) => engine,
        };
        let options = SchedulerOptions {
            threads: self.threads,
            lanes: LANES.min(ahead),
            queue: ahead,
            search: self.options,
            ..SchedulerOptions::default()
        };
        engine.in_order(self.index, queries, &options)
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
        // As far as is known before they come.
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
                // The next query may be a better one.
                Err(Error::Usage(what)) => {
                    failed += 1;
                    note(&format!("tokapi: {what}\n"));
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
        // What follows is answered while a block is written.
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

/// The error, with the id of the query where that is to blame.
fn of_query(id: &str, error: Error) -> Error {
    match error {
        Error::Usage(what) => Error::Usage(format!("query {id}: {what}")),
        other => other,
    }
}

/// What a GPU, or the CPU in its place, finds for a query.
fn found(in_order: &mut Option<InOrder>, query: &Query) -> Result<Option<Vec<Hit>>, Error> {
    let Some(in_order) = in_order else {
        return Ok(None);
    };
    in_order.answers([query.clone()]).next().transpose()
}

/// Says how many queries a GPU left to the CPU, and why.
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
