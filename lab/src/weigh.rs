//! The benchmark `weigh`: from text in memory to weights in memory, on the CPU and on a GPU.
//!
//! The text is a generated collection, held in one piece. The clock starts with the text and the
//! positions of its documents in (pinned) host memory, and stops when all postings with their
//! weights are in (pinned) host memory. Transfers are included; on the CPU, so is finding the
//! documents. The fastest run counts: on the GPU after a warm-up run, which also allocates memory;
//! on the CPU of three runs.

use std::time::Instant;

use serde_json::{Value, json};
use tokapi::Weights;
use tokapi::{Analyzer, Cut};
use tokapi::{Bm25, BuildOptions, Collection, Error};

use super::collection::Generated;
use super::gpu;
use super::runs::{WeighRuns, fastest};
use tokapi_cli::size;
use tokapi_cli::summary::{grouped, note, print};
use tokapi_cli::table::Table;

/// Weigh generated collections in memory, on the CPU and on the GPU
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The size of a collection; may be given several times
    #[arg(long, value_name = "SIZE", value_parser = size::parse, default_values = ["100MB", "500MB"])]
    size: Vec<u64>,

    #[command(flatten)]
    runs: WeighRuns,

    /// Do not run the CPU
    #[arg(long, conflicts_with = "verify")]
    no_cpu: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, threads: usize) -> Result<(), Error> {
    let mut results = Vec::new();
    let mut text = String::new();
    let link = gpu::link(args.runs.device);
    match &link {
        Ok(link) => text += &link.text,
        Err(why) => note(&format!("no GPU: {why}\n")),
    }
    for &bytes in &args.size {
        let generated = Generated::new(bytes, threads)?;
        let size = generated.text.len() as f64 / 1e9;
        let cpu = (!args.no_cpu)
            .then(|| on_cpu(args.runs.repeat.min(3), threads, &generated))
            .transpose()?;
        let mut table = Table::new(&["", "ms", "GB/s", "times the CPU", "of the link"]);
        let mut row = |name: &str, seconds: f64, share: Option<f64>| {
            let times = cpu
                .as_ref()
                .map_or(String::new(), |(cpu, _)| format!("{:.1}", cpu / seconds));
            table.push(vec![
                name.to_owned(),
                format!("{:.2}", seconds * 1e3),
                format!("{:.2}", size / seconds),
                times,
                share.map_or(String::new(), |share| format!("{:.0}%", share * 100.0)),
            ]);
        };
        if let Some((seconds, _)) = &cpu {
            row("cpu", *seconds, None);
            results
                .push(json!({"bytes": generated.text.len(), "engine": "cpu", "seconds": seconds}));
        }
        let mut stages = String::new();
        if let Ok(link) = &link {
            let weights = cpu.as_ref().map(|(_, weights)| weights);
            for result in gpu::measure(&args.runs, &generated, weights)? {
                row(
                    &result.name,
                    result.seconds,
                    Some(result.bytes_moved / 1e9 / result.seconds / link.both),
                );
                if !result.stages.is_empty() {
                    stages += &format!("{}: {}\n", result.name, result.stages);
                }
                results.push(result.json);
            }
        }
        text += &format!(
            "\n{} bytes, {} documents{}\n{}{stages}",
            grouped(generated.text.len() as u64),
            grouped(generated.starts.len() as u64),
            cpu.as_ref().map_or(String::new(), |(_, weights)| format!(
                ", {} tokens, {} terms, {} postings",
                grouped(weights.statistics.total_length),
                grouped(weights.lexicon.terms.len() as u64),
                grouped(weights.len() as u64)
            )),
            table.text()
        );
    }
    if args.json {
        let link: Value = link.map_or(Value::Null, |link| link.json);
        text = json!({"link": link, "results": results}).to_string() + "\n";
    }
    print(text.as_bytes())
}

/// The engine on the CPU, from text in memory to weights in memory.
pub fn on_cpu(repeat: u32, threads: usize, generated: &Generated) -> Result<(f64, Weights), Error> {
    let options = BuildOptions::default().threads(threads);
    let analyzer = Analyzer::from(Cut::Plain);
    fastest(repeat, || {
        let corpus = generated.corpus();
        let started = Instant::now();
        let weights = Collection::build(corpus, &options.clone().analyzer(&analyzer))?
            .weigh(&Bm25::default())?;
        Ok((started.elapsed().as_secs_f64(), weights))
    })
}
