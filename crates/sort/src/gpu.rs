//! The engine on a GPU: a chunk is uploaded, sorted, and downloaded.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokapi_kernels::{self as kernels, Pair, Sorter, SorterOptions};

use super::{Algorithm, Items, Sort, same_length};
use tokapi_kernels::Build;
use tokapi_storage::error::Result;

/// The engine `gpu`, with any algorithm. It refuses chunks that exceed the device's memory. Clones take turns on the
/// device.
#[derive(Clone)]
pub struct Gpu {
    sorter: Arc<Mutex<Sorter>>,
    algorithm: kernels::Algorithm,
}

impl Gpu {
    /// An engine on device `device` of `build`.
    ///
    /// # Errors
    /// The device cannot be used.
    pub fn new(build: Build, device: u32, algorithm: Algorithm) -> Result<Self> {
        let options = SorterOptions {
            device,
            ..SorterOptions::default()
        };
        Ok(Gpu {
            sorter: Arc::new(Mutex::new(Sorter::new(build, &options)?)),
            algorithm: match algorithm {
                Algorithm::Radix => kernels::Algorithm::Radix,
                Algorithm::Merge => kernels::Algorithm::Merge,
                Algorithm::Bitonic => kernels::Algorithm::Bitonic,
            },
        })
    }

    fn sorter(&self) -> MutexGuard<'_, Sorter> {
        self.sorter.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sorts pairs in the device's layout: side by side.
    fn pairs<K: Copy>(&mut self, keys: &mut [K], payloads: &mut [K]) -> Result<()>
    where
        Pair<K>: kernels::Record,
    {
        same_length(keys, payloads)?;
        let pairs = keys.iter().zip(&*payloads);
        let mut pairs: Vec<Pair<K>> = pairs.map(|(&key, &value)| Pair { key, value }).collect();
        self.sorter().sort(self.algorithm, &mut pairs)?;
        for ((pair, key), payload) in pairs.into_iter().zip(keys).zip(payloads) {
            (*key, *payload) = (pair.key, pair.value);
        }
        Ok(())
    }
}

impl Sort for Gpu {
    fn keys32(&mut self, keys: &mut [u32]) -> Result<()> {
        Ok(self.sorter().sort(self.algorithm, keys)?)
    }

    fn keys64(&mut self, keys: &mut [u64]) -> Result<()> {
        Ok(self.sorter().sort(self.algorithm, keys)?)
    }

    fn pairs32(&mut self, keys: &mut [u32], payloads: &mut [u32]) -> Result<()> {
        self.pairs(keys, payloads)
    }

    fn pairs64(&mut self, keys: &mut [u64], payloads: &mut [u64]) -> Result<()> {
        self.pairs(keys, payloads)
    }

    fn scratch_bytes(&self, items: Items, count: u64) -> u64 {
        // Staging in pinned memory, plus pairs side by side.
        const STAGING_BYTES: u64 = 256 << 20;
        match items {
            Items::Keys32 | Items::Keys64 => STAGING_BYTES,
            Items::Pairs32 | Items::Pairs64 => STAGING_BYTES + items.bytes() * count,
        }
    }

    fn most_items(&self, items: Items) -> u64 {
        let sorter = self.sorter();
        match items {
            Items::Keys32 => sorter.most_records::<u32>(self.algorithm),
            Items::Keys64 => sorter.most_records::<u64>(self.algorithm),
            Items::Pairs32 => sorter.most_records::<Pair<u32>>(self.algorithm),
            Items::Pairs64 => sorter.most_records::<Pair<u64>>(self.algorithm),
        }
    }
}
