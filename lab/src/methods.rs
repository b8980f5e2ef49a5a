//! The benchmark `methods`: the methods of the literature side by side, from text in memory to weights in
//! memory: MapReduce on the CPU (MRP) and on a GPU (MRM), data-parallel primitives (pp), the same with a
//! dictionary (ppd), a hash table (hash), and this program's engine on the CPU.
//!
//! The fastest run counts. On a GPU, text and weights are in pinned memory and stages overlap. The times of stages come
//! from other runs, in which each stage waits for the one before.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tokapi::Error;

use super::collection::Generated;
use super::runs::{MethodRuns, MethodTimes, PP, PPD, fastest};
use super::{gpu, mapreduce, plot, weigh};
use tokapi_cli::size;
use tokapi_cli::summary::{grouped, note, print};
use tokapi_cli::table::Table;

/// Compare MapReduce, primitives, dictionary and hashing on generated collections
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The size of a collection; may be given several times
    #[arg(long, value_name = "SIZE", value_parser = size::parse, default_values = ["100MB", "200MB", "300MB", "400MB", "500MB"])]
    size: Vec<u64>,

    #[command(flatten)]
    runs: MethodRuns,

    /// A folder for drawings
    #[arg(long, value_name = "FOLDER")]
    svg: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Speedup of ppd over these methods in its publication, on a Tesla C2050 and its host.
const PUBLISHED: [(&str, f64); 2] = [(MRP, 5.1), (PP, 4.5)];

const MRP: &str = "MRP";

pub fn run(args: &Args, threads: usize) -> Result<(), Error> {
    let (mut text, mut results) = (String::new(), Vec::new());
    let mut points: Vec<(&str, (f64, f64))> = Vec::new();
    let mut largest = Vec::new();
    match gpu::link(args.runs.device) {
        Ok(link) => text += &link.text,
        Err(why) => note(&format!("no GPU: {why}\n")),
    }
    for &bytes in &args.size {
        let generated = Generated::new(bytes, threads)?;
        let measured = measure(args, &generated, threads)?;
        let bytes = generated.text.len();
        text += &format!("\n{} bytes, {threads} threads\n", grouped(bytes as u64));
        text += &table(&measured, bytes);
        text += &stages(&measured);
        text += &ratios(&measured);
        let size = bytes as f64 / 1e6;
        points.extend(
            measured
                .iter()
                .map(|method| (method.name, (size, method.seconds * 1e3))),
        );
        results.extend(measured.iter().map(|method| as_json(method, bytes)));
        largest = measured;
    }
    if let Some(folder) = &args.svg {
        draw(plot::curves(points.into_iter()), &largest, folder)?;
    }
    if args.json {
        text = json!({ "results": results }).to_string() + "\n";
    }
    print(text.as_bytes())
}

fn measure(args: &Args, generated: &Generated, threads: usize) -> Result<Vec<MethodTimes>, Error> {
    let mut all = Vec::new();
    let (seconds, (report, _)) = fastest(args.runs.repeat.min(3), || {
        let (seconds, report, parts) = mapreduce::weigh_by_job(generated, threads)?;
        Ok((seconds, (report, parts)))
    })?;
    let ms = |duration: std::time::Duration| duration.as_secs_f64() * 1e3;
    all.push(MethodTimes {
        name: MRP,
        seconds,
        stages: vec![("map", ms(report.map)), ("reduce", ms(report.reduce))],
    });
    let (seconds, weights) = weigh::on_cpu(args.runs.repeat.min(3), threads, generated)?;
    match gpu::methods(&args.runs, generated, &weights) {
        Ok(methods) => all.extend(methods),
        // The reason has been printed already.
        Err(Error::NoDevice(why)) if gpu::link(args.runs.device).is_err() => log::info!("{why}"),
        Err(other) => return Err(other),
    }
    all.push(MethodTimes {
        name: "cpu engine",
        seconds,
        stages: Vec::new(),
    });
    Ok(all)
}

fn table(measured: &[MethodTimes], bytes: usize) -> String {
    let mut table = Table::new(&["method", "ms", "GB/s", "times as fast as MRP"]);
    for method in measured {
        table.push(vec![
            method.name.to_owned(),
            format!("{:.2}", method.seconds * 1e3),
            format!("{:.2}", bytes as f64 / 1e9 / method.seconds),
            format!("{:.1}", measured[0].seconds / method.seconds),
        ]);
    }
    table.text()
}

/// The stages of every method, one after the other.
fn stages(measured: &[MethodTimes]) -> String {
    let methods = || measured.iter().filter(|method| !method.stages.is_empty());
    let mut names: Vec<&str> = Vec::new();
    for &(stage, ms) in methods().flat_map(|method| &method.stages) {
        if ms > 0.0 && !names.contains(&stage) {
            names.push(stage);
        }
    }
    let mut columns = vec!["stage, ms"];
    columns.extend(methods().map(|method| method.name));
    let mut table = Table::new(&columns);
    for name in names {
        let of = |method: &MethodTimes| {
            let stage = method.stages.iter().find(|&&(stage, _)| stage == name);
            stage.map_or(String::new(), |(_, ms)| format!("{ms:.2}"))
        };
        table.push(
            std::iter::once(name.to_owned())
                .chain(methods().map(of))
                .collect(),
        );
    }
    table.text()
}

/// The time of every method by size, and the share of each stage.
fn draw(
    curves: Vec<(String, Vec<(f64, f64)>)>,
    largest: &[MethodTimes],
    folder: &Path,
) -> Result<(), Error> {
    let bars: Vec<(&str, Vec<(&str, f64)>)> = largest
        .iter()
        .filter(|method| !method.stages.is_empty())
        .map(|method| (method.name, method.stages.clone()))
        .collect();
    plot::write(folder, "methods.svg", |root| {
        let panels = root.split_evenly((1, 2));
        let title = "text in memory to weights in memory";
        plot::lines(&panels[0], title, ["MB of text", "ms"], &curves)?;
        plot::shares(
            &panels[1],
            "stages of the largest, one after the other, %",
            &bars,
        )
    })
}

fn ratios(measured: &[MethodTimes]) -> String {
    let seconds = |name| {
        let mut found = measured.iter().filter(|method| method.name == name);
        found.next().map(|method| method.seconds)
    };
    let ratio = |(name, published)| {
        let times = seconds(name)? / seconds(PPD)?;
        Some(format!(
            "ppd is {times:.1} times as fast as {name}; published {published}\n"
        ))
    };
    PUBLISHED.into_iter().filter_map(ratio).collect()
}

fn as_json(method: &MethodTimes, bytes: usize) -> Value {
    let stages: serde_json::Map<String, Value> = method
        .stages
        .iter()
        .map(|&(stage, ms)| (stage.to_owned(), json!(ms)))
        .collect();
    json!({
        "bytes": bytes, "method": method.name, "seconds": method.seconds, "stages_ms": stages,
    })
}
