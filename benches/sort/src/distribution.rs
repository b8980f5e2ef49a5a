//! The keys that are sorted, the same in every turn.

use rayon::prelude::*;
use rdst::RadixKey;
use voracious_radix_sort::RadixSort;

/// A key that every contestant takes.
pub trait Key: Copy + Default + Ord + Send + Sync + Into<u64> + RadixKey {
    /// The name of the type.
    const NAME: &'static str;

    /// The key made of the highest bits of `bits`.
    fn from_high(bits: u64) -> Self;

    /// The key of this value.
    fn from_value(value: u32) -> Self;

    /// Sorts by `voracious_radix_sort`, whose traits only concrete types meet.
    fn voracious(keys: &mut [Self], threads: usize);
}

impl Key for u32 {
    const NAME: &'static str = "u32";

    fn from_high(bits: u64) -> Self {
        (bits >> 32) as u32
    }

    fn from_value(value: u32) -> Self {
        value
    }

    fn voracious(keys: &mut [Self], threads: usize) {
        keys.voracious_mt_sort(threads);
    }
}

impl Key for u64 {
    const NAME: &'static str = "u64";

    fn from_high(bits: u64) -> Self {
        bits
    }

    fn from_value(value: u32) -> Self {
        value.into()
    }

    fn voracious(keys: &mut [Self], threads: usize) {
        keys.voracious_mt_sort(threads);
    }
}

/// How keys are drawn.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Distribution {
    /// Every key alike.
    Uniform,
    /// Ranks up to 2^20, each as often as 1 / rank.
    Zipf,
    /// A hundred keys, anywhere.
    Few,
    /// One key.
    Equal,
    /// In order.
    Sorted,
    /// In reverse order.
    Reverse,
}

impl Distribution {
    /// All of them.
    pub const ALL: [Distribution; 6] = [
        Distribution::Uniform,
        Distribution::Zipf,
        Distribution::Few,
        Distribution::Equal,
        Distribution::Sorted,
        Distribution::Reverse,
    ];

    /// Its name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Distribution::Uniform => "uniform",
            Distribution::Zipf => "Zipf",
            Distribution::Few => "100 distinct",
            Distribution::Equal => "all equal",
            Distribution::Sorted => "sorted",
            Distribution::Reverse => "reverse",
        }
    }

    /// Overwrites `keys` with drawn ones.
    pub fn fill<K: Key>(self, keys: &mut [K]) {
        const PIECE: usize = 1 << 16;
        let count = keys.len() as u64;
        let pieces = keys.par_chunks_mut(PIECE).enumerate();
        pieces.for_each(|(number, piece)| {
            for (key, place) in piece.iter_mut().zip((number * PIECE) as u64..) {
                let random = mix(place);
                *key = match self {
                    Distribution::Uniform => K::from_high(random),
                    // 2^(20 u) for u uniform below 1 has the density 1 / rank.
                    Distribution::Zipf => {
                        K::from_value((random as f64 / 2f64.powi(64) * 20.0).exp2() as u32)
                    }
                    Distribution::Few => K::from_high(mix(random % 100)),
                    Distribution::Equal => K::from_value(7),
                    Distribution::Sorted => K::from_high(place * (u64::MAX / count)),
                    Distribution::Reverse => K::from_high((count - place) * (u64::MAX / count)),
                };
            }
        });
    }
}

/// The finalizer of splitmix64.
fn mix(place: u64) -> u64 {
    let mut bits = place.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}
