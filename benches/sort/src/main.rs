//! Sorts in memory beside each other: seconds, and bytes that are allocated on the way.
//!
//! `sort-bench [COUNT...]`, by default 1e6, 1e7, 1e8 and 1e9. Every contestant sorts the same keys in
//! the same memory, which has been written to before. They take turns, the fastest of each counts.

mod distribution;
mod live;

use std::time::Instant;

use distribution::{Distribution, Key};
use rayon::prelude::*;
use rdst::RadixSort;
use tokapi_sort::{Cpu, Items, Sort};

const CONTESTANTS: [&str; 5] = [
    "tokapi",
    "voracious 1.2",
    "rdst 0.20",
    "rayon `par_sort_unstable`",
    "`sort_unstable`",
];

/// From here on, only the uniform distribution, in few turns, and no sort on one thread.
const LARGE: usize = 500_000_000;

fn main() {
    let mut counts: Vec<usize> = std::env::args()
        .skip(1)
        .map(|count| count.parse::<f64>().expect("a count of keys, as 1e8") as usize)
        .collect();
    if counts.is_empty() {
        counts = vec![1_000_000, 10_000_000, 100_000_000, 1_000_000_000];
    }
    println!("Seconds (times Tokapi's), and bytes allocated a byte of keys:\n");
    println!("| keys | {} |", CONTESTANTS.join(" | "));
    println!("|---|{}", "---|".repeat(CONTESTANTS.len()));
    for &count in &counts {
        let mut engine = Cpu::new();
        let promised = engine.scratch_bytes(Items::Keys32, count as u64);
        let mut sort = |keys: &mut [u32]| engine.keys32(keys).expect("no device");
        contest(count, promised, &mut sort);
    }
    for &count in counts.iter().filter(|&&count| count < LARGE) {
        let mut engine = Cpu::new();
        let promised = engine.scratch_bytes(Items::Keys64, count as u64);
        let mut sort = |keys: &mut [u64]| engine.keys64(keys).expect("no device");
        contest(count, promised, &mut sort);
    }
    println!(
        "\nPairs, uniform: seconds, fastest and first turn, and MB allocated, of those promised:\n"
    );
    println!("| pairs | `pairs32` | `pairs64` | `sort_by_key` of tuples of u32 |");
    println!("|---|---|---|---|");
    for &count in counts.iter().filter(|&&count| count < LARGE) {
        pairs(count);
    }
}

/// Prints a line for every distribution.
fn contest<K: Key>(count: usize, promised_bytes: u64, tokapi: &mut dyn FnMut(&mut [K])) {
    let mut keys = vec![K::default(); count];
    let large = count >= LARGE;
    for distribution in Distribution::ALL {
        if large && distribution != Distribution::Uniform {
            continue;
        }
        let turns = if large {
            3
        } else {
            (100_000_000 / count).clamp(3, 10)
        };
        let threads = rayon::current_num_threads();
        let mut fastest = [f64::INFINITY; CONTESTANTS.len()];
        let mut bytes = [0; CONTESTANTS.len()];
        for turn in 0..turns {
            for (contestant, name) in CONTESTANTS.iter().enumerate() {
                // Slow ones have one turn where that takes long.
                let slow = contestant >= 3;
                if slow && (large && contestant == 4 || turn > 0 && count > 50_000_000) {
                    continue;
                }
                distribution.fill(&mut keys);
                let before = checksum(&keys);
                let started = Instant::now();
                let peak = live::peak_bytes(|| match contestant {
                    0 => tokapi(&mut keys),
                    1 => K::voracious(&mut keys, threads),
                    2 => keys.radix_sort_unstable(),
                    3 => keys.par_sort_unstable(),
                    _ => keys.sort_unstable(),
                });
                let seconds = started.elapsed().as_secs_f64();
                fastest[contestant] = fastest[contestant].min(seconds);
                bytes[contestant] = peak.max(bytes[contestant]);
                assert!(keys.is_sorted(), "{name} does not sort");
                assert_eq!(before, checksum(&keys), "{name} loses keys");
            }
        }
        assert!(
            bytes[0] as u64 <= promised_bytes,
            "tokapi takes {} bytes, promised are {promised_bytes}",
            bytes[0]
        );
        let cells = fastest.iter().zip(bytes).map(|(&seconds, bytes)| {
            let bytes = bytes as f64 / size_of_val(&keys[..]) as f64;
            let times = seconds / fastest[0];
            match seconds {
                f64::INFINITY => "".to_string(),
                _ => format!("{seconds:.4} ({times:.2}), {bytes:.2}"),
            }
        });
        let cells: Vec<String> = cells.collect();
        let name = distribution.name();
        println!("| {count:e} {}, {name} | {} |", K::NAME, cells.join(" | "));
    }
}

/// A sum over all keys that does not depend on their order.
fn checksum<K: Key>(keys: &[K]) -> u64 {
    keys.par_iter()
        .map(|&key| (key.into() ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xd6e8_feb8_6659_fd93))
        .map(|mixed| mixed ^ mixed >> 32)
        .reduce(|| 0, u64::wrapping_add)
}

/// Prints a line for pairs with keys of both widths.
fn pairs(count: usize) {
    let mut engine = Cpu::new();
    let promised = |items| Cpu::new().scratch_bytes(items, count as u64) / 1_000_000;
    let cell = |turns: Vec<(f64, usize)>, promised: u64| {
        let fastest = turns
            .iter()
            .map(|turn| turn.0)
            .fold(f64::INFINITY, f64::min);
        let megabytes = turns.iter().map(|turn| turn.1).max().unwrap_or(0) / 1_000_000;
        format!("{fastest:.4}, {:.4}, {megabytes} of {promised}", turns[0].0)
    };
    let narrow = turns::<u32>(count, |keys, payloads| engine.pairs32(keys, payloads));
    let narrow = cell(narrow, promised(Items::Pairs32));
    let wide = turns::<u64>(count, |keys, payloads| engine.pairs64(keys, payloads));
    let wide = cell(wide, promised(Items::Pairs64));
    let mut tuples: Vec<(u32, u32)> = vec![(0, 0); count];
    let mut keys = vec![0u32; count];
    Distribution::Uniform.fill(&mut keys);
    tuples
        .iter_mut()
        .zip(keys)
        .for_each(|(tuple, key)| *tuple = (key, 7));
    let started = Instant::now();
    tuples.par_sort_by_key(|&(key, _)| key);
    let rayon = started.elapsed().as_secs_f64();
    println!("| {count:e} | {narrow} | {wide} | {rayon:.4} |");
}

/// Seconds and bytes of some turns.
fn turns<K: Key>(
    count: usize,
    mut sort: impl FnMut(&mut [K], &mut [K]) -> tokapi_storage::error::Result<()>,
) -> Vec<(f64, usize)> {
    let (mut keys, mut payloads) = (vec![K::default(); count], vec![K::default(); count]);
    let turns = (0..3).map(|_| {
        Distribution::Uniform.fill(&mut keys);
        Distribution::Sorted.fill(&mut payloads);
        let started = Instant::now();
        let peak = live::peak_bytes(|| sort(&mut keys, &mut payloads).expect("no device"));
        (started.elapsed().as_secs_f64(), peak)
    });
    turns.collect()
}
