//! `tokapi search`: the best documents for a query, or for a file of them.

use std::fmt::Write as _;
use std::io::{BufRead, IsTerminal, Write as _};
use std::path::PathBuf;

use clap::ValueEnum;
use rayon::prelude::*;
use serde_json::{Value, json};
use tokapi::output::Staged;
use tokapi::query::{Algorithm, Filter, Hit, Occur, Query, SearchOptions};
use tokapi::{Error, Index};

use crate::formula;
use crate::hits::{self, Shower};
use crate::queries::{self, NumberedQuery};
use crate::summary::{note, print};

/// Find the best documents for a query
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokapi search index 'boundary layer flow'
  tokapi search index '+supersonic wing -delta' -k 20 --explain
  tokapi search index '\"boundary layer\" flow'
  tokapi search index 'boundary layer' --filter lang:en --filter -year:1999
  tokapi search index '' --filter lang:en --count
  tokapi search index --queries queries.tsv --run bm25.run -k 1000 --k1 0.9 --b 0.4
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
    #[arg(long, value_name = "FILE", requires = "queries", conflicts_with_all = ["json", "count", "explain"])]
    run: Option<PathBuf>,

    /// The name of the run in its last column
    #[arg(long, default_value = "tokapi")]
    tag: String,

    /// How many documents to find
    #[arg(short, default_value_t = 10, value_name = "COUNT")]
    k: usize,

    /// Whether documents need any of the words, all of them, or all one after the other
    #[arg(long, value_enum, default_value = "or")]
    mode: Mode,

    /// Only documents with this value in this field, exactly; -field:value for those without. All filters must hold
    #[arg(long, value_name = "FIELD:VALUE", allow_hyphen_values = true)]
    filter: Vec<String>,

    /// Heed + and - in a file of queries too, where they are usually part of the text
    #[arg(long, requires = "queries")]
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

    #[command(flatten)]
    formula: formula::Args,
}

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
    let index = Index::open(&args.index)?;
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
    };
    search.options.bm25.check()?;
    if args.text && !index.keep().text {
        return Err(Error::Usage(format!(
            "{} keeps no texts; build it with --store",
            args.index.display()
        )));
    }
    if args.explain && args.queries.is_some() && !args.json {
        return Err(Error::Usage(
            "a run has no room for explanations; add --json".into(),
        ));
    }
    if let Some(file) = &args.queries {
        return search.file(&queries::read(file)?, threads);
    }
    if !args.query.is_empty() {
        return print(search.answer(&args.query.join(" "))?.as_bytes());
    }
    search.prompt()
}

