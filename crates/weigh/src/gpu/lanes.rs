//! The lanes to a device. Each lane holds one chunk, which is uploaded, computed on or downloaded while the others are
//! at other stages.

use std::ops::{Deref, DerefMut};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Instant;

use tokapi_kernels::Inverter;

use super::GpuOptions;
use tokapi_storage::error::Result;
use tokapi_text::analyze::Analyzer;

/// The most lanes. With 16 threads and an H200, a chunk of 16 MiB takes 3.5 ms on the device, and copying its postings
/// 8 ms more.
const MOST: usize = 8;

/// Inverters on one device, each used by one thread at a time.
pub struct Lanes {
    free: Mutex<Vec<Inverter>>,
    returned: Condvar,
    /// The largest text that a lane's share of the device's memory is enough for, whatever the text.
    most_bytes: u64,
}

impl Lanes {
    /// Opens as many lanes as `threads` can use and the device has memory for, with chunks of `chunk_bytes`.
    ///
    /// # Errors
    /// There is no such device, or it has too little memory.
    pub fn open(
        options: &GpuOptions,
        analyzer: &Analyzer,
        threads: usize,
        chunk_bytes: u64,
    ) -> Result<Self> {
        let started = Instant::now();
        let build = options.build()?;
        let device = build.device(options.device)?;
        // The build for the host has no limit.
        let free = Some(device.free_bytes).filter(|&free| free > 0);
        let memory = free
            .into_iter()
            .chain(options.memory_bytes)
            .min()
            .unwrap_or(u64::MAX);
        // Every lane holds the dictionary, and 12 bytes for each of its terms.
        let dictionary = options.dictionary.as_ref().map_or(0, |dictionary| {
            dictionary.stats().bytes + 12 * dictionary.len()
        });
        let peak = |bytes| dictionary + build.peak_bytes(bytes, options.method.into());
        let first = options.inverter(analyzer)?;
        let room = usize::try_from(memory / peak(chunk_bytes)).unwrap_or(usize::MAX);
        let lanes = MOST.min(threads).min(room).max(1);
        let mut free = vec![first];
        for _ in 1..lanes {
            free.push(options.inverter(analyzer)?);
        }
        let most_bytes = most_text(memory / lanes as u64, peak);
        log::info!(
            "gpu: {lanes} chunks at once, of at most {most_bytes} bytes; {memory} bytes of device memory may be used; \
             started in {:.3} s",
            started.elapsed().as_secs_f64()
        );
        Ok(Lanes {
            free: Mutex::new(free),
            returned: Condvar::new(),
            most_bytes,
        })
    }

    /// The largest text that a lane surely has memory for.
    pub(crate) fn most_bytes(&self) -> u64 {
        self.most_bytes
    }

    /// Takes a lane; waits until one is free.
    pub(crate) fn take(&self) -> LaneGuard<'_> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match free.pop() {
                Some(inverter) => {
                    return LaneGuard {
                        lanes: self,
                        inverter: Some(inverter),
                    };
                }
                None => {
                    free = self
                        .returned
                        .wait(free)
                        .unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }
}

/// The largest text with a peak within `memory`. `peak` must ascend.
fn most_text(memory: u64, peak: impl Fn(u64) -> u64) -> u64 {
    // Offsets in a larger chunk would not fit.
    let (mut low, mut high) = (0, u64::from(u32::MAX));
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if peak(middle) <= memory {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}

/// A lane in use. A drop returns it.
pub(crate) struct LaneGuard<'a> {
    lanes: &'a Lanes,
    inverter: Option<Inverter>,
}

impl Deref for LaneGuard<'_> {
    type Target = Inverter;
    fn deref(&self) -> &Inverter {
        self.inverter.as_ref().expect("there until dropped")
    }
}

impl DerefMut for LaneGuard<'_> {
    fn deref_mut(&mut self) -> &mut Inverter {
        self.inverter.as_mut().expect("there until dropped")
    }
}

impl Drop for LaneGuard<'_> {
    fn drop(&mut self) {
        let mut free = self
            .lanes
            .free
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        free.extend(self.inverter.take());
        self.lanes.returned.notify_one();
    }
}
