//! `tokapi bench`: the benchmarks of the documents.

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
mod search;
mod sort;
mod weigh;

use tokapi::Error;

/// Measure this machine
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokapi bench weigh --size 100MB --size 500MB
  tokapi bench weigh --size 4GB --method hash --json
  tokapi bench mapreduce --size 100MB
  tokapi bench methods --svg plots
  tokapi bench sort --count 1e9 --type u32 --algorithm radix")]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    Mapreduce(mapreduce::Args),
    Methods(methods::Args),
    Queries(queries::Args),
    Search(search::Args),
    Sort(sort::Args),
    Weigh(weigh::Args),
}

pub fn run(args: Args, threads: usize) -> Result<(), Error> {
    match args.what {
        What::Mapreduce(args) => mapreduce::run(&args, threads),
        What::Methods(args) => methods::run(&args, threads),
        What::Queries(args) => queries::run(&args, threads),
        What::Search(args) => search::run(&args, threads),
        What::Sort(args) => sort::run(&args),
        What::Weigh(args) => weigh::run(&args, threads),
    }
}
