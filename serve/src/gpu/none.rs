//! A build without the engine for GPUs.

use std::sync::Arc;

use tokapi::{Index, Result};
use tokapi_device::cooperate::Accelerator;

use super::{Brought, GpuSettings, IndexOnGpu, without_engine};

/// There is none.
pub enum Gpu {}

/// There is none to keep indexes on.
pub enum Keeping {}

impl Gpu {
    /// # Errors
    /// Always.
    pub fn open(_: u32, _: usize, _: &GpuSettings) -> Result<Self> {
        Err(without_engine())
    }

    /// Answers searches.
    pub fn accelerator(&self) -> Arc<dyn Accelerator> {
        match *self {}
    }

    /// Begins to keep indexes there.
    ///
    /// # Errors
    /// Never.
    pub fn keep(&self, _: impl Fn() -> Vec<Arc<Index>> + Send + 'static) -> Result<Keeping> {
        match *self {}
    }

    /// The indexes there.
    pub fn indexes(&self) -> Vec<IndexOnGpu> {
        match *self {}
    }

    /// What has been brought there so far.
    pub fn brought(&self) -> Brought {
        match *self {}
    }
}
