//! An index on a GPU.

use std::sync::Arc;

use tokapi::{Error, Result};
use tokapi_device::cooperate::Accelerator;

use crate::options::{EngineName, Options};
use crate::served::Catalog;

/// Lanes of a GPU: with 8, queries a second were two to four times those of one (`benches/gpu/queries.txt`).
pub const LANES: usize = 8;

/// Checks that a GPU can be used.
///
/// # Errors
/// None can.
#[cfg(not(feature = "cuda"))]
pub fn check() -> Result<()> {
    Err(Error::NoDevice(
        "this build has no engine for GPUs: build it with --features cuda, or use the CPU".into(),
    ))
}

/// Checks that a GPU can be used.
///
/// # Errors
/// None can.
#[cfg(feature = "cuda")]
pub fn check() -> Result<()> {
    tokapi_kernels::Build::Cuda.count()?;
    Ok(())
}

/// The largest index on a GPU, if the options ask for one; none with the engine `auto` if none can be used.
///
/// # Errors
/// The engine `gpu` is asked for, and no GPU can be used.
pub fn accelerator(options: &Options, catalog: &Catalog) -> Result<Option<Arc<dyn Accelerator>>> {
    let made = match options.engine {
        EngineName::Cpu => return Ok(None),
        _ => check().and_then(|()| largest_on_gpu(options.device, catalog)),
    };
    match (options.engine, made) {
        (EngineName::Auto, Err(Error::NoDevice(why) | Error::Device(why) | Error::Limit(why))) => {
            tracing::info!("the CPU answers all searches: {why}");
            Ok(None)
        }
        (_, made) => made,
    }
}

#[cfg(not(feature = "cuda"))]
fn largest_on_gpu(_: u32, _: &Catalog) -> Result<Option<Arc<dyn Accelerator>>> {
    Ok(None)
}

#[cfg(feature = "cuda")]
fn largest_on_gpu(device: u32, catalog: &Catalog) -> Result<Option<Arc<dyn Accelerator>>> {
    use tokapi_device::gpu::{GpuIndex, GpuIndexOptions};
    use tokapi_kernels::Build;

    let snapshots = catalog.snapshots();
    let largest = snapshots
        .iter()
        .max_by_key(|snapshot| snapshot.info().postings);
    let Some(snapshot) = largest else {
        return Ok(None);
    };
    let mut on_gpu = GpuIndexOptions::new(Build::Cuda);
    on_gpu.device = device;
    let index = GpuIndex::new(Arc::clone(snapshot.index()), &on_gpu, &[])?;
    let fit = index.fit();
    tracing::info!(
        index = snapshot.name(),
        lists = fit.fitting_lists,
        of = fit.lists,
        "lists are on the GPU"
    );
    Ok(Some(Arc::new(Arc::new(index))))
}
