//! `tokapi sort`: sorts a file of numbers.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::ValueEnum;
use serde_json::json;
use tokapi::Error;
use tokapi::sort::{Cpu, KeyType, Layout, Sort, SortOptions, Sorted, sort_file};
use tokapi_sort::{Algorithm, Reference};
use tokapi_storage::apart::Paths;
use tokapi_storage::whole::Staged;

use crate::gpu;
use crate::progress::show_bytes;
use crate::size;
use crate::storage;
use crate::summary::{grouped, note, peak_memory_bytes, print};
use crate::tuned;

/// The options of sorting, of `tokapi sort` and `tokapi tune sort`.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub struct Args {
    /// The file to sort, or - for standard input
    #[arg(value_name = "INPUT")]
    pub input: PathBuf,

    /// The file to write; - is standard output
    ///
    /// It has the layout of the input, and appears under its name when it is whole.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,

    /// The type of the keys: u8, u16, u32, u64, i32, i64, f32 or f64 [default: the ending of the input's name]
    ///
    /// Floats are in the total order of IEEE 754: -0 before 0, NaNs beyond the infinities.
    #[arg(long = "type", value_name = "TYPE", value_parser = key_type)]
    key_type: Option<KeyType>,

    /// The layout of the file [default: text if its name ends in .txt or .tsv, otherwise binary]
    #[arg(long, value_enum)]
    layout: Option<LayoutName>,

    /// Sort pairs: a payload of the same width follows each key; equal keys keep their order
    #[arg(long)]
    pairs: bool,

    /// The engine that sorts
    #[arg(long, value_enum, default_value = "cpu", help_heading = "Engine")]
    engine: EngineName,

    /// The algorithm of a GPU
    #[arg(long, value_enum, default_value = "radix", help_heading = "Engine")]
    algorithm: AlgorithmName,

    #[command(flatten)]
    gpu: gpu::Args,

    #[command(flatten)]
    room: storage::Room,
}

/// Sort a file of numbers, larger than memory or not
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokapi sort keys.u32 -o sorted.u32
  tokapi sort measurements.f64 -o sorted.f64 --memory 2GB --scratch /disk1 --scratch /disk2
  tokapi sort pairs.bin --type u64 --pairs -o sorted.bin
  tokapi sort numbers.txt --type i64 -o sorted.txt")]
pub struct Verb {
    #[command(flatten)]
    args: Args,

    /// The size of the chunks that are sorted if not all fits into memory [default: as much as fits]
    #[arg(
        long,
        value_name = "SIZE",
        value_parser = size::parse,
        help_heading = "Memory and scratch"
    )]
    chunk_size: Option<u64>,

    #[command(flatten)]
    course: storage::Course,

    /// Print the summary as one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
enum LayoutName {
    /// Little-endian numbers, one after the other
    Binary,
    /// A number on each line; with --pairs a key, a tab and a payload
    Text,
}

#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
enum EngineName {
    /// All cores of the CPU
    Cpu,
    /// A GPU; an error if none can be used
    Gpu,
    /// The definition, slow and plain: for comparison
    Reference,
}

#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
enum AlgorithmName {
    /// Radix sort
    Radix,
    /// Merge sort
    Merge,
    /// Bitonic sort
    Bitonic,
}

fn key_type(name: &str) -> Result<KeyType, String> {
    let found = KeyType::ALL.into_iter().find(|known| known.name() == name);
    found.ok_or_else(|| "the types are u8, u16, u32, u64, i32, i64, f32 and f64".into())
}

pub fn run(verb: &Verb, threads: usize) -> Result<(), Error> {
    let started = Instant::now();
    let args = &verb.args;
    let mut options = verb.options()?;
    if options.chunk_bytes.is_none() {
        options.tuned = tuned::load_sort(&args.engine_name(&options));
    }
    let mut paths = Paths::default();
    paths.read(&args.input);
    paths.write(&args.output);
    paths.check()?;
    Staged::check(&args.output)?;
    let engine = args.engine()?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| Error::Limit(format!("cannot start threads: {error}")))?;
    let total = std::fs::metadata(&args.input)
        .ok()
        .filter(|metadata| metadata.is_file())
        .map(|metadata| metadata.len());
    let sorted = show_bytes(&options.progress, || {
        pool.install(|| sort_file(&args.input, &args.output, &options, &*engine))
    })
    .map_err(storage::suggest_resuming)
    .map_err(suggest_type)?;
    let summary = Summary {
        sorted,
        bytes: total,
        seconds: started.elapsed().as_secs_f64(),
    };
    let to_stdout = args.output == Path::new("-");
    match (verb.json, to_stdout) {
        (true, false) => print((summary.json() + "\n").as_bytes())?,
        (true, true) => note(&(summary.json() + "\n")),
        (false, _) => note(&summary.text()),
    }
    Ok(())
}

