//! Every engine gives the result of the reference; words have the order of their keys.

use std::cmp::Ordering;
use std::fmt::Debug;

use proptest::prelude::*;

use super::*;

/// Sizes around a digit's values, the smallest block, the limit of one thread, and the size of a cache.
const SIZES: [usize; 19] = [
    0, 1, 2, 127, 128, 129, 255, 256, 257, 4095, 4096, 4097, 16_383, 16_384, 16_385, 262_143,
    262_145, 524_289, 1_000_000,
];

fn mix(place: u64) -> u64 {
    let bits = place.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits ^ bits >> 27
}

/// The key at a place, given the number of keys.
type Law = fn(u64, u64) -> u64;

const LAWS: [(&str, Law); 11] = [
    ("uniform", |place, _| mix(place)),
    ("low bits", |place, _| mix(place) >> 41),
    ("high bits", |place, _| mix(place) << 41),
    ("17 bits", |place, _| mix(place) >> 47 << 10 | 5),
    ("few", |place, _| mix(mix(place) % 100)),
    ("two", |place, _| mix(place) & (1 << 50)),
    ("equal", |_, _| 7 << 40),
    ("sorted", |place, count| place * (u64::MAX / count)),
    ("reverse", |place, count| {
        (count - place) * (u64::MAX / count)
    }),
    ("nearly sorted", |place, count| match mix(place) % 1000 {
        0 => mix(place),
        _ => place * (u64::MAX / count),
    }),
    // Half of all keys in one bucket, half of those in one of its buckets, and so on.
    ("nested", |place, _| {
        mix(place) >> mix(place ^ 1 << 40).trailing_zeros().min(60)
    }),
];

fn high_half(bits: u64) -> u32 {
    (bits >> 32) as u32
}

/// Runs both engines on the same items, in all four shapes. Payloads are the places, so an unstable sort of pairs
/// shows.
fn compare(what: &str, engine: &mut dyn Sort, keys: &[u64]) {
    let reference = &mut Reference;
    let halves: Vec<u32> = keys.iter().copied().map(high_half).collect();
    let results = [&mut *engine as &mut dyn Sort, reference].map(|engine| {
        let (mut keys32, mut keys64) = (halves.clone(), keys.to_vec());
        engine.keys32(&mut keys32).unwrap();
        engine.keys64(&mut keys64).unwrap();
        let pairs32 = &mut (halves.clone(), (0..halves.len() as u32).collect::<Vec<_>>());
        engine.pairs32(&mut pairs32.0, &mut pairs32.1).unwrap();
        let pairs64 = &mut (keys.to_vec(), (0..keys.len() as u64).collect::<Vec<_>>());
        engine.pairs64(&mut pairs64.0, &mut pairs64.1).unwrap();
        (keys32, keys64, pairs32.clone(), pairs64.clone())
    });
    let count = keys.len();
    let [found, expected] = results;
    for (same, of) in [
        (found.0 == expected.0, "keys of 32 bits"),
        (found.1 == expected.1, "keys of 64 bits"),
        (found.2 == expected.2, "pairs of 32 bits"),
        (found.3 == expected.3, "pairs of 64 bits"),
    ] {
        assert!(same, "{what}, {count} {of}");
    }
}

#[test]
fn sorts_every_law_at_every_size() {
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.unwrap().install(|| {
            let mut engine = Cpu::new();
            for (name, law) in LAWS {
                for count in SIZES {
                    let keys = (0..count as u64).map(|place| law(place, count as u64));
                    compare(name, &mut engine, &keys.collect::<Vec<_>>());
                }
            }
        });
    }
}

/// Enough keys for buckets that are partitioned again, by one thread and by all.
#[test]
fn sorts_buckets_of_buckets() {
    let count = 9_000_000;
    for (name, law) in [LAWS[0], LAWS[10]] {
        let keys: Vec<u64> = (0..count).map(|place| law(place, count)).collect();
        let halves: Vec<u32> = keys.iter().copied().map(high_half).collect();
        let (mut keys32, mut keys64) = (halves.clone(), keys.clone());
        Cpu::new().keys32(&mut keys32).unwrap();
        Cpu::new().keys64(&mut keys64).unwrap();
        let mut sorted = keys;
        sorted.sort_unstable();
        assert!(keys64 == sorted, "{name}");
        assert!(keys32.is_sorted(), "{name}");
        assert!(sorted.into_iter().map(high_half).eq(keys32), "{name}");
    }
}

#[test]
fn refuses_payloads_of_another_length() {
    for engine in [&mut Cpu::new() as &mut dyn Sort, &mut Reference] {
        assert!(engine.pairs32(&mut [1, 2], &mut [1]).is_err());
        assert!(engine.pairs64(&mut [1], &mut [1, 2]).is_err());
    }
}

#[test]
fn floats_are_in_total_order() {
    let ordered = [
        -f32::NAN,
        f32::NEG_INFINITY,
        -1.5,
        -f32::MIN_POSITIVE,
        -1e-45,
        -0.0,
        0.0,
        1e-45,
        1.0,
        f32::MAX,
        f32::INFINITY,
        f32::NAN,
    ];
    let mut words = ordered.map(f32::to_bits);
    KeyType::F32.order32(&mut words);
    assert!(words.is_sorted_by(|a, b| a < b), "{words:x?}");
    let mut words = ordered.map(|float| f64::from(float).to_bits());
    KeyType::F64.order64(&mut words);
    assert!(words.is_sorted_by(|a, b| a < b), "{words:x?}");
}

/// Checks that two keys become words in the expected order, and that these become the keys again.
fn turn_back<W: Copy + Ord + Debug>(
    keys: [W; 2],
    expected: Ordering,
    order: impl Fn(&mut [W]),
    restore: impl Fn(&mut [W]),
) {
    let mut words = keys;
    order(&mut words);
    assert_eq!(words[0].cmp(&words[1]), expected);
    restore(&mut words);
    assert_eq!(words, keys);
}

proptest! {
    #[test]
    fn sorts_anything(keys in prop::collection::vec(any::<u64>(), 0..600), shift in 0u32..64) {
        let keys: Vec<u64> = keys.into_iter().map(|key| key >> shift).collect();
        compare("any", &mut Cpu::new(), &keys);
    }

    #[test]
    fn words_are_ordered_as_keys_are_and_turn_back(a in any::<[u64; 2]>()) {
        let [x, y] = a.map(high_half);
        let narrow = |of: KeyType, expected| {
            turn_back([x, y], expected, |keys| of.order32(keys), |words| of.restore32(words))
        };
        narrow(KeyType::U32, x.cmp(&y));
        narrow(KeyType::I32, x.cast_signed().cmp(&y.cast_signed()));
        narrow(KeyType::F32, f32::from_bits(x).total_cmp(&f32::from_bits(y)));
        let [x, y] = a;
        let wide = |of: KeyType, expected| {
            turn_back([x, y], expected, |keys| of.order64(keys), |words| of.restore64(words))
        };
        wide(KeyType::U64, x.cmp(&y));
        wide(KeyType::I64, x.cast_signed().cmp(&y.cast_signed()));
        wide(KeyType::F64, f64::from_bits(x).total_cmp(&f64::from_bits(y)));
    }
}
