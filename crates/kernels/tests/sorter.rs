//! Every algorithm sorts every kind of record as the standard library's stable sort does.

use std::fmt::Debug;

use tokapi_kernels::{Algorithm, Build, Error, Pair, Pinned, Record, Sorter, SorterOptions};

#[cfg(feature = "cuda")]
const BUILD: Build = Build::Cuda;
#[cfg(not(feature = "cuda"))]
const BUILD: Build = Build::Host;

const ALGORITHMS: [Algorithm; 3] = [Algorithm::Radix, Algorithm::Merge, Algorithm::Bitonic];

/// Sizes around those of a thread's group, a block, a tile, and several tiles.
const SIZES: [usize; 28] = [
    0, 1, 2, 3, 15, 16, 17, 255, 256, 257, 511, 512, 513, 1023, 1024, 1025, 2047, 2048, 2049, 4095,
    4096, 4097, 8191, 8193, 65_535, 65_536, 65_537, 100_003,
];

/// A record made of a key and of the place it has before sorting.
trait Made: Record + PartialEq + Debug {
    type Key: Ord;
    fn made(key: u64, place: usize) -> Self;
    fn key(&self) -> Self::Key;
}

impl Made for u32 {
    type Key = u32;
    fn made(key: u64, _: usize) -> Self {
        (key >> 32) as u32
    }
    fn key(&self) -> u32 {
        *self
    }
}

impl Made for u64 {
    type Key = u64;
    fn made(key: u64, _: usize) -> Self {
        key
    }
    fn key(&self) -> u64 {
        *self
    }
}

impl Made for Pair<u32> {
    type Key = u32;
    fn made(key: u64, place: usize) -> Self {
        let key = (key >> 32) as u32;
        // Values take all bits, too.
        let value = (place as u32).rotate_right(1);
        Pair { key, value }
    }
    fn key(&self) -> u32 {
        self.key
    }
}

impl Made for Pair<u64> {
    type Key = u64;
    fn made(key: u64, place: usize) -> Self {
        let value = (place as u64).rotate_right(1);
        Pair { key, value }
    }
    fn key(&self) -> u64 {
        self.key
    }
}

