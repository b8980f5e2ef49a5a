//! The settings of the processors that answer searches.

use serde::Deserialize;
use tokapi_device::cooperate::Policy;

/// The processors that answer searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineName {
    /// A GPU too, if this build and machine have one.
    Auto,
    /// The CPU.
    #[default]
    Cpu,
    /// A GPU too; an error if none can be used.
    Gpu,
}

/// Settings of the GPU.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct GpuSettings {
    /// Bytes of its memory for the lists of indexes; 0 means seven eighths of what is free at the start.
    pub memory: u64,
    /// Indexes with fewer postings stay on the CPU.
    pub least_postings: u64,
    /// A new state of an index is brought up when it has lasted for as many milliseconds.
    pub settle_ms: u64,
    /// Milliseconds until a lost GPU is tried again.
    pub retry_ms: u64,
    /// For tests: which searches go to the GPU, whether the kernels run on the host, and the batches after which each
    /// lane is lost.
    #[doc(hidden)]
    #[serde(skip)]
    pub policy: Policy,
    #[doc(hidden)]
    #[serde(skip)]
    pub host: bool,
    #[doc(hidden)]
    #[serde(skip)]
    pub fail_after: Option<u64>,
}

impl Default for GpuSettings {
    fn default() -> Self {
        GpuSettings {
            memory: 0,
            least_postings: 1_000_000,
            settle_ms: 100,
            retry_ms: 10_000,
            policy: Policy::default(),
            host: false,
            fail_after: None,
        }
    }
}
