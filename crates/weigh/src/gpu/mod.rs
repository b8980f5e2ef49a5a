//! The GPU engine: its options, and its devices.
//!
//! The kernels (crate `tokapi-kernels`) have two builds: one for GPUs, and one for the host, which is slow and meant
//! for tests. [`GpuOptions`] exist in every build; without the feature `cuda` the engine fails with
//! [`Error::NoDevice`](tokapi_storage::error::Error::NoDevice). An engine inverts chunk after chunk, like every other;
//! `Resident` keeps a whole collection on the device, from its text to its weights.

#[cfg(feature = "kernels")]
mod inverter;
#[cfg(feature = "kernels")]
mod lanes;
mod options;
#[cfg(feature = "kernels")]
mod resident;

#[cfg(feature = "kernels")]
pub use inverter::formula;
#[cfg(feature = "kernels")]
pub use lanes::Lanes;
#[cfg(not(feature = "cuda"))]
pub use options::without_cuda;
pub use options::{GpuOptions, Method, PairSort};
#[cfg(feature = "kernels")]
pub use resident::{Resident, ResidentWeights};
