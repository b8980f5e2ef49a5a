//! Indexes on a device. [`GpuIndex`] holds the lists of an [`Index`](tokapi_index::Index) in one state;
//! [`GpuLane`]s answer queries from them. [`GpuIndexes`] are those that a scheduler uses.

mod answer;
mod fit;
mod index;
mod indexes;
mod keeper;
mod options;
mod plan;
mod read;
mod renew;
mod terms;
mod weights;

pub use answer::GpuLane;
pub use fit::Fit;
pub use index::GpuIndex;
pub use indexes::GpuIndexes;
pub use keeper::{Keeper, KeeperOptions, Kept};
pub use options::GpuIndexOptions;
