//! `tokapi devices`: the GPUs, or the reason why none can be used.

use std::path::PathBuf;

use tokapi::Error;

/// List the GPUs, or the reason why none can be used
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokapi devices
  tokapi devices --bandwidth --json
  tokapi devices --index index")]
pub struct Args {
    /// Measure how fast data moves to each GPU and back
    #[arg(long)]
    bandwidth: bool,

    /// Report how many of the lists of this index fit on each GPU
    #[arg(long, value_name = "DIR")]
    index: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[cfg(not(feature = "cuda"))]
pub fn run(args: &Args) -> Result<(), Error> {
    let _ = (args.bandwidth, &args.index);
    report(args, &[], &crate::engine::without_cuda().to_string())
}

#[cfg(feature = "cuda")]
pub fn run(args: &Args) -> Result<(), Error> {
    use tokapi::Index;
    use tokapi_device::gpu::{GpuIndex, GpuIndexOptions};
    use tokapi_kernels::Build;

    let index = args.index.as_ref().map(Index::open).transpose()?;

    let devices = match Build::Cuda.devices() {
        Ok(devices) => devices,
        Err(why) => {
            let why = why.to_string();
            let why = why.strip_prefix("no GPU can be used: ").unwrap_or(&why);
            return report(args, &[], why);
        }
    };
    let mut found = Vec::new();
    for (number, device) in (0..).zip(devices) {
        let bandwidth = match args.bandwidth {
            true => Some(Build::Cuda.bandwidth(number, 1 << 29)?),
            false => None,
        };
        let fit = match &index {
            Some(index) => {
                let options = GpuIndexOptions {
                    device: number,
                    ..GpuIndexOptions::new(Build::Cuda)
                };
                Some(GpuIndex::fit_of(index, &options)?)
            }
            None => None,
        };
        found.push((device, bandwidth, fit));
    }
    report(args, &found, "there is none")
}

#[cfg(feature = "cuda")]
type Found = (
    tokapi_kernels::Device,
    Option<tokapi_kernels::Bandwidth>,
    Option<tokapi_device::gpu::Fit>,
);
#[cfg(not(feature = "cuda"))]
type Found = std::convert::Infallible;

#[cfg(not(feature = "cuda"))]
fn describe(found: &Found) -> (String, serde_json::Value) {
    match *found {}
}

#[cfg(feature = "cuda")]
fn describe((device, bandwidth, fit): &Found) -> (String, serde_json::Value) {
    let version = |(major, minor): (u32, u32)| format!("{major}.{minor}");
    let mut text = format!(
        "{}: {:.1} GB of memory, {:.1} free; compute capability {}, {} multiprocessors; driver for CUDA {}, \
         built with {}",
        device.name,
        device.memory_bytes as f64 / 1e9,
        device.free_bytes as f64 / 1e9,
        version(device.capability),
        device.multiprocessors,
        version(device.driver),
        version(device.runtime),
    );
    let mut json = serde_json::json!({
        "name": device.name,
        "memory_bytes": device.memory_bytes,
        "free_bytes": device.free_bytes,
        "capability": version(device.capability),
        "multiprocessors": device.multiprocessors,
        "driver_cuda": version(device.driver),
        "built_with_cuda": version(device.runtime),
    });
    if let Some(rate) = bandwidth {
        text += &format!(
            "; link {:.1} GB/s up, {:.1} down, {:.1} both ways at once",
            rate.up, rate.down, rate.both
        );
        json["up_gb_per_s"] = rate.up.into();
        json["down_gb_per_s"] = rate.down.into();
        json["both_gb_per_s"] = rate.both.into();
    }
    if let Some(fit) = fit {
        text += &format!(
            "; {} of {} lists of the index fit, {} of {} postings, in {:.1} of {:.1} GB for lists",
            fit.fitting_lists,
            fit.lists,
            fit.fitting_postings,
            fit.postings,
            fit.bytes as f64 / 1e9,
            fit.budget_bytes as f64 / 1e9
        );
        json["fit"] = serde_json::json!({
            "lists": fit.lists, "fitting_lists": fit.fitting_lists, "postings": fit.postings,
            "fitting_postings": fit.fitting_postings, "bytes": fit.bytes, "budget_bytes": fit.budget_bytes,
        });
    }
    (text, json)
}

fn report(args: &Args, found: &[Found], why_none: &str) -> Result<(), Error> {
    let (lines, values): (Vec<_>, Vec<_>) = found.iter().map(describe).unzip();
    let mut text: String = (0..)
        .zip(&lines)
        .map(|(number, line): (u32, _)| format!("{number}  {line}\n"))
        .collect();
    if found.is_empty() {
        text = format!("no GPU: {why_none}\n");
    }
    if args.json {
        let why = found.is_empty().then_some(why_none);
        text = serde_json::json!({"devices": values, "why_none": why}).to_string() + "\n";
    }
    crate::summary::print(text.as_bytes())
}
