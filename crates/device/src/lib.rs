//! Queries by CPU and GPU together.

pub mod cooperate;
#[cfg(feature = "kernels")]
pub mod gpu;
