//! The benchmark `search`: the speed of queries, with the tasks of `benches/search`.

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use clap::ValueEnum;
use serde_json::json;
use tokapi::{Error, Index};
use tokapi::{Filter, Occur, Query, SearchOptions};
use tokapi_index::query::Algorithm;

use tokapi_cli::summary::print;

/// Time queries over an index
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokapi-lab search index queries.tsv --task top10 --repeat 5 --answers answers.tsv")]
pub struct Args {
    /// The folder of the index
    index: PathBuf,

    /// Queries: lines of a number, a tab, and, or, mix or phrase, a tab, and terms
    queries: PathBuf,

    /// What is asked for
    #[arg(long, value_enum)]
    task: Task,

    /// How often all queries are answered; the fastest time of each counts
    #[arg(long, default_value_t = 3)]
    repeat: usize,

    /// Only documents with this value in this field, as for search
    #[arg(long, value_name = "FIELD:VALUE", allow_hyphen_values = true)]
    filter: Vec<String>,

    /// Score everything, without any shortcut: for comparison
    #[arg(long)]
    exhaustive: bool,

    /// Where the answers go
    #[arg(long, value_name = "FILE")]
    answers: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Task {
    /// The number of matches
    Count,
    /// The best 10
    Top10,
    /// The best 100
    Top100,
    /// The best 1000
    Top1000,
}

impl Args {
    /// The search options; none if matches are only counted.
    fn options(&self) -> Option<SearchOptions> {
        let k = match self.task {
            Task::Count => return None,
            Task::Top10 => 10,
            Task::Top100 => 100,
            Task::Top1000 => 1000,
        };
        let algorithm = match self.exhaustive {
            true => Algorithm::Exhaustive,
            false => Algorithm::Auto,
        };
        Some(SearchOptions::default().k(k).algorithm(algorithm))
    }
}

pub fn run(args: &Args, threads: usize) -> Result<(), Error> {
    let index = Index::open(&args.index)?;
    let filters = args.filter.iter();
    let filters = filters.map(|filter| Filter::parse(filter, &index));
    let filters: Vec<Filter> = filters.collect::<Result<_, _>>()?;
    let queries = read(&args.queries, &filters)?;
    let options = args.options();
    let mut answers = String::new();
    for (number, query) in &queries {
        // Writing to a string does not fail.
        let _ = write!(answers, "{number}\t");
        match &options {
            None => {
                let _ = write!(answers, "{}", index.count(query)?);
            }
            Some(options) => {
                let hits = index.search(query, options)?;
                let mut separator = "";
                for hit in hits {
                    let id = index.id(hit.document)?;
                    let _ = write!(answers, "{separator}{id}:{}", hit.score);
                    separator = " ";
                }
            }
        }
        answers.push('\n');
    }
    if let Some(path) = &args.answers {
        std::fs::write(path, answers).map_err(Error::writing(path))?;
    }
    let mut fastest = vec![u64::MAX; queries.len()];
    let mut round = u64::MAX;
    for _ in 0..args.repeat {
        let started = Instant::now();
        if threads == 1 {
            for ((_, query), fastest) in queries.iter().zip(&mut fastest) {
                let started = Instant::now();
                answer(&index, query, options.as_ref())?;
                *fastest = (*fastest).min(started.elapsed().as_nanos() as u64);
            }
        } else {
            let next = AtomicUsize::new(0);
            let work = || -> Result<(), Error> {
                while let Some((_, query)) = queries.get(next.fetch_add(1, Ordering::Relaxed)) {
                    answer(&index, query, options.as_ref())?;
                }
                Ok(())
            };
            std::thread::scope(|scope| {
                let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
                workers
                    .into_iter()
                    .try_for_each(|worker| match worker.join() {
                        Ok(done) => done,
                        Err(panic) => std::panic::resume_unwind(panic),
                    })
            })?;
        }
        round = round.min(started.elapsed().as_nanos() as u64);
    }
    print(format!("{}\n", json!({ "ns": fastest, "wall_ns": round })).as_bytes())
}

fn answer(index: &Index, query: &Query, options: Option<&SearchOptions>) -> Result<(), Error> {
    match options {
        None => index.count(query).map(drop),
        Some(options) => index.search(query, options).map(drop),
    }
}

/// The queries of a file, by their numbers.
fn read(path: &std::path::Path, filters: &[Filter]) -> Result<Vec<(String, Query)>, Error> {
    let text = std::fs::read_to_string(path).map_err(|source| Error::Read {
        path: path.to_path_buf(),
        source,
    })?;
    let of_line = |line: &str| {
        let mut fields = line.split('\t');
        let (number, kind, terms) = (fields.next()?, fields.next()?, fields.next()?);
        let terms = terms.split_whitespace();
        let query = match kind {
            "and" => Query::all(terms),
            "phrase" => Query::phrase(terms),
            "or" => Query::any(terms),
            "mix" => {
                let mut query = Query::any(terms);
                query.clauses.first_mut()?.occur = Occur::Must;
                query
            }
            _ => return None,
        };
        Some((number.to_owned(), query.filters(filters.to_vec())))
    };
    let queries: Option<Vec<(String, Query)>> = text.lines().map(of_line).collect();
    queries.ok_or_else(|| {
        Error::Usage(format!(
            "{}: a query is a number, a tab, and, or, mix or phrase, a tab, and terms",
            path.display()
        ))
    })
}
