//! A GPU, or in tests the host that stands for it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokapi::{Index, Result};
use tokapi_device::cooperate::Accelerator;
use tokapi_device::gpu::{GpuIndexOptions, GpuIndexes, Keeper, KeeperOptions, Kept};
use tokapi_kernels::Build;

#[cfg(not(feature = "cuda"))]
use super::without_engine;
use super::{Brought, GpuSettings, IndexOnGpu};

/// A GPU with indexes.
pub struct Gpu {
    indexes: Arc<GpuIndexes>,
    options: KeeperOptions,
    brought: Arc<Mutex<Brought>>,
}

/// Keeps the indexes on a GPU in their newest states until it is dropped.
pub struct Keeping {
    _keeper: Keeper,
}

/// The build of the kernels: for GPUs, or in tests for the host.
fn build(settings: &GpuSettings) -> Result<Build> {
    match settings.host {
        true => Ok(Build::Host),
        #[cfg(feature = "cuda")]
        false => Ok(Build::Cuda),
        #[cfg(not(feature = "cuda"))]
        false => Err(without_engine()),
    }
}

impl Gpu {
    /// Checks that a GPU can be used.
    ///
    /// # Errors
    /// None can, or not the one of this number.
    pub fn open(device: u32, threads: usize, settings: &GpuSettings) -> Result<Self> {
        let build = build(settings)?;
        build.count()?;
        build.device(device)?;
        let indexes = GpuIndexes::new(GpuIndexOptions {
            device,
            memory_bytes: (settings.memory > 0).then_some(settings.memory),
            threads,
            fail_after: settings.fail_after,
            ..GpuIndexOptions::new(build)
        });
        Ok(Gpu {
            indexes: Arc::new(indexes),
            options: KeeperOptions {
                least_postings: settings.least_postings,
                settle: Duration::from_millis(settings.settle_ms),
                retry: Duration::from_millis(settings.retry_ms),
            },
            brought: Arc::default(),
        })
    }

    /// Answers searches of the indexes there.
    pub fn accelerator(&self) -> Arc<dyn Accelerator> {
        Arc::new(Arc::clone(&self.indexes))
    }

    /// Begins to bring the indexes there that `newest` returns, and to renew them.
    ///
    /// # Errors
    /// The device is lost.
    pub fn keep(&self, newest: impl Fn() -> Vec<Arc<Index>> + Send + 'static) -> Result<Keeping> {
        let brought = Arc::clone(&self.brought);
        let told = move |kept: Kept<'_>| tell(&kept, &brought);
        let indexes = Arc::clone(&self.indexes);
        Ok(Keeping {
            _keeper: Keeper::start(indexes, self.options.clone(), newest, told)?,
        })
    }

    /// The indexes there.
    pub fn indexes(&self) -> Vec<IndexOnGpu> {
        let held = self.indexes.held().into_iter().map(|held| IndexOnGpu {
            path: held.index().path().to_path_buf(),
            epoch: held.index().epoch(),
            postings: held.fit().fitting_postings,
            bytes: held.fit().bytes,
        });
        held.collect()
    }

    /// What has been brought there so far.
    pub fn brought(&self) -> Brought {
        *self.brought.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Logs and counts what a keeper has done.
fn tell(kept: &Kept<'_>, brought: &Mutex<Brought>) {
    match kept {
        Kept::Brought {
            index,
            took,
            is_renewed,
        } => {
            let mut brought = brought.lock().unwrap_or_else(PoisonError::into_inner);
            brought.loads += u64::from(!is_renewed);
            brought.renewals += u64::from(*is_renewed);
            brought.seconds += took.as_secs_f64();
            let fit = index.fit();
            tracing::info!(
                index = %index.index().path().display(),
                epoch = index.index().epoch(),
                lists = fit.fitting_lists,
                of = fit.lists,
                took_ms = took.as_millis() as u64,
                "lists are on the GPU"
            );
        }
        Kept::Failed(index, error) => {
            tracing::warn!(index = %index.path().display(), "the CPU answers alone: {error}");
        }
        Kept::Lost(why) => tracing::error!("the GPU is lost, and the CPU answers alone: {why}"),
        Kept::Recovered => tracing::info!("the GPU is used again"),
    }
}
