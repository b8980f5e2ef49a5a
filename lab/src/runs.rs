//! The benchmark runs on a GPU, and their results.

use serde_json::Value;
use tokapi::Error;
use tokapi_cli::size;

/// Runs that weigh a collection on a GPU.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub struct WeighRuns {
    /// The methods to run on the GPU
    #[arg(long, value_name = "METHOD", value_delimiter = ',', default_value = "hash,ppd,pp", value_parser = ["hash", "ppd", "pp", "mars"])]
    pub method: Vec<String>,

    /// The sizes of the GPU's chunks; all of several are tried
    #[arg(long, value_name = "SIZE", value_parser = size::parse, value_delimiter = ',', default_value = "64MiB")]
    pub chunk_size: Vec<u64>,

    /// How often each is run
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: u32,

    /// Compare every weight of the GPU with that of the CPU, bit by bit
    #[arg(long)]
    pub verify: bool,

    /// The number of the GPU
    #[arg(long, default_value_t = 0)]
    pub device: u32,
}

/// The result of weighing on a GPU.
pub struct WeighTimes {
    pub name: String,
    pub seconds: f64,
    pub bytes_moved: f64,
    pub stages: String,
    pub json: Value,
}

/// The speed of copies to the GPU and back.
pub struct Link {
    pub both: f64,
    pub text: String,
    pub json: Value,
}

/// Runs of all methods of the literature.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub struct MethodRuns {
    /// The size of the GPU's chunks
    #[arg(long, value_name = "SIZE", value_parser = size::parse, default_value = "64MiB")]
    pub chunk_size: u64,

    /// How often each is run
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: u32,

    /// The number of the GPU
    #[arg(long, default_value_t = 0)]
    pub device: u32,
}

/// The time of a method.
pub struct MethodTimes {
    pub name: &'static str,
    pub seconds: f64,
    /// Milliseconds of every stage, one after the other.
    pub stages: Vec<(&'static str, f64)>,
}

/// The method of data-parallel primitives, without and with a dictionary.
pub const PP: &str = "pp";
pub const PPD: &str = "ppd";

/// Runs that sort records on a GPU.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub struct SortRuns {
    /// The number of records: 100000000, 1e9 or 2^28
    #[arg(long, value_name = "N", value_parser = count, default_value = "1e8")]
    pub count: usize,

    /// The type of a key
    #[arg(long = "type", value_name = "TYPE", default_value = "u32")]
    pub key: Key,

    /// Sort pairs: each key has a value of the same type
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

    /// The number of the GPU
    #[arg(long, default_value_t = 0)]
    pub device: u32,
}

/// The type of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Key {
    U32,
    U64,
}

/// An algorithm of sorting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Algorithm {
    /// Radix sort, eight bits a pass
    Radix,
    /// Merge sort
    Merge,
    /// Batcher's bitonic network
    Bitonic,
}

/// The times of one algorithm of sorting.
pub struct AlgorithmTimes {
    pub name: String,
    pub seconds: f64,
    /// Milliseconds of every stage, one after the other.
    pub stages_ms: Vec<(&'static str, f64)>,
}

/// The fastest of several runs.
pub fn fastest<T>(
    repeat: u32,
    mut run: impl FnMut() -> Result<(f64, T), Error>,
) -> Result<(f64, T), Error> {
    let mut best = run()?;
    for _ in 1..repeat {
        let next = run()?;
        if next.0 < best.0 {
            best = next;
        }
    }
    Ok(best)
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
        for (text, number) in [
            ("0", 0),
            ("1000003", 1_000_003),
            ("1e9", 1_000_000_000),
            ("25e7", 250_000_000),
            ("2^28", 1 << 28),
        ] {
            assert_eq!(count(text), Ok(number));
        }
        for wrong in ["", "x", "1e", "e9", "1e30", "2^64", "-1", "1.5e9"] {
            assert!(count(wrong).is_err(), "{wrong}");
        }
    }
}
