//! The definition of sorting, by the standard library's stable sort.

use super::{Items, Sort, same_length};
use tokapi_storage::error::Result;

/// The reference engine: slow and obviously right.
#[derive(Default)]
pub struct Reference;

impl Sort for Reference {
    fn keys32(&mut self, keys: &mut [u32]) -> Result<()> {
        keys.sort();
        Ok(())
    }

    fn keys64(&mut self, keys: &mut [u64]) -> Result<()> {
        keys.sort();
        Ok(())
    }

    fn pairs32(&mut self, keys: &mut [u32], payloads: &mut [u32]) -> Result<()> {
        pairs(keys, payloads)
    }

    fn pairs64(&mut self, keys: &mut [u64], payloads: &mut [u64]) -> Result<()> {
        pairs(keys, payloads)
    }

    fn scratch_bytes(&self, items: Items, count: u64) -> u64 {
        match items {
            Items::Keys32 | Items::Keys64 => items.bytes() * count,
            // The pairs side by side, and the memory for sorting them.
            Items::Pairs32 | Items::Pairs64 => 2 * items.bytes() * count,
        }
    }
}

fn pairs<T: Ord + Copy>(keys: &mut [T], payloads: &mut [T]) -> Result<()> {
    same_length(keys, payloads)?;
    let mut pairs: Vec<(T, T)> = keys.iter().copied().zip(payloads.iter().copied()).collect();
    pairs.sort_by_key(|&(key, _)| key);
    for ((pair, key), payload) in pairs.into_iter().zip(keys).zip(payloads) {
        (*key, *payload) = pair;
    }
    Ok(())
}