struct Search<'a> {
    args: &'a Args,
    filters: Vec<Filter>,
    options: SearchOptions,
    index: &'a Index,
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

    /// Answers queries from standard input, a line each.
    fn prompt(&self) -> Result<(), Error> {
        let input = std::io::stdin();
        let asks = input.is_terminal();
        let unread = |source| Error::Read {
            path: "-".into(),
            source,
        };
        if asks {
            let documents = self.index.statistics().documents;
            note(&format!("{documents} documents; end with Ctrl-D\n"));
        }
        let mut lines = input.lock().lines();
        loop {
            if asks {
                note("> ");
            }
            let Some(line) = lines.next() else {
                break;
            };
            let line = line.map_err(unread)?;
            if !line.trim().is_empty() {
                print(self.answer(&line)?.as_bytes())?;
            }
        }
        Ok(())
    }

    /// The answer to one query, as text.
    fn answer(&self, text: &str) -> Result<String, Error> {
        let query = self.parse(text);
        if self.args.count {
            let count = self.index.count(&query)?;
            return Ok(match self.args.json {
                true => format!("{}\n", json!({ "query": text, "count": count })),
                false => format!("{count}\n"),
            });
        }
        let hits = self.index.search(&query, &self.options)?;
        let shower = Shower::new(self.index, &query, !self.args.no_snippets)?;
        if self.args.json {
            let hits = hits.iter().map(|hit| {
                let mut object = self.hit_json(&query, hit)?;
                shower.push_json(hit.document, self.args.text, &mut object)?;
                Ok(object)
            });
            let hits: Vec<Value> = hits.collect::<Result<_, Error>>()?;
            return Ok(format!("{}\n", json!({ "query": text, "hits": hits })));
        }
        let mut answer = String::new();
        if hits.is_empty() {
            note("no document matches\n");
        }
        for (rank, hit) in (1..).zip(&hits) {
            let id = hits::clean(&self.index.id(hit.document)?);
            // Writing to a string does not fail.
            let _ = writeln!(answer, "{rank:>4}  {:<9.4}  {id}", hit.score);
            shower.push_text(hit.document, &mut answer)?;
            if self.args.explain {
                let explained = self
                    .index
                    .explain(&query, &self.options.bm25, hit.document)?;
                let _ = writeln!(answer, "      length {}", explained.length);
                for term in explained.terms {
                    let why = match self.index.impacts() {
                        None => format!("tf {}, df {}, idf {:.4}", term.tf, term.df, term.idf),
                        Some(impacts) => {
                            format!(
                                "impact {} times {:.6}, df {}",
                                term.tf, impacts.scale, term.df
                            )
                        }
                    };
                    let _ = writeln!(
                        answer,
                        "      {:.4}  {}  {why}{}",
                        f64::from(term.weight) * term.times,
                        term.term,
                        match term.times {
                            1.0 => String::new(),
                            times => format!(", {times} times in the query"),
                        }
                    );
                }
            }
        }
        Ok(answer)
    }

    fn hit_json(&self, query: &Query, hit: &Hit) -> Result<Value, Error> {
        let mut object = json!({
            "id": self.index.id(hit.document)?,
            "score": hit.score,
        });
        if self.args.explain {
            let explained = self
                .index
                .explain(query, &self.options.bm25, hit.document)?;
            let terms = explained.terms.iter().map(|term| {
                let (number, factor) = match self.index.impacts() {
                    None => ("tf", "idf"),
                    Some(_) => ("impact", "scale"),
                };
                json!({
                    "term": term.term,
                    "times": term.times,
                    number: term.tf,
                    "df": term.df,
                    factor: term.idf,
                    "weight": term.weight,
                })
            });
            object["length"] = explained.length.into();
            object["terms"] = terms.collect();
        }
        Ok(object)
    }

    /// Answers a file of queries, on all threads, in order.
    fn file(&self, queries: &[NumberedQuery], threads: usize) -> Result<(), Error> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|error| Error::Limit(format!("cannot start threads: {error}")))?;
        let answer = |query: &NumberedQuery| match self.args.json || self.args.count {
            true => self.answer(&query.text),
            false => self.run_lines(query),
        };
        let answers: Result<Vec<String>, Error> =
            pool.install(|| queries.par_iter().map(answer).collect());
        let answers = answers?.concat();
        match &self.args.run {
            None => print(answers.as_bytes()),
            Some(path) => {
                let mut staged = Staged::create(path)?;
                let written = staged.write_all(answers.as_bytes());
                written.map_err(|source| staged.failed(source))?;
                staged.commit()
            }
        }
    }

    /// The lines of a TREC run for a query.
    fn run_lines(&self, query: &NumberedQuery) -> Result<String, Error> {
        let mut lines = String::new();
        let hits = self.index.search(&self.parse(&query.text), &self.options)?;
        for (rank, hit) in (1..).zip(&hits) {
            let (id, tag) = (self.index.id(hit.document)?, &self.args.tag);
            if id.contains(char::is_whitespace) {
                return Err(Error::Usage(format!(
                    "the id {id:?} has white space, which parts the columns of a run; use --json"
                )));
            }
            // Writing to a string does not fail.
            let _ = writeln!(lines, "{} Q0 {id} {rank} {} {tag}", query.id, hit.score);
        }
        Ok(lines)
    }
}
