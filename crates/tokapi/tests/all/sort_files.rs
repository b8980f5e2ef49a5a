//! Laws of sorted files: memory, chunks, engine and layout never change the result.

use std::path::Path;

use proptest::prelude::*;
use tokapi::gpu::Build;
use tokapi::scratch::ScratchOptions;
use tokapi::sort::{
    Algorithm, Cpu, Gpu, KeyType, Layout, Reference, Sort, SortOptions, SortProgress, Sorted,
    sort_file,
};
use tokapi::{Error, Memory, Result};

fn options(key_type: KeyType, pairs: bool) -> SortOptions {
    SortOptions {
        key_type,
        pairs,
        layout: Layout::Binary,
        memory: Memory::new(1 << 30).unwrap(),
        scratch: ScratchOptions::default(),
        chunk_bytes: None,
        spill: false,
        no_overlap: false,
        tuned: None,
    }
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
    sort_file(input, output, options, &engine, &SortProgress::default())
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
        let options = SortOptions {
            chunk_bytes: chunk,
            spill: chunk.is_some(),
            no_overlap,
            ..options(key_type, pairs)
        };
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
        let options = SortOptions {
            chunk_bytes: Some(300_000),
            spill: true,
            ..options(KeyType::U32, true)
        };
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
        let options = SortOptions {
            layout,
            chunk_bytes: chunk,
            spill: chunk.is_some(),
            ..options(key_type, pairs)
        };
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
