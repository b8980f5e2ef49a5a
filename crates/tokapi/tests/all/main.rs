//! Whole-library tests: every engine and every part together, one program so that it is linked once.

mod cancelled;
mod ciff;
mod ciff_messages;
mod collections;
mod conformance;
mod contents;
mod cooperate;
mod copies;
mod damaged;
mod epochs;
mod eval;
mod example;
mod external;
mod files;
mod forged;
mod formats;
mod gpu;
mod gpu_search;
mod gpu_states;
mod impacts;
mod in_order;
mod index;
mod mapreduce;
mod random;
mod reference_runs;
mod reorder;
mod resident;
mod scripts;
mod shards;
mod sort_files;
mod update;

use tokapi_kernels::Build;

/// The build of the kernels that is tested: that for GPUs where the tests are built with it.
#[cfg(feature = "cuda")]
const BUILD: Build = Build::Cuda;
#[cfg(not(feature = "cuda"))]
const BUILD: Build = Build::Host;
/// Whether that build runs on the host.
const HOST: bool = cfg!(not(feature = "cuda"));
