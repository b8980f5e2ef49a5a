//! The benchmark `queries`: queries by CPU and GPU, in batches and as they arrive.

mod batches;
mod draw;
mod ramp;
mod served;
mod svg;
mod variation;

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};
use tokapi::{Error, Index};
use tokapi::{Occur, Query, SearchOptions};
use tokapi_device::gpu::{GpuIndex, GpuIndexOptions};
use tokapi_kernels::{Build, MOST_RANKED};

use tokapi_cli::routing;
use tokapi_cli::size;
use tokapi_cli::summary::print;

/// Time queries on the CPU, on a GPU, and on both together
///
/// Queries are read from a file, or drawn from the index: terms in proportion to their df, without those above
/// --largest-share.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokapi-lab queries index
  tokapi-lab queries index --part batches --batch 4096 --batch 65536
  tokapi-lab queries index --queries queries.tsv --part router --part load --svg plots")]
pub struct Args {
    /// The folder of the index
    index: PathBuf,

    /// Queries, `id<TAB>text` or JSON lines with _id and text [default: drawn from the index]
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,

    /// Write the drawn queries to this file, an id and a text a line
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,

    /// The parts to measure
    #[arg(long, value_enum, default_values_t = [Part::Batches, Part::Variation, Part::Router, Part::Load])]
    part: Vec<Part>,

    /// The number of queries to draw
    #[arg(long, default_value_t = 65536)]
    count: usize,

    /// The least and the most terms of a query
    #[arg(long, num_args = 2, default_values_t = [2, 4])]
    terms: Vec<usize>,

    /// Terms of a larger share of the documents are not drawn
    #[arg(long, default_value_t = 0.02)]
    largest_share: f64,

    /// The seed of the random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Queries in a batch
    #[arg(long, default_values_t = [4096])]
    batch: Vec<usize>,

    /// Batches that are answered at the same time
    #[arg(long, default_value_t = 8)]
    lanes: usize,

    /// The number of documents to find
    #[arg(short, default_value_t = 10)]
    k: usize,

    /// How often batches and loads are measured; of batches the fastest counts, of loads the median
    #[arg(long, default_value_t = 3)]
    repeat: usize,

    /// Seconds of each load
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,

    /// The first load, in queries a second; each further one is twice as large
    #[arg(long, default_value_t = 2000.0)]
    first_load: f64,

    /// The largest load, in queries a second
    #[arg(long, default_value_t = 1_000_000.0)]
    last_load: f64,

    /// The number of the GPU
    #[arg(long, default_value_t = 0)]
    device: u32,

    /// The most memory for lists on the GPU [default: seven eighths of what is free]
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    device_memory: Option<u64>,

    /// A folder for drawings
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, clap::ValueEnum)]
enum Part {
    /// The throughput of batches
    Batches,
    /// The variation of the times of batches, by PART and by PARA
    Variation,
    /// The processor that answers a query sooner, predicted and measured
    Router,
    /// The response times of queries that arrive at random, at rising rates
    Load,
    /// The same through the engine of the server
    Served,
}

/// An index on both processors, and the queries to measure.
struct Bench<'a> {
    args: &'a Args,
    threads: usize,
    index: Arc<Index>,
    on_device: Arc<GpuIndex>,
    and: Vec<Query>,
    or: Vec<Query>,
    search: SearchOptions,
}

/// Text for people, JSON for programs.
#[derive(Default)]
struct Report {
    text: String,
    json: serde_json::Map<String, Value>,
}

impl Report {
    /// Adds a part.
    fn add(&mut self, name: &str, title: &str, text: &str, json: Value) {
        // Writing to a string does not fail.
        let _ = write!(self.text, "\n{title}\n{text}");
        self.json.insert(name.into(), json);
    }
}

pub fn run(args: &Args, threads: usize) -> Result<(), Error> {
    if args.k > MOST_RANKED {
        return Err(Error::Usage(format!(
            "a GPU ranks at most {MOST_RANKED} documents: give a smaller -k"
        )));
    }
    if !(args.first_load >= 1.0 && args.last_load.is_finite()) {
        return Err(Error::Usage(
            "--first-load must be 1 or more, and --last-load finite".into(),
        ));
    }
    let index = Arc::new(Index::open(&args.index)?);
    let terms = draw::queries(&index, args)?;
    let of = |occur| terms.iter().map(move |terms| draw::query(terms, occur));
    let (and, or): (Vec<Query>, Vec<Query>) =
        (of(Occur::Must).collect(), of(Occur::Should).collect());
    if let Some(path) = &args.save {
        let numbered = terms.iter().enumerate();
        let lines = numbered.map(|(number, terms)| format!("{number}\t{}\n", terms.join(" ")));
        std::fs::write(path, lines.collect::<String>()).map_err(|source| Error::Write {
            path: path.clone(),
            source,
        })?;
    }
    let options = GpuIndexOptions {
        device: args.device,
        memory_bytes: args.device_memory,
        ..GpuIndexOptions::new(Build::Cuda)
    };
    let started = Instant::now();
    let on_device = Arc::new(GpuIndex::new(Arc::clone(&index), &options, &or)?);
    let fit = on_device.fit();
    let bench = Bench {
        args,
        threads,
        index,
        on_device,
        and,
        or,
        search: SearchOptions::default().k(args.k),
    };
    let mut report = Report::default();
    let _ = writeln!(
        report.text,
        "{}: {} of {} lists, {} of {} postings in {:.1} GB, copied in {:.1} s",
        Build::Cuda.device(args.device)?.name,
        fit.fitting_lists,
        fit.lists,
        fit.fitting_postings,
        fit.postings,
        fit.bytes as f64 / 1e9,
        started.elapsed().as_secs_f64()
    );
    report.json.insert("lists".into(), fit.fitting_lists.into());
    report.json.insert("bytes".into(), fit.bytes.into());
    let has = |part| args.part.contains(&part);
    if has(Part::Batches) {
        bench.batches(&mut report)?;
    }
    if has(Part::Variation) {
        let of_sizes = bench.variation(&mut report)?;
        if let Some(folder) = &args.svg {
            svg::batch_times(&of_sizes, folder)?;
        }
    }
    if has(Part::Router) || has(Part::Load) || has(Part::Served) {
        let mixed = bench.mixed();
        let few: Vec<&Query> = mixed.iter().take(routing::MOST_QUERIES).collect();
        let measured = routing::measure(&bench.on_device, &few, &bench.search)?;
        let routed = routing::fit(&measured, bench.threads as u64);
        if has(Part::Router) {
            report.add(
                "router",
                "the processor that answers a query sooner",
                &routed.text,
                routed.json.clone(),
            );
            if let Some(folder) = &args.svg {
                svg::router(&measured, routed.router.as_ref(), folder)?;
            }
        }
        if has(Part::Served) {
            let queries = mixed.clone();
            bench.served(queries, routed.router, &mut report)?;
        }
        if has(Part::Load) {
            let at_loads = bench.ramp(mixed, routed.router, &mut report)?;
            if let Some(folder) = &args.svg {
                svg::loads(&at_loads, folder)?;
            }
        }
    }
    match args.json {
        true => print(format!("{}\n", json!(report.json)).as_bytes()),
        false => print(report.text.as_bytes()),
    }
}

impl Bench<'_> {
    /// Queries of both kinds in turn.
    fn mixed(&self) -> Vec<Query> {
        let both = self.and.iter().zip(&self.or).enumerate();
        both.map(|(number, (and, or))| if number % 2 == 0 { and } else { or }.clone())
            .collect()
    }
}
