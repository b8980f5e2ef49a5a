//! Indexes on a GPU, kept there in the states that are served.

#[cfg_attr(feature = "kernels", path = "device.rs")]
#[cfg_attr(not(feature = "kernels"), path = "none.rs")]
mod device;
mod settings;

use std::path::PathBuf;

use tokapi::{Error, Result};

pub use device::{Gpu, Keeping};
pub use settings::{EngineName, GpuSettings};

/// An index on a GPU.
#[derive(Debug, Clone)]
pub struct IndexOnGpu {
    /// Its folder.
    pub path: PathBuf,
    /// Its state there.
    pub epoch: u64,
    /// The postings there; those of lists that did not fit are missing.
    pub postings: u64,
    /// The device memory of its lists.
    pub bytes: u64,
}

/// What has been brought to a GPU so far.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Brought {
    /// Indexes all of whose lists were read.
    pub loads: u64,
    /// Indexes of which only new parts were read.
    pub renewals: u64,
    /// The time of both.
    pub seconds: f64,
}

/// The GPU of a number, whose lists `threads` threads read; none with the engine `auto` if none can be used.
///
/// # Errors
/// The engine `gpu` is asked for, and no GPU can be used.
pub fn open(
    engine: EngineName,
    device: u32,
    threads: usize,
    settings: &GpuSettings,
) -> Result<Option<Gpu>> {
    let opened = match engine {
        EngineName::Cpu => return Ok(None),
        _ => Gpu::open(device, threads, settings),
    };
    match (engine, opened) {
        (EngineName::Auto, Err(Error::NoDevice(why) | Error::Device(why) | Error::Limit(why))) => {
            tracing::info!("the CPU answers all searches: {why}");
            Ok(None)
        }
        (_, opened) => opened.map(Some),
    }
}

/// The error of a build without the engine for GPUs.
#[cfg(not(feature = "cuda"))]
fn without_engine() -> Error {
    Error::NoDevice(
        "this build has no engine for GPUs: build it with --features cuda, or use the CPU".into(),
    )
}