/// SplitMix64, as a function of its state.
fn random(number: u64) -> u64 {
    let mut word = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

/// The keys of a test, by place; a 32-bit key is the upper half.
fn keys(count: usize) -> [(&'static str, Vec<u64>); 8] {
    let places = || 0..count as u64;
    let spread = |place: u64| (place << 32) | place;
    [
        ("equal", vec![7 << 32; count]),
        ("greatest", vec![u64::MAX; count]),
        ("ascending", places().map(spread).collect()),
        ("descending", places().rev().map(spread).collect()),
        (
            "few distinct",
            places()
                .map(|place| random(place) % 5 * ((1 << 40) + 1))
                .collect(),
        ),
        (
            "greatest and least",
            places()
                .map(|place| (random(place) & 1).wrapping_neg())
                .collect(),
        ),
        ("random", places().map(random).collect()),
        (
            "nearly ascending",
            places()
                .map(|place| spread(place ^ (random(place) & 15)))
                .collect(),
        ),
    ]
}

fn sorter(piece_bytes: u64) -> Sorter {
    let options = SorterOptions {
        piece_bytes,
        ..SorterOptions::default()
    };
    Sorter::new(BUILD, &options).unwrap()
}

fn battery<R: Made>() {
    let most = SIZES[SIZES.len() - 1];
    let mut memory = Pinned::new(BUILD, most * size_of::<R>()).unwrap();
    // One piece; several, of which the smallest have a few records; and as many as there can be.
    let mut sorters = [sorter(1 << 30), sorter(4000), sorter(1)];
    for count in SIZES {
        for (name, keys) in keys(count) {
            let unsorted: Vec<R> = keys
                .iter()
                .enumerate()
                .map(|(place, &key)| R::made(key, place))
                .collect();
            let mut expected = unsorted.clone();
            expected.sort_by_key(R::key);
            for algorithm in ALGORITHMS {
                for (sorter, pieces) in sorters.iter_mut().zip(["one", "some", "all"]) {
                    let case = || format!("{algorithm:?}, {name}, {count}, {pieces} pieces");
                    // Staging memory of one byte is no test.
                    if pieces != "all" {
                        let mut found = unsorted.clone();
                        sorter.sort(algorithm, &mut found).unwrap();
                        assert!(found == expected, "{}", case());
                    }
                    memory.as_records_mut()[..count].copy_from_slice(&unsorted);
                    let found: &mut [R] =
                        sorter.sort_pinned(algorithm, &mut memory, count).unwrap();
                    assert!(found == expected, "pinned, {}", case());
                }
            }
        }
    }
}

#[test]
fn keys_of_32_bits() {
    battery::<u32>();
}

#[test]
fn keys_of_64_bits() {
    battery::<u64>();
}

#[test]
fn pairs_of_32_bits() {
    battery::<Pair<u32>>();
}

#[test]
fn pairs_of_64_bits() {
    battery::<Pair<u64>>();
}

/// Sorts so many records, whose keys repeat.
fn check<R: Made>(sorter: &mut Sorter, algorithm: Algorithm, count: u64) {
    let mut found: Vec<R> = (0..count)
        .map(|place| R::made((random(place) % 1000) << 32, place as usize))
        .collect();
    let mut expected = found.clone();
    expected.sort_by_key(R::key);
    sorter.sort(algorithm, &mut found).unwrap();
    assert!(found == expected, "{algorithm:?}, {count}");
}

#[test]
fn one_sorter_for_all_kinds() {
    let mut sorter = sorter(1000);
    for count in [70_000, 10, 3000] {
        for algorithm in ALGORITHMS {
            check::<u32>(&mut sorter, algorithm, count);
            check::<Pair<u64>>(&mut sorter, algorithm, count);
            check::<u64>(&mut sorter, algorithm, count);
            check::<Pair<u32>>(&mut sorter, algorithm, count);
        }
    }
}

/// Above a tile, the network's phases have up to three rounds here; below, one or two.
#[test]
fn many_tiles() {
    let mut sorter = sorter(1 << 20);
    for algorithm in ALGORITHMS {
        check::<u32>(&mut sorter, algorithm, 3_000_017);
        check::<Pair<u64>>(&mut sorter, algorithm, 1_500_007);
    }
}

#[test]
fn what_does_not_fit_is_refused_and_kept() {
    let options = SorterOptions {
        memory_bytes: Some((64 << 20) + 100_000),
        ..SorterOptions::default()
    };
    let mut sorter = Sorter::new(BUILD, &options).unwrap();
    for algorithm in ALGORITHMS {
        let most = usize::try_from(sorter.most_records::<u32>(algorithm)).unwrap();
        assert!((8_000..25_000).contains(&most), "{algorithm:?}: {most}");
        assert!(sorter.most_records::<Pair<u64>>(algorithm) * 2 < most as u64);
        let keys: Vec<u32> = (0..=most as u64)
            .map(|place| random(place) as u32)
            .collect();
        let mut found = keys.clone();
        let error = sorter.sort(algorithm, &mut found).unwrap_err();
        assert!(
            matches!(&error, Error::TooLarge(why) if why.contains(&most.to_string())),
            "{error}"
        );
        assert!(found == keys);
        sorter.sort(algorithm, &mut found[1..]).unwrap();
        assert!(found[1..].is_sorted());
    }
    let none = SorterOptions {
        memory_bytes: Some(0),
        ..SorterOptions::default()
    };
    let sorter = Sorter::new(BUILD, &none).unwrap();
    assert_eq!(sorter.most_records::<u64>(Algorithm::Merge), 0);
}

#[test]
fn places_of_32_bits_bound_what_bitonic_pairs_can_be() {
    let sorter = Sorter::new(Build::Host, &SorterOptions::default()).unwrap();
    let most = sorter.most_records::<Pair<u32>>(Algorithm::Bitonic);
    assert_eq!(most, 1 << 32);
    assert!(sorter.most_records::<Pair<u32>>(Algorithm::Radix) > most);
    assert!(sorter.most_records::<Pair<u64>>(Algorithm::Bitonic) > most);
}

#[test]
fn a_lost_device_is_an_error() {
    let options = SorterOptions {
        fail_after: Some(1),
        ..SorterOptions::default()
    };
    let mut sorter = Sorter::new(BUILD, &options).unwrap();
    sorter.sort(Algorithm::Radix, &mut [2u32, 1]).unwrap();
    let error = sorter.sort(Algorithm::Radix, &mut [2u32, 1]).unwrap_err();
    assert!(
        matches!(&error, Error::Failed(why) if why.contains("lost")),
        "{error}"
    );
}

#[test]
fn stages_are_timed_where_that_is_asked() {
    for timed in [false, true] {
        let options = SorterOptions {
            piece_bytes: 1000,
            timed,
            ..SorterOptions::default()
        };
        let mut sorter = Sorter::new(BUILD, &options).unwrap();
        let mut keys: Vec<u64> = (0..10_000).map(random).collect();
        sorter.sort(Algorithm::Radix, &mut keys).unwrap();
        assert!(keys.is_sorted());
        let times = sorter.times();
        for stage in [times.upload, times.sort, times.merge, times.download] {
            assert_eq!(stage > 0.0, timed, "{times:?}");
        }
    }
}

#[test]
fn a_device_that_is_not_there() {
    let options = SorterOptions {
        device: 1000,
        ..SorterOptions::default()
    };
    // The host is every device.
    assert_eq!(Sorter::new(BUILD, &options).is_err(), BUILD != Build::Host);
}
