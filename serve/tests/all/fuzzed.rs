//! The laws of `laws` for the seeds of the fuzz targets, and for random changes of them.

use std::path::Path;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::laws;

/// Pieces that parsers look for.
const PIECES: [&str; 34] = [
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"",
    "\\",
    "null",
    "true",
    "-1",
    "1e400",
    "18446744073709551616",
    "\n",
    "\n\n",
    "\r",
    " ",
    "%",
    "%00",
    "%ff",
    "?",
    "&",
    "=",
    "+",
    "..",
    "/",
    "_all",
    "*",
    "é",
    "\u{1f980}",
    "\u{0}",
    "\"a\":",
    "[[]]",
    "{}",
];

/// A change of bytes at a place, which is a share of their length.
#[derive(Debug, Clone)]
enum Change {
    Remove(f64, usize),
    Repeat(f64, usize),
    Insert(f64, &'static str),
    Replace(f64, u8),
    /// The end of another seed stands at the place.
    Splice(f64, usize, f64),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let place = || 0.0..1.0;
    let change = prop_oneof![
        (place(), 1..20usize).prop_map(|(at, length)| Change::Remove(at, length)),
        (place(), 1..40usize).prop_map(|(at, length)| Change::Repeat(at, length)),
        (place(), prop::sample::select(&PIECES[..]))
            .prop_map(|(at, piece)| Change::Insert(at, piece)),
        (place(), any::<u8>()).prop_map(|(at, byte)| Change::Replace(at, byte)),
        (place(), any::<usize>(), place())
            .prop_map(|(at, seed, from)| Change::Splice(at, seed, from)),
    ];
    prop::collection::vec(change, 0..6)
}

fn changed(seeds: &[Vec<u8>], seed: usize, changes: &[Change]) -> Vec<u8> {
    let mut bytes = seeds[seed % seeds.len()].clone();
    for change in changes {
        let length = bytes.len();
        let place = |share: f64| (share * length as f64) as usize;
        match *change {
            Change::Remove(at, count) => {
                drop(bytes.drain(place(at)..length.min(place(at) + count)))
            }
            Change::Repeat(at, count) => {
                let part = bytes[place(at)..length.min(place(at) + count)].to_vec();
                bytes.splice(place(at)..place(at), part);
            }
            Change::Insert(at, piece) => drop(bytes.splice(place(at)..place(at), piece.bytes())),
            Change::Replace(at, byte) => bytes
                .iter_mut()
                .skip(place(at))
                .take(1)
                .for_each(|b| *b = byte),
            Change::Splice(at, seed, from) => {
                let other = &seeds[seed % seeds.len()];
                bytes.truncate(place(at));
                bytes.extend(&other[(from * other.len() as f64) as usize..]);
            }
        }
    }
    bytes
}

/// Checks a law on the seeds of the fuzz target `name`, and on `cases` changes of them.
fn holds(name: &str, law: fn(&[u8]), cases: u32) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../fuzz/seeds")
        .join(name);
    let paths = std::fs::read_dir(&folder).unwrap();
    let mut paths: Vec<_> = paths.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let seeds: Vec<_> = paths
        .iter()
        .map(|path| std::fs::read(path).unwrap())
        .collect();
    seeds.iter().for_each(|seed| law(seed));
    let config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(cases)
    };
    let mut runner = TestRunner::new(config);
    let inputs =
        (any::<usize>(), changes()).prop_map(|(seed, changes)| changed(&seeds, seed, &changes));
    let checked = runner.run(&inputs, |bytes| {
        law(&bytes);
        Ok(())
    });
    checked.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn requests() {
    holds("request", laws::request, 2000);
}

#[test]
fn changes_of_indexes() {
    holds("change", laws::change, 300);
}

#[test]
fn tokens() {
    holds("token", laws::token, 1000);
}

#[test]
fn searches_of_elasticsearch() {
    holds("elastic", laws::elastic, 3000);
}

#[test]
fn bulk_requests_of_elasticsearch() {
    holds("bulk", laws::bulk, 3000);
}

#[test]
fn definitions_of_indexes() {
    holds("definition", laws::definition, 3000);
}

#[test]
fn files_of_settings() {
    holds("settings", laws::settings, 3000);
}

#[test]
fn places_in_rankings() {
    holds("cursor", laws::cursor, 3000);
}
