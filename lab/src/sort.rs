//! The benchmark `sort`: sorts random integers in memory.
//!
//! The clock starts with keys in (pinned) host memory and stops with sorted keys in the same
//! memory. Transfers are included. The fastest run counts, after a warm-up run, which also
//! allocates memory. The result of every run is checked: it ascends, equal keys keep their order,
//! and no record is lost.

use serde_json::{Value, json};
use tokapi::Error;

use super::gpu;
use super::runs::{AlgorithmTimes, Key, SortRuns};
use tokapi_cli::summary::{grouped, print};
use tokapi_cli::table::Table;

/// Sort random integers in memory, on the GPU
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    runs: SortRuns,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<(), Error> {
    let measured = gpu::sort(&args.runs)?;
    let (key, bytes) = match args.runs.key {
        Key::U32 => ("u32", 4),
        Key::U64 => ("u64", 8),
    };
    let record_bytes = if args.runs.pairs { 2 * bytes } else { bytes };
    let text = match args.json {
        true => to_json(args, key, record_bytes, &measured),
        false => to_text(args, key, record_bytes, &measured),
    };
    print(text.as_bytes())
}

fn to_text(args: &Args, key: &str, record_bytes: usize, measured: &[AlgorithmTimes]) -> String {
    let mut table = Table::new(&["", "ms", "G keys/s", "GB/s"]);
    let mut stages = String::new();
    for result in measured {
        let rate = args.runs.count as f64 / 1e9 / result.seconds;
        table.push(vec![
            result.name.clone(),
            format!("{:.2}", result.seconds * 1e3),
            format!("{rate:.2}"),
            format!("{:.2}", rate * record_bytes as f64),
        ]);
        let total: f64 = result.stages_ms.iter().map(|(_, ms)| ms).sum();
        let each = result.stages_ms.iter();
        let each: Vec<String> = each.map(|(name, ms)| format!("{name} {ms:.2}")).collect();
        stages += &format!(
            "{}: {total:.2} ms one after the other: {}\n",
            result.name,
            each.join(", ")
        );
    }
    format!(
        "{} {key} {}, {} bytes, random; checked\n{}{stages}",
        grouped(args.runs.count as u64),
        if args.runs.pairs { "pairs" } else { "keys" },
        grouped((args.runs.count * record_bytes) as u64),
        table.text()
    )
}

fn to_json(args: &Args, key: &str, record_bytes: usize, measured: &[AlgorithmTimes]) -> String {
    let results = measured.iter().map(|result| {
        let stages = result.stages_ms.iter();
        let stages: Value = stages
            .map(|&(name, ms)| (name.to_owned(), json!(ms)))
            .collect();
        json!({"engine": result.name, "seconds": result.seconds, "stages_ms": stages})
    });
    let results: Vec<Value> = results.collect();
    let object = json!({
        "count": args.runs.count, "type": key, "pairs": args.runs.pairs, "record_bytes": record_bytes,
        "checked": true, "results": results,
    });
    object.to_string() + "\n"
}
