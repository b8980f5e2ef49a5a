//! The options that choose and set up the engine of `tokapi weigh` and others that read text.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ValueEnum;
use tokapi::{BuildOptions, Dictionary, Engine, Error};
#[cfg(not(feature = "cuda"))]
pub use tokapi_weigh::gpu::without_cuda;
use tokapi_weigh::gpu::{GpuOptions, Method};

use crate::gpu;
use crate::size;
use crate::summary::note;

/// The engine and its options.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub struct Args {
    /// The engine that turns text into postings
    #[arg(long, value_enum, default_value = "auto", help_heading = "Engine")]
    engine: EngineName,

    /// How a GPU numbers the terms
    #[arg(long, value_enum, default_value = "hash", help_heading = "Engine")]
    method: MethodName,

    /// The dictionary for --method ppd, made by `tokapi dictionary build`
    #[arg(long, value_name = "FILE", help_heading = "Engine")]
    dictionary: Option<PathBuf>,

    /// The treatment of terms that the dictionary does not have
    #[arg(long, value_enum, default_value = "exact", help_heading = "Engine")]
    unknown: UnknownName,

    #[command(flatten)]
    gpu: gpu::Args,

    /// The most memory to use on the GPU [default: all that is free]
    #[arg(long, value_name = "SIZE", value_parser = size::parse, help_heading = "Engine")]
    device_memory: Option<u64>,

    /// Compute some of the GPU's chunks on the CPU too, and compare
    #[arg(long, help_heading = "Engine")]
    verify: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
enum EngineName {
    /// A GPU for a large input if there is one, otherwise the CPU; if the GPU fails, the CPU takes over
    Auto,
    /// All cores of the CPU
    Cpu,
    /// A GPU; an error if none can be used
    Gpu,
    /// The definition, slow and plain: for comparison
    Reference,
}

#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
enum MethodName {
    /// By a hash table
    Hash,
    /// By sorting the occurrences as strings, with data-parallel primitives
    Pp,
    /// By sorting their numbers in a dictionary
    Ppd,
}

#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
enum UnknownName {
    /// As distinct terms, like all others
    Exact,
    /// All as one term, spelled ""
    One,
}

impl Args {
    /// The dictionary to read.
    pub fn dictionary(&self) -> Option<&Path> {
        self.dictionary.as_deref()
    }

    /// How to build a collection of `bytes`; 0 if the size is not known.
    pub fn options(&self, threads: usize, bytes: u64) -> Result<BuildOptions, Error> {
        let needs_ppd = match self {
            Args {
                dictionary: Some(_),
                ..
            } => Some("--dictionary"),
            Args {
                unknown: UnknownName::One,
                ..
            } => Some("--unknown one"),
            _ => None,
        };
        if let (Some(option), false) = (needs_ppd, self.method == MethodName::Ppd) {
            return Err(Error::Usage(format!("{option} needs --method ppd")));
        }
        if self.method == MethodName::Ppd && self.dictionary.is_none() {
            return Err(Error::Usage(
                "--method ppd needs --dictionary, from `tokapi dictionary build`".into(),
            ));
        }
        let on_gpu = matches!(self.engine, EngineName::Gpu | EngineName::Auto);
        if self.method != MethodName::Hash && !on_gpu {
            return Err(Error::Usage(
                "--method is for a GPU: add --engine gpu or auto".into(),
            ));
        }
        if self.unknown == UnknownName::One && (self.engine != EngineName::Gpu || self.verify) {
            return Err(Error::Usage(
                "--unknown one needs --engine gpu and no --verify: the other engines tell all terms apart"
                    .into(),
            ));
        }
        if self.verify && self.engine == EngineName::Cpu {
            return Err(Error::Usage(
                "--verify compares with the CPU: give another --engine than cpu".into(),
            ));
        }
        let engine = match self.engine {
            EngineName::Reference => Engine::Reference,
            EngineName::Cpu => Engine::Cpu,
            EngineName::Gpu => self.gpu()?,
            EngineName::Auto => self.best(bytes)?,
        };
        Ok(BuildOptions::default()
            .engine(engine)
            .threads(threads)
            .verify(self.verify)
            .or_cpu(self.engine == EngineName::Auto))
    }

    /// A GPU if that pays.
    fn best(&self, bytes: u64) -> Result<Engine, Error> {
        if bytes < GPU_PAYS_BYTES {
            log::info!("engine cpu: a GPU would take longer to start");
            return Ok(Engine::Cpu);
        }
        match self.gpu() {
            Err(Error::NoDevice(why) | Error::Device(why)) => {
                // No news if the program was built without its GPU engine.
                match cfg!(feature = "cuda") {
                    true => note(&format!("tokapi: the CPU does all the work: {why}\n")),
                    false => log::info!("engine cpu: {why}"),
                }
                Ok(Engine::Cpu)
            }
            engine => engine,
        }
    }
}

/// Below this size the time to start a GPU, some 0.4 s, is more than it saves: with 2 GB of text on
/// an H200 and 16 cores the engines are about even.
const GPU_PAYS_BYTES: u64 = 2_000_000_000;

impl Args {
    fn gpu(&self) -> Result<Engine, Error> {
        probe()?;
        let dictionary = self.dictionary.as_ref().map(Dictionary::open).transpose()?;
        let options = GpuOptions::default()
            .device(self.gpu.device)
            .method(match self.method {
                MethodName::Hash => Method::Hash,
                MethodName::Pp => Method::Pp,
                MethodName::Ppd => Method::Ppd,
            })
            .dictionary(dictionary.map(Arc::new))
            .unknown_one(self.unknown == UnknownName::One)
            .memory_bytes(self.device_memory);
        options.check()?;
        Ok(Engine::Gpu(options))
    }
}

/// Fails if there is no GPU.
fn probe() -> Result<(), Error> {
    #[cfg(feature = "cuda")]
    tokapi_kernels::Build::Cuda.count()?;
    #[cfg(not(feature = "cuda"))]
    Err(without_cuda())?;
    Ok(())
}
