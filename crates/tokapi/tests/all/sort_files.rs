//! Laws of sorted files: memory, chunks, engine and layout never change the result.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use tokapi::sort::{Cpu, KeyType, Layout, Sort, SortOptions, Sorted, sort_file};
use tokapi::{Error, Memory, Progress, Result};
use tokapi_kernels::Build;
use tokapi_sort::{Algorithm, Gpu, Items, Reference};

fn options(key_type: KeyType, pairs: bool) -> SortOptions {
    SortOptions::new(key_type, Memory::new(1 << 30).unwrap()).pairs(pairs)
}

fn sorted(input: &Path, output: &Path, options: &SortOptions, engine: u8) -> Result<Sorted> {
    let engine = || -> Result<Box<dyn Sort>> {
        Ok(match engine {
            0 => Box::new(Cpu::new()),
            1 => Box::new(Reference),
            other => {
                let algorithm = Algorithm::ALL[usize::from(other) % 3];
                Box::new(Gpu::new(Build::Host, 0, algorithm)?)
            }
        })
    };
    sort_file(input, output, options, &engine)
}

/// The definition: records sorted by key, stable, as numbers of their type.
fn definition(bytes: &[u8], key_type: KeyType, pairs: bool) -> Vec<u8> {
    let width = key_type.bytes();
    let mut records: Vec<&[u8]> = bytes.chunks(width * (1 + usize::from(pairs))).collect();
    records.sort_by(|a, b| {
        let four = |record: &[u8]| <[u8; 4]>::try_from(&record[..4]).unwrap();
        let eight = |record: &[u8]| <[u8; 8]>::try_from(&record[..8]).unwrap();
        match key_type {
            KeyType::U8 => a[0].cmp(&b[0]),
            KeyType::U16 => [a[1], a[0]].cmp(&[b[1], b[0]]),
            KeyType::U32 => u32::from_le_bytes(four(a)).cmp(&u32::from_le_bytes(four(b))),
            KeyType::I32 => i32::from_le_bytes(four(a)).cmp(&i32::from_le_bytes(four(b))),
            KeyType::F32 => f32::from_le_bytes(four(a)).total_cmp(&f32::from_le_bytes(four(b))),
            KeyType::U64 => u64::from_le_bytes(eight(a)).cmp(&u64::from_le_bytes(eight(b))),
            KeyType::I64 => i64::from_le_bytes(eight(a)).cmp(&i64::from_le_bytes(eight(b))),
            KeyType::F64 => f64::from_le_bytes(eight(a)).total_cmp(&f64::from_le_bytes(eight(b))),
            other => panic!("{other:?} has no definition here"),
        }
    });
    records.concat()
}

/// Words whose low bits vary, so that keys repeat often, seldom, or never.
fn words(count: usize, bits: u32, seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state ^ (state >> 29)).wrapping_mul(0xBF58476D1CE4E5B9) >> (64 - bits)
    };
    (0..count)
        .flat_map(|_| (next() as u32).to_le_bytes())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn files_are_sorted_as_the_definition_has_it(
        key_type in prop::sample::select(KeyType::ALL.to_vec()),
        pairs in any::<bool>(),
        count in prop_oneof![0..200usize, 10_000..60_000usize],
        bits in prop::sample::select(vec![1, 3, 12, 32]),
        seed in any::<u64>(),
        chunk in prop_oneof![Just(None), (16..200_000usize).prop_map(Some)],
        engine in 0..5u8,
        no_overlap in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let (input, output) = (folder.path().join("in"), folder.path().join("out"));
        let mut bytes = words(4 * count, bits, seed);
        bytes.truncate(bytes.len() / 16 * 16);
        // Small chunks only of few records: each is a file.
        let chunk = chunk.map(|chunk| chunk.max(bytes.len() / 40).max(16));
        std::fs::write(&input, &bytes).unwrap();
        let options = options(key_type, pairs)
            .chunk_bytes(chunk)
            .spill(chunk.is_some())
            .no_overlap(no_overlap);
        let result = sorted(&input, &output, &options, engine).unwrap();
        let record_bytes = key_type.bytes() * (1 + usize::from(pairs));
        prop_assert_eq!(result.records as usize, bytes.len() / record_bytes);
        prop_assert!(std::fs::read(&output).unwrap() == definition(&bytes, key_type, pairs));
        // No scratch is left.
        prop_assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}

#[test]
fn a_key_that_fills_many_chunks_is_copied() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in"), folder.path().join("out"));
    // Ever the same key but for a few; payloads number the records.
    let mut bytes = Vec::new();
    for record in 0..400_000u32 {
        let key: u32 = if record % 1000 == 7 { record } else { 5000 };
        bytes.extend_from_slice(&key.to_le_bytes());
        bytes.extend_from_slice(&record.to_le_bytes());
    }
    std::fs::write(&input, &bytes).unwrap();
    for engine in [0, 1, 2, 4] {
        let options = options(KeyType::U32, true)
            .chunk_bytes(Some(300_000))
            .spill(true);
        sorted(&input, &output, &options, engine).unwrap();
        let expected = definition(&bytes, KeyType::U32, true);
        assert!(std::fs::read(&output).unwrap() == expected);
    }
}

