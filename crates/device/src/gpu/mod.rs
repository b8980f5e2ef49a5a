//! An index on a device. [`GpuIndex`] holds the lists of an [`Index`](tokapi_index::Index);
//! [`GpuLane`]s answer queries from them.

mod answer;
mod index;

pub use answer::GpuLane;
pub use index::{Fit, GpuIndex, GpuIndexOptions};
