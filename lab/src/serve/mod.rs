//! The benchmark `serve`: a server under load, and the same searches in this process.
//!
//! Open loop: requests are due at random moments at a fixed rate, whether or not earlier ones are answered. A time runs
//! from the moment a request is due to its answer, so that a server that falls behind cannot hide it (no coordinated
//! omission). Closed loop: each connection sends its next request when the last one is answered, which gives the
//! maximum rate.

mod answer;
mod connection;
mod library;
mod report;
mod source;
mod tally;
mod target;
mod usage;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use tokapi::{Error, Index};
use tokapi_cli::queries;
use tokapi_cli::summary::print;

use crate::arrivals::Arrivals;
use library::Library;
use report::{Report, Row};
use source::{Source, Span};
use tally::Tally;
use target::Target;

/// Put a server under load, and search in this process for comparison
///
/// In open loop, one thread for each --sources waits for moments and answers without sleeping, so that its own waking
/// up is no part of a time.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokapi-lab serve http://127.0.0.1:7878/v1/indexes/docs/search --queries q.tsv --body '{\"query\": {json}}' --rate 1000
  tokapi-lab serve http://127.0.0.1:7878/v1/indexes/docs/search?q={url} --queries q.tsv --closed --index index
  tokapi-lab serve --queries q.tsv --index index --rate 1000 --closed")]
pub struct Args {
    /// The URL of the requests, http://HOST:PORT/PATH; {url} in it is replaced by a query, escaped
    #[arg(required_unless_present = "index")]
    url: Option<String>,

    /// Queries, `id<TAB>text` or JSON lines with _id and text; they are sent in turn
    #[arg(long, value_name = "FILE")]
    queries: PathBuf,

    /// The body of a POST, otherwise requests are GET; {json} in it is replaced by a query as a JSON string
    #[arg(long, value_name = "TEXT")]
    body: Option<String>,

    /// A header of all requests, `name: value`; with a body, content-type is application/json unless given
    #[arg(long, value_name = "HEADER")]
    header: Vec<String>,

    /// Open loop at this many requests a second; may be given several times
    #[arg(long, value_name = "COUNT")]
    rate: Vec<f64>,

    /// Closed loop
    #[arg(long)]
    closed: bool,

    /// Answer the queries from the folder of this index in this process too
    #[arg(long, value_name = "INDEX")]
    index: Option<PathBuf>,

    /// The number of documents to find in this process; requests say it themselves
    #[arg(short, default_value_t = 10)]
    k: usize,

    /// The connections, which are kept
    #[arg(long, value_name = "COUNT", default_value_t = 64)]
    connections: usize,

    /// The threads that send requests
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    sources: u16,

    /// Seconds of each load that count
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,

    /// Seconds of each load before those
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0)]
    warm_up: f64,

    /// Seconds of rest between loads
    #[arg(long, value_name = "SECONDS", default_value_t = 0.5)]
    pause: f64,

    /// The seed of the random moments
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// The process of the server, whose processor time is reported too
    #[arg(long)]
    pid: Option<u32>,

    /// A folder for drawings
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, threads: usize) -> Result<(), Error> {
    for (name, value) in [("--seconds", args.seconds), ("--warm-up", args.warm_up)] {
        // A day.
        if !(0.0..=86_400.0).contains(&value) {
            return Err(Error::Usage(format!("{name} is {value}: give 0 to 86400")));
        }
    }
    if args.rate.iter().any(|rate| !(*rate > 0.0 && *rate < 1e9)) {
        return Err(Error::Usage("--rate must be above 0".into()));
    }
    if args.rate.is_empty() && !args.closed {
        return Err(Error::Usage(
            "there is no load: give --rate, --closed or both".into(),
        ));
    }
    let queries = queries::read(&args.queries)?.into_iter();
    let queries: Vec<String> = queries.map(|query| query.text).collect();
    if queries.is_empty() {
        return Err(Error::Usage("there are no queries".into()));
    }
    let index = args.index.as_deref().map(Index::open).transpose()?;
    let library = index.as_ref().map(|index| Library {
        index,
        queries: &queries,
        k: args.k,
        threads,
    });
    let target = args.url.as_deref();
    let target = target.map(|url| Target::new(url, args.body.as_deref(), &args.header, &queries));
    let target = target.transpose()?;
    let loads = args.rate.iter().copied().map(Some);
    let mut report = Report::default();
    for rate in loads.chain(args.closed.then_some(None)) {
        if let Some(library) = &library {
            let name = match rate {
                Some(_) => "library, 1 thread".to_owned(),
                None => format!("library, {threads} threads"),
            };
            let row = args.load(name, rate, None, |span| match rate {
                Some(rate) => library.open(Arrivals::new(span.started, rate, args.seed), span),
                None => library.closed(span),
            })?;
            report.rows.push(row);
        }
        if let Some(target) = &target {
            let name = format!("server, {} connections", args.connections);
            let row = args.load(name, rate, args.pid, |span| args.send(target, rate, span))?;
            report.rows.push(row);
        }
    }
    if let Some(folder) = &args.svg {
        report.draw(folder)?;
    }
    match args.json {
        true => print(format!("{}\n", report.json()).as_bytes()),
        false => print(report.text().as_bytes()),
    }
}

impl Args {
    /// Times a load, which `work` makes, after a rest.
    fn load(
        &self,
        name: String,
        rate: Option<f64>,
        server: Option<u32>,
        work: impl FnOnce(Span) -> Result<Tally, Error> + Send,
    ) -> Result<Row, Error> {
        std::thread::sleep(Duration::from_secs_f64(self.pause));
        let started = Instant::now();
        let counted = started + Duration::from_secs_f64(self.warm_up);
        let span = Span {
            started,
            counted,
            end: counted + Duration::from_secs_f64(self.seconds),
        };
        std::thread::scope(|scope| {
            let worker = scope.spawn(move || work(span));
            let usage_at = |moment: Instant| {
                std::thread::sleep(moment.saturating_duration_since(Instant::now()));
                (usage::of_this_process(), server.and_then(usage::of))
            };
            let (own_before, server_before) = usage_at(span.counted);
            let (own, server) = usage_at(span.end);
            let tally = match worker.join() {
                Ok(tally) => tally?,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            let since = |after: Option<Duration>, before: Option<Duration>| {
                Some(after?.saturating_sub(before?))
            };
            Ok(Row {
                name,
                offered: rate,
                seconds: self.seconds,
                tally,
                own: since(own, own_before),
                server: since(server, server_before),
            })
        })
    }

    /// Requests from all sources.
    fn send(&self, target: &Target, rate: Option<f64>, span: Span) -> Result<Tally, Error> {
        let sources = usize::from(self.sources);
        let connections = self.connections.max(sources);
        let source = |number: usize| {
            let share = connections / sources + usize::from(number < connections % sources);
            let source = Source::new(target, share, number, sources)?;
            match rate {
                Some(rate) => {
                    let seed = self.seed.wrapping_add(number as u64);
                    source.open(
                        Arrivals::new(span.started, rate / sources as f64, seed),
                        span,
                    )
                }
                None => source.closed(span),
            }
        };
        std::thread::scope(|scope| {
            let source = &source;
            let sources: Vec<_> = (0..sources)
                .map(|number| scope.spawn(move || source(number)))
                .collect();
            let mut all = Tally::default();
            for source in sources {
                match source.join() {
                    Ok(tally) => all.add(tally?),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            Ok(all)
        })
    }
}