#[test]
fn lines_are_sorted_and_bad_ones_named() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in.txt"), folder.path().join("out.txt"));
    let text = |key_type, layout, pairs, chunk: Option<usize>| {
        let options = options(key_type, pairs)
            .layout(layout)
            .chunk_bytes(chunk)
            .spill(chunk.is_some());
        sorted(&input, &output, &options, 0)
    };
    std::fs::write(&input, "10\n-3\n7\n-3\n99999999999\n0").unwrap();
    for chunk in [None, Some(4), Some(16)] {
        text(KeyType::I64, Layout::Text, false, chunk).unwrap();
        assert_eq!(
            std::fs::read_to_string(&output).unwrap(),
            "-3\n-3\n0\n7\n10\n99999999999\n"
        );
    }
    std::fs::write(&input, "2.5\t1\nnan\t2\n-0\t3\n0\t4\n-inf\t5\n2.5\t0\n").unwrap();
    for chunk in [None, Some(8)] {
        text(KeyType::F64, Layout::Text, true, chunk).unwrap();
        let expected = "-inf\t5\n-0.0\t3\n0.0\t4\n2.5\t1\n2.5\t0\nnan\t2\n";
        assert_eq!(std::fs::read_to_string(&output).unwrap(), expected);
    }
    std::fs::remove_file(&output).unwrap();
    std::fs::write(&input, "1\n2\n3\nfour\n5\n").unwrap();
    for chunk in [None, Some(4)] {
        let error = text(KeyType::U32, Layout::Text, false, chunk).unwrap_err();
        assert!(error.to_string().contains("in.txt, line 4"), "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
    // A binary file that was cut off.
    let error = text(KeyType::U64, Layout::Binary, true, None).unwrap_err();
    assert!(matches!(error, Error::Input { .. }), "{error}");
    assert!(error.to_string().contains("cut off"), "{error}");
}

/// Cancels its own operation in call number `last`.
struct Cancelling {
    calls: Arc<AtomicUsize>,
    last: usize,
    progress: Progress,
}

impl Cancelling {
    fn count(&self) {
        if self.calls.fetch_add(1, Ordering::Relaxed) == self.last {
            self.progress.cancel();
        }
    }
}

impl Sort for Cancelling {
    fn keys32(&mut self, keys: &mut [u32]) -> Result<()> {
        self.count();
        Cpu::new().keys32(keys)
    }

    fn keys64(&mut self, keys: &mut [u64]) -> Result<()> {
        Cpu::new().keys64(keys)
    }

    fn pairs32(&mut self, keys: &mut [u32], payloads: &mut [u32]) -> Result<()> {
        self.count();
        Cpu::new().pairs32(keys, payloads)
    }

    fn pairs64(&mut self, keys: &mut [u64], payloads: &mut [u64]) -> Result<()> {
        Cpu::new().pairs64(keys, payloads)
    }

    fn scratch_bytes(&self, items: Items, count: u64) -> u64 {
        Cpu::new().scratch_bytes(items, count)
    }
}

#[test]
fn a_cancelled_sort_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in"), folder.path().join("out"));
    std::fs::write(&input, words(100_000, 32, 7)).unwrap();
    // Ten chunks are sorted, and then merged.
    for (last, spill) in [(0, false), (0, true), (4, true), (9, true), (10, true)] {
        for pairs in [false, true] {
            let progress = Progress::new();
            let options = options(KeyType::U32, pairs)
                .chunk_bytes(Some(40_000))
                .spill(spill)
                .progress(progress.clone());
            let calls = Arc::new(AtomicUsize::new(0));
            let engine = || -> Result<Box<dyn Sort>> {
                Ok(Box::new(Cancelling {
                    calls: Arc::clone(&calls),
                    last,
                    progress: progress.clone(),
                }))
            };
            let cancelled = sort_file(&input, &output, &options, &engine);
            assert!(
                matches!(cancelled, Err(Error::Cancelled)),
                "{last} {spill}: {cancelled:?}"
            );
            let left = std::fs::read_dir(folder.path()).unwrap().count();
            assert_eq!(left, 1, "{last} {spill}");
        }
    }
}

#[test]
fn a_cancelled_engine_keeps_all_keys_and_sorts_them_later() {
    let mut keys: Vec<u32> = (0..1 << 20)
        .map(|n: u32| n.wrapping_mul(0x9E37_79B9))
        .collect();
    let progress = Progress::new();
    progress.cancel();
    let mut cpu = Cpu::new();
    cpu.follow(&progress);
    cpu.keys32(&mut keys).unwrap();
    assert!(!keys.is_sorted());
    let mut sorted = keys.clone();
    sorted.sort_unstable();
    cpu.follow(&Progress::new());
    cpu.keys32(&mut keys).unwrap();
    assert!(keys == sorted);
}

#[test]
fn an_engine_that_is_cancelled_at_any_moment_sorts_again() {
    // Uniform, of few values, skewed, and descending.
    let laws: [fn(u64) -> u64; 4] = [
        |n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        |n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 50,
        |n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (n % 60),
        |n| !n,
    ];
    let mut cpu = Cpu::new();
    for law in laws {
        let keys: Vec<u64> = (0..1 << 20).map(law).collect();
        let payloads: Vec<u64> = (0..1 << 20).collect();
        let mut sorted = keys.clone();
        sorted.sort_unstable();
        for step in 0..15 {
            let progress = Progress::new();
            cpu.follow(&progress);
            let (mut some, mut others) = (keys.clone(), payloads.clone());
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    std::thread::park_timeout(Duration::from_micros(step * step * 200));
                    progress.cancel();
                });
                cpu.keys64(&mut some).unwrap();
                some.copy_from_slice(&keys);
                cpu.pairs64(&mut some, &mut others).unwrap();
            });
        }
        cpu.follow(&Progress::new());
        let (mut alone, mut with) = (keys.clone(), keys.clone());
        let mut payloads = payloads;
        cpu.keys64(&mut alone).unwrap();
        cpu.pairs64(&mut with, &mut payloads).unwrap();
        assert!(alone == sorted && with == sorted);
        assert!(
            payloads
                .iter()
                .zip(&with)
                .all(|(&at, &key)| keys[at as usize] == key)
        );
    }
}
