//! `tokapi bench sort`: random integers in memory are sorted, in place.
//!
//! The clock runs from keys in (pinned) host memory to sorted keys in the same memory, transfers
//! included. The fastest of all turns counts, after one to warm up, which also allocates. What
//! comes out of every turn is checked: ascending, equal keys in the order they had, and all that
//! went in.

use serde_json::{Value, json};
use tokapi::Error;

use super::gpu;
use tokapi_cli::summary::{grouped, print};
use tokapi_cli::table::Table;

/// Sort random integers in memory, on the GPU
#[derive(Debug, clap::Args)]
pub struct Args {
    /// How many records: 100000000, 1e9 or 2^28
    #[arg(long, value_name = "N", value_parser = count, default_value = "1e8")]
    pub count: usize,

    /// The type of a key
    #[arg(long = "type", value_name = "TYPE", default_value = "u32")]
    pub key: Key,

    /// Give every key a value of its type, which follows it
    #[arg(long)]
    pub pairs: bool,

    /// The algorithms
    #[arg(
        long,
        value_name = "ALGORITHM",
        value_delimiter = ',',
        default_value = "radix,merge,bitonic"
    )]
    pub algorithm: Vec<Algorithm>,

    /// How often each is run
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: u32,

    /// The device, counted from 0
    #[arg(long, default_value_t = 0)]
    pub device: u32,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The type of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Key {
    U32,
    U64,
}

/// How records are sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Algorithm {
    /// By radix, eight bits a pass
    Radix,
    /// By comparing and merging
    Merge,
    /// By Batcher's bitonic network
    Bitonic,
}

/// One algorithm's figures.
pub struct Measured {
    pub name: String,
    pub seconds: f64,
    /// Milliseconds of every stage, one after the other.
    pub stages_ms: Vec<(&'static str, f64)>,
}

pub fn run(args: &Args) -> Result<(), Error> {
    let measured = gpu::sort(args)?;
    let (key, bytes) = match args.key {
        Key::U32 => ("u32", 4),
        Key::U64 => ("u64", 8),
    };
    let record_bytes = if args.pairs { 2 * bytes } else { bytes };
    let text = match args.json {
        true => to_json(args, key, record_bytes, &measured),
        false => to_text(args, key, record_bytes, &measured),
    };
    print(text.as_bytes())
}

fn to_text(args: &Args, key: &str, record_bytes: usize, measured: &[Measured]) -> String {
    let mut table = Table::new(&["", "ms", "G keys/s", "GB/s"]);
    let mut stages = String::new();
    for result in measured {
        let rate = args.count as f64 / 1e9 / result.seconds;
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
        grouped(args.count as u64),
        if args.pairs { "pairs" } else { "keys" },
        grouped((args.count * record_bytes) as u64),
        table.text()
    )
}

fn to_json(args: &Args, key: &str, record_bytes: usize, measured: &[Measured]) -> String {
    let results = measured.iter().map(|result| {
        let stages = result.stages_ms.iter();
        let stages: Value = stages
            .map(|&(name, ms)| (name.to_owned(), json!(ms)))
            .collect();
        json!({"engine": result.name, "seconds": result.seconds, "stages_ms": stages})
    });
    let results: Vec<Value> = results.collect();
    let object = json!({
        "count": args.count, "type": key, "pairs": args.pairs, "record_bytes": record_bytes,
        "checked": true, "results": results,
    });
    object.to_string() + "\n"
}

/// Parses `1000`, `1e9`, `2^28`.
fn count(text: &str) -> Result<usize, String> {
    let power = |base: &str, exponent: &str, of: Option<u64>| -> Option<u64> {
        let base: u64 = base.parse().ok()?;
        let exponent: u32 = exponent.parse().ok()?;
        match of {
            Some(ten) => base.checked_mul(ten.checked_pow(exponent)?),
            None => base.checked_pow(exponent),
        }
    };
    let number = if let Some((base, exponent)) = text.split_once('e') {
        power(base, exponent, Some(10))
    } else if let Some((base, exponent)) = text.split_once('^') {
        power(base, exponent, None)
    } else {
        text.parse().ok()
    };
    number
        .and_then(|number| usize::try_from(number).ok())
        .ok_or_else(|| format!("`{text}` is not a count; write 1000000, 1e9 or 2^28"))
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn counts() {
        assert_eq!(count("0"), Ok(0));
        assert_eq!(count("1000003"), Ok(1_000_003));
        assert_eq!(count("1e9"), Ok(1_000_000_000));
        assert_eq!(count("25e7"), Ok(250_000_000));
        assert_eq!(count("2^28"), Ok(1 << 28));
        for wrong in ["", "x", "1e", "e9", "1e30", "2^64", "-1", "1.5e9"] {
            assert!(count(wrong).is_err(), "{wrong}");
        }
    }
}
