//! The options of an index on a device.

use tokapi_kernels::Build;

use tokapi_storage::progress::Progress;
use tokapi_weigh::formula::Bm25;

/// Options: the device, its memory for lists, and the formula.
#[derive(Debug, Clone)]
pub struct GpuIndexOptions {
    /// The build of the kernels.
    pub build: Build,
    /// The device, counted from 0.
    pub device: u32,
    /// Maximum device memory for lists in bytes; `None` means seven eighths of the free memory.
    pub memory_bytes: Option<u64>,
    /// The formula by which postings are weighed first.
    pub bm25: Bm25,
    /// Threads that read lists.
    pub threads: usize,
    /// For tests: batches after which a lane is lost.
    #[doc(hidden)]
    pub fail_after: Option<u64>,
    /// Can cancel the loading of lists.
    pub progress: Progress,
}

impl GpuIndexOptions {
    /// The first device, and all threads.
    pub fn new(build: Build) -> Self {
        GpuIndexOptions {
            build,
            device: 0,
            memory_bytes: None,
            bm25: Bm25::default(),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            fail_after: None,
            progress: Progress::default(),
        }
    }
}
