//! `tokapi bench queries`: queries by CPU and GPU.

mod batches;
mod draw;

use std::path::PathBuf;
use std::sync::Arc;

use tokapi::{Error, Index};

/// Time batches of queries on the CPU and on a GPU
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokapi bench queries index --batch 4096 --batch 16384")]
pub struct Args {
    /// The folder of the index
    index: PathBuf,

    /// How many queries to draw
    #[arg(long, default_value_t = 65536)]
    count: usize,

    /// The least and the most terms of a query
    #[arg(long, num_args = 2, default_values_t = [2, 4])]
    terms: Vec<usize>,

    /// Terms of a larger share of the documents are not drawn
    #[arg(long, default_value_t = 0.1)]
    largest_share: f64,

    /// Other seeds draw other queries
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Queries in a batch
    #[arg(long, default_values_t = [4096])]
    batch: Vec<usize>,

    /// Batches under way at a time
    #[arg(long, default_value_t = 3)]
    lanes: usize,

    /// How often each is measured; the fastest counts
    #[arg(long, default_value_t = 3)]
    repeat: usize,

    /// The GPU, counted from 0
    #[arg(long, default_value_t = 0)]
    device: u32,
}

pub fn run(args: &Args, threads: usize) -> Result<(), Error> {
    let index = Arc::new(Index::open(&args.index)?);
    let queries = draw::queries(&index, args)?;
    batches::run(args, &index, &queries, threads)
}
