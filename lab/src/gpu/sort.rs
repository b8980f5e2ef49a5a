//! The runs of the benchmark `sort`.

use std::time::Instant;

use rayon::prelude::*;
use tokapi::Error;
use tokapi_kernels::{
    self as kernels, Build, Pair, Pinned, Record, SortTimes, Sorter, SorterOptions,
};

use crate::runs::{Algorithm, AlgorithmTimes, Key, SortRuns, fastest};

pub fn sort(runs: &SortRuns) -> Result<Vec<AlgorithmTimes>, Error> {
    match (runs.key, runs.pairs) {
        (Key::U32, false) => measure::<u32>(runs),
        (Key::U64, false) => measure::<u64>(runs),
        (Key::U32, true) => measure::<Pair<u32>>(runs),
        (Key::U64, true) => measure::<Pair<u64>>(runs),
    }
}

fn measure<R: Random>(runs: &SortRuns) -> Result<Vec<AlgorithmTimes>, Error> {
    // The error gives the reason why there is no GPU.
    Build::Cuda.count()?;
    let mut memory = Pinned::new(Build::Cuda, runs.count * size_of::<R>())?;
    let mut measured = Vec::new();
    for &name in &runs.algorithm {
        let algorithm = match name {
            Algorithm::Radix => kernels::Algorithm::Radix,
            Algorithm::Merge => kernels::Algorithm::Merge,
            Algorithm::Bitonic => kernels::Algorithm::Bitonic,
        };
        let mut turns = |timed: bool, repeat: u32| {
            let options = SorterOptions {
                device: runs.device,
                timed,
                ..SorterOptions::default()
            };
            // Dropped before the next one needs the memory.
            let mut sorter = Sorter::new(Build::Cuda, &options)?;
            turn::<R>(&mut sorter, algorithm, &mut memory, runs.count)?;
            fastest(repeat, || {
                turn::<R>(&mut sorter, algorithm, &mut memory, runs.count)
            })
        };
        let (_, times) = turns(true, 1)?;
        let (seconds, _) = turns(false, runs.repeat)?;
        measured.push(AlgorithmTimes {
            name: format!("gpu {}", format!("{name:?}").to_lowercase()),
            seconds,
            stages_ms: vec![
                ("upload", times.upload),
                ("sort", times.sort),
                ("merge", times.merge),
                ("download", times.download),
            ],
        });
    }
    Ok(measured)
}

/// Makes new records, sorts them and checks the result.
fn turn<R: Random>(
    sorter: &mut Sorter,
    algorithm: kernels::Algorithm,
    memory: &mut Pinned,
    count: usize,
) -> Result<(f64, SortTimes), Error> {
    let records = &mut memory.as_records_mut::<R>()[..count];
    records
        .par_iter_mut()
        .enumerate()
        .for_each(|(place, record)| *record = R::random(place));
    let before = Sums::of(records);
    let started = Instant::now();
    let sorted = sorter.sort_pinned::<R>(algorithm, memory, count)?;
    let seconds = started.elapsed().as_secs_f64();
    let ascending = sorted.par_windows(2).all(|two| two[0].precedes(two[1]));
    if !ascending || Sums::of(sorted) != before {
        return Err(Error::Device(format!(
            "{algorithm:?}: the GPU did not sort the records"
        )));
    }
    Ok((seconds, sorter.times()))
}

/// A record made from its place.
trait Random: Record {
    fn random(place: usize) -> Self;
    /// Whether it may come before `next` in a stable sort.
    fn precedes(self, next: Self) -> bool;
    /// A value that differs for different records.
    fn digest(self) -> u128;
}

impl Random for u32 {
    fn random(place: usize) -> Self {
        scrambled(place) as u32
    }
    fn precedes(self, next: Self) -> bool {
        self <= next
    }
    fn digest(self) -> u128 {
        self.into()
    }
}

impl Random for u64 {
    fn random(place: usize) -> Self {
        scrambled(place)
    }
    fn precedes(self, next: Self) -> bool {
        self <= next
    }
    fn digest(self) -> u128 {
        self.into()
    }
}

impl Random for Pair<u32> {
    fn random(place: usize) -> Self {
        Pair {
            key: scrambled(place) as u32,
            value: place as u32,
        }
    }
    fn precedes(self, next: Self) -> bool {
        (self.key, self.value) < (next.key, next.value)
    }
    fn digest(self) -> u128 {
        u128::from(self.key) << 32 | u128::from(self.value)
    }
}

impl Random for Pair<u64> {
    fn random(place: usize) -> Self {
        Pair {
            key: scrambled(place),
            value: place as u64,
        }
    }
    fn precedes(self, next: Self) -> bool {
        (self.key, self.value) < (next.key, next.value)
    }
    fn digest(self) -> u128 {
        u128::from(self.key) << 64 | u128::from(self.value)
    }
}

/// SplitMix64 (Steele et al., OOPSLA 2014), as a function of its state.
fn scrambled(place: usize) -> u64 {
    let mut word = (place as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

/// Sums that are equal for the same records in any order.
#[derive(PartialEq, Eq, Default)]
struct Sums {
    sum: u128,
    exclusive_or: u128,
    squares: u128,
}

impl Sums {
    fn of<R: Random>(records: &[R]) -> Self {
        let add = |a: Sums, b: Sums| Sums {
            sum: a.sum.wrapping_add(b.sum),
            exclusive_or: a.exclusive_or ^ b.exclusive_or,
            squares: a.squares.wrapping_add(b.squares),
        };
        let pieces = records.par_chunks(1 << 16).map(|piece| {
            piece.iter().fold(Sums::default(), |sums, record| {
                let digest = record.digest();
                let one = Sums {
                    sum: digest,
                    exclusive_or: digest,
                    squares: digest.wrapping_mul(digest),
                };
                add(sums, one)
            })
        });
        pieces.reduce(Sums::default, add)
    }
}