fn suggest_type(error: Error) -> Error {
    match error {
        Error::Input { place, what } if what.ends_with("name the type") => Error::Input {
            place,
            what: what + " (--type)",
        },
        other => other,
    }
}

struct Summary {
    sorted: Sorted,
    bytes: Option<u64>,
    seconds: f64,
}

impl Summary {
    fn json(&self) -> String {
        json!({
            "records": self.sorted.records,
            "bytes": self.bytes,
            "runs": self.sorted.runs,
            "chunk_bytes": self.sorted.chunk_bytes,
            "seconds": self.seconds,
            "records_per_second": self.sorted.records as f64 / self.seconds,
            "peak_memory_bytes": peak_memory_bytes(),
        })
        .to_string()
    }

    fn text(&self) -> String {
        let mut text = format!(
            "records         {:>15}\nruns            {:>15}\nseconds         {:>15.3}\nM records/s     {:>15.1}\n",
            grouped(self.sorted.records),
            grouped(self.sorted.runs as u64),
            self.seconds,
            self.sorted.records as f64 / 1e6 / self.seconds
        );
        if let Some(bytes) = peak_memory_bytes() {
            text += &format!("peak memory     {:>12.0} MB\n", bytes as f64 / 1e6);
        }
        text
    }
}

impl Verb {
    fn options(&self) -> Result<SortOptions, Error> {
        let (course, mut options) = (&self.course, self.args.options()?);
        if course.spill {
            options.memory = options.memory.holding(0);
        }
        options.scratch.resume = course.resume;
        let chunk_bytes = self
            .chunk_size
            .map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        Ok(options
            .chunk_bytes(chunk_bytes)
            .spill(course.spill)
            .no_overlap(course.no_overlap))
    }
}

pub type Engines = Box<dyn Fn() -> Result<Box<dyn Sort>, Error> + Sync>;

impl Args {
    /// The algorithm of a GPU.
    pub fn algorithm(&self) -> Algorithm {
        match self.algorithm {
            AlgorithmName::Radix => Algorithm::Radix,
            AlgorithmName::Merge => Algorithm::Merge,
            AlgorithmName::Bitonic => Algorithm::Bitonic,
        }
    }

    /// The engine, its algorithm and the type, in words.
    pub fn engine_name(&self, options: &SortOptions) -> String {
        let engine = match self.engine {
            EngineName::Cpu => "cpu",
            EngineName::Gpu => "gpu",
            EngineName::Reference => "reference",
        };
        let pairs = if options.pairs { " pairs" } else { "" };
        let (algorithm, key) = (self.algorithm().name(), options.key_type.name());
        format!("{engine} {algorithm} {key}{pairs}")
    }

    pub fn options(&self) -> Result<SortOptions, Error> {
        let extension = self.input.extension().unwrap_or_default().to_string_lossy();
        let key_type = self.key_type.or_else(|| key_type(&extension).ok());
        let key_type = key_type.ok_or_else(|| {
            Error::Usage(format!(
                "{}: the ending names no type of numbers: add --type u32 (or u8, u16, u64, i32, i64, f32, f64)",
                self.input.display()
            ))
        })?;
        let layout = match self.layout {
            Some(LayoutName::Text) => Layout::Text,
            Some(LayoutName::Binary) => Layout::Binary,
            None if ["txt", "tsv"].contains(&&*extension) => Layout::Text,
            None => Layout::Binary,
        };
        if self.algorithm != AlgorithmName::Radix && self.engine != EngineName::Gpu {
            return Err(Error::Usage(
                "--algorithm is for a GPU: add --engine gpu".into(),
            ));
        }
        Ok(SortOptions::new(key_type, self.room.memory()?)
            .pairs(self.pairs)
            .layout(layout)
            .scratch(self.room.scratch()))
    }

    pub fn engine(&self) -> Result<Engines, Error> {
        Ok(match self.engine {
            EngineName::Cpu => Box::new(|| Ok(Box::new(Cpu::new()))),
            EngineName::Reference => Box::new(|| Ok(Box::new(Reference))),
            EngineName::Gpu => self.gpu()?,
        })
    }

    #[cfg(not(feature = "cuda"))]
    fn gpu(&self) -> Result<Engines, Error> {
        let _ = self.gpu.device;
        Err(crate::engine::without_cuda())
    }

    #[cfg(feature = "cuda")]
    fn gpu(&self) -> Result<Engines, Error> {
        let algorithm = self.algorithm();
        let gpu = tokapi_sort::Gpu::new(tokapi_kernels::Build::Cuda, self.gpu.device, algorithm)?;
        Ok(Box::new(move || Ok(Box::new(gpu.clone()))))
    }
}
