//! The benchmarks of Tokapi: `cargo run --release -p tokapi-lab -- NAME`.

mod arrivals;
mod collection;
#[cfg(feature = "cuda")]
mod gpu;
#[cfg(not(feature = "cuda"))]
#[path = "no_gpu.rs"]
mod gpu;
mod mapreduce;
mod methods;
mod plot;
#[cfg(feature = "cuda")]
mod queries;
#[cfg(not(feature = "cuda"))]
#[path = "no_queries.rs"]
mod queries;
mod runs;
mod search;
mod serve;
mod sort;
mod weigh;

use std::process::ExitCode;

use clap::Parser;
use tokapi_cli::summary::note;

/// Benchmarks of Tokapi
#[derive(Debug, Parser)]
#[command(
    name = "tokapi-lab",
    version,
    after_help = "\
Examples:
  tokapi-lab weigh --size 100MB --size 500MB
  tokapi-lab weigh --size 4GB --method hash --json
  tokapi-lab mapreduce --size 100MB
  tokapi-lab methods --svg plots
  tokapi-lab sort --count 1e9 --type u32 --algorithm radix"
)]
struct Program {
    /// The number of threads [default: the number of cores]
    #[arg(long, global = true, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,

    #[command(subcommand)]
    benchmark: Benchmark,
}

#[derive(Debug, clap::Subcommand)]
enum Benchmark {
    Mapreduce(mapreduce::Args),
    Methods(methods::Args),
    Queries(queries::Args),
    Search(search::Args),
    Serve(serve::Args),
    Sort(sort::Args),
    Weigh(weigh::Args),
}

fn main() -> ExitCode {
    let program = Program::parse();
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = program.threads.map_or_else(cores, usize::from);
    let done = match program.benchmark {
        Benchmark::Mapreduce(args) => mapreduce::run(&args, threads),
        Benchmark::Methods(args) => methods::run(&args, threads),
        Benchmark::Queries(args) => queries::run(&args, threads),
        Benchmark::Search(args) => search::run(&args, threads),
        Benchmark::Serve(args) => serve::run(&args, threads),
        Benchmark::Sort(args) => sort::run(&args),
        Benchmark::Weigh(args) => weigh::run(&args, threads),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            note(&format!("tokapi-lab: {error}\n"));
            ExitCode::FAILURE
        }
    }
}
