//! Threads, splits, memory and partitions never change a result; skew and failures are borne.

use std::collections::BTreeMap;

use tokapi::mapreduce::{Emitter, Job, Line, Lines, Partitions, Threads};
use tokapi_mapreduce::{Combine, Order};
use tokapi_mapreduce::{Item, Items, Records, Room};

use tokapi::{Error, Progress};

use super::input::runners;
use crate::random::Random;

/// All values of each key, as they come: what every other job is made of.
struct Grouped {
    order: Option<Order<u64>>,
    partition: Option<fn(u64) -> u32>,
}

impl Grouped {
    fn plain() -> Self {
        Grouped {
            order: None,
            partition: None,
        }
    }
}

impl Job for Grouped {
    type Input = Items<(u64, u64)>;
    type Key<'a> = u64;
    type Value = u64;
    type Note = u64;
    type Output<'a> = (u64, Vec<u64>);

    fn map(&self, pair: Item<'_, (u64, u64)>, emit: &mut Emitter<Self>) {
        *emit.note() += 1;
        emit.pair(pair.item.0, pair.item.1);
    }

    fn all_mapped(&mut self, notes: &Records<u64>, _: &Room) -> tokapi::Result<()> {
        match notes.iter().sum::<tokapi::Result<u64>>()? {
            13 => Err(Error::Usage("thirteen".into())),
            _ => Ok(()),
        }
    }

    fn reduce(
        &self,
        key: u64,
        values: impl Iterator<Item = u64>,
        write: &mut impl FnMut((u64, Vec<u64>)),
    ) -> tokapi::Result<()> {
        write((key, values.collect()));
        Ok(())
    }

    fn value_order(&self) -> Option<Order<u64>> {
        self.order
    }

    fn partition(&self, key: &u64, hash: u64, partitions: u32) -> u32 {
        match self.partition {
            Some(partition) => partition(*key),
            None => (hash % u64::from(partitions)) as u32,
        }
    }

    fn prefix(key: &u64) -> u64 {
        *key
    }
}

fn pairs(count: u64, keys: u64) -> Vec<(u64, u64)> {
    let mut random = Random(count);
    // Half of all pairs have one key.
    let key = |n: u64, other: u64| if n.is_multiple_of(2) { keys / 2 } else { other };
    (0..count)
        .map(|n| {
            let (other, value) = (random.below(keys as usize), random.below(1000));
            (key(n, other as u64), value as u64)
        })
        .collect()
}

fn grouped(pairs: &[(u64, u64)]) -> Vec<(u64, Vec<u64>)> {
    let mut groups: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for &(key, value) in pairs {
        groups.entry(key).or_default().push(value);
    }
    groups.into_iter().collect()
}

#[test]
fn values_come_in_input_order_whatever_the_runner() {
    for count in [0, 1, 2, 1000, 50_000] {
        let pairs = pairs(count, 300);
        let expected = grouped(&pairs);
        for runner in runners() {
            for split in [1 + pairs.len() / 50, 1 << 20] {
                let input = Items::new(pairs.clone().into(), split);
                let (found, report) = runner
                    .collect(&mut Grouped::plain(), input, |output| output)
                    .unwrap();
                assert!(
                    found == expected,
                    "{count} pairs, {runner:?}, split {split}"
                );
                assert_eq!(report.emitted_pairs, count);
                assert_eq!(report.shuffled_pairs, count);
                assert_eq!(report.keys, expected.len() as u64);
                assert_eq!(report.partition_pairs.iter().sum::<u64>(), count);
            }
        }
    }
}

#[test]
fn a_secondary_key_orders_the_values_of_each_key() {
    let pairs = pairs(30_000, 50);
    let mut expected = grouped(&pairs);
    for (_, values) in &mut expected {
        values.sort_by(|a, b| b.cmp(a));
    }
    for runner in runners() {
        let mut job = Grouped {
            order: Some(|a, b| b.cmp(a)),
            ..Grouped::plain()
        };
        let input = Items::new(pairs.clone().into(), 999);
        let (found, _) = runner.collect(&mut job, input, |output| output).unwrap();
        assert!(found == expected, "{runner:?}");
    }
}

#[test]
fn partitions_by_hash_and_by_the_job_hold_all_keys_each_in_order() {
    let pairs = pairs(20_000, 500);
    let expected = grouped(&pairs);
    for partition in [None, Some((|key| (key % 5) as u32) as fn(u64) -> u32)] {
        for memory_bytes in [100_000, 1 << 30] {
            let runner = Threads {
                partitions: Partitions::Hashed(5),
                memory_bytes,
                ..Threads::default()
            };
            let mut job = Grouped {
                partition,
                ..Grouped::plain()
            };
            let mut parts: Vec<Vec<(u64, Vec<u64>)>> = Vec::new();
            let push = |part: &mut Vec<_>, output| {
                part.push(output);
                Ok(())
            };
            let input = Items::new(pairs.clone().into(), 1000);
            let report = runner
                .run(&mut job, input, Vec::new, push, |part| {
                    parts.push(part);
                    Ok(())
                })
                .unwrap();
            assert_eq!(parts.len(), 5);
            assert!(report.skew() >= 2.5, "half of all pairs have one key");
            if partition.is_some() {
                for (number, part) in (0..).zip(&parts) {
                    assert!(part.iter().all(|(key, _)| key % 5 == number));
                }
            }
            assert!(parts.iter().all(|part| part.is_sorted()));
            let mut all = parts.concat();
            all.sort();
            assert!(all == expected);
        }
    }
}

#[test]
fn a_key_larger_than_the_memory_goes_through_scratch_which_vanishes() {
    let folder = tempfile::tempdir().unwrap();
    let runner = Threads {
        threads: 2,
        memory_bytes: 64 << 10,
        scratch: folder.path().into(),
        ..Threads::default()
    };
    let pairs: Vec<(u64, u64)> = (0..400_000).map(|n| (n % 10 / 9, n)).collect();
    let input = Items::new(pairs.clone().into(), 10_000);
    let (found, report) = runner
        .collect(&mut Grouped::plain(), input, |output| output)
        .unwrap();
    assert!(found == grouped(&pairs));
    assert!(
        report.spilled_bytes > 10 * runner.memory_bytes,
        "{report:?}"
    );
    assert!(report.runs > 50);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    let nowhere = Threads {
        scratch: folder.path().join("nowhere"),
        ..runner
    };
    let input = Items::new(pairs.into(), 10_000);
    let error = nowhere.collect(&mut Grouped::plain(), input, |output| output);
    assert!(matches!(error, Err(Error::Scratch { .. })));
}

/// Cancels itself at a record, before reduction, at a key, or at a value of the only key.
struct Cancelling {
    progress: Progress,
    at: &'static str,
}

impl Cancelling {
    fn pass(&self, place: &str) {
        if self.at == place {
            self.progress.cancel();
        }
    }
}

impl Job for Cancelling {
    type Input = Items<u64>;
    type Key<'a> = u64;
    type Value = u64;
    type Note = u64;
    type Output<'a> = u64;

    fn map(&self, item: Item<'_, u64>, emit: &mut Emitter<Self>) {
        if *item.item == 50_000 {
            self.pass("map");
        }
        emit.pair(*item.item % 1000 / 999, *item.item);
    }

    fn all_mapped(&mut self, _: &Records<u64>, _: &Room) -> tokapi::Result<()> {
        self.pass("mapped");
        Ok(())
    }

    fn reduce(
        &self,
        key: u64,
        values: impl Iterator<Item = u64>,
        write: &mut impl FnMut(u64),
    ) -> tokapi::Result<()> {
        if key == 1 {
            self.pass("key");
        }
        let mut count = 0;
        for _ in values {
            count += 1;
            if count == 30_000 {
                self.pass("value");
            }
            assert!(count <= 31_000 || self.at != "value", "values go on");
        }
        write(count);
        Ok(())
    }
}

#[test]
fn a_cancelled_job_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    for at in ["map", "mapped", "key", "value"] {
        let progress = Progress::new();
        let runner = Threads {
            threads: 2,
            memory_bytes: 64 << 10,
            scratch: folder.path().into(),
            progress: progress.clone(),
            ..Threads::default()
        };
        let input = Items::new((0..100_000).collect::<Vec<_>>().into(), 10_000);
        let mut job = Cancelling { progress, at };
        let cancelled = runner.write(&mut job, input, &folder.path().join("out"), |_, _| ());
        assert!(matches!(cancelled, Err(Error::Cancelled)), "{at}");
        drop(cancelled);
        let left = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 0, "{at}");
    }
}

/// Gives each record's text to some keys, to some of them again.
#[derive(serde::Serialize, serde::Deserialize)]
pub struct Shared;

impl Shared {
    fn keys(number: u64) -> impl Iterator<Item = u64> {
        // Some records have no pairs.
        (0..number % 23).map(move |n| (number + n * n) % 11)
    }
}

impl Job for Shared {
    type Input = Items<(u64, String)>;
    type Key<'a> = u64;
    type Value = String;
    type Note = ();
    type Output<'a> = (u64, Vec<String>);

    fn map(&self, record: Item<'_, (u64, String)>, emit: &mut Emitter<Self>) {
        let (number, text) = record.item;
        match number.is_multiple_of(2) {
            true => emit.pairs(Shared::keys(*number), text.clone()),
            false => Shared::keys(*number).for_each(|key| emit.pair(key, text.clone())),
        }
    }

    fn reduce(
        &self,
        key: u64,
        values: impl Iterator<Item = String>,
        write: &mut impl FnMut((u64, Vec<String>)),
    ) -> tokapi::Result<()> {
        // One by one, and then all at once.
        let mut values = values;
        let mut all: Vec<String> = values.by_ref().take(2).collect();
        values.for_each(|value| all.push(value));
        write((key, all));
        Ok(())
    }
}

#[test]
fn values_that_come_again_come_as_often_as_they_were_emitted() {
    let long = |n: u64| format!("a text of more than seven bytes: {}", n % 3);
    let text = |n: u64| {
        if n.is_multiple_of(5) {
            long(n)
        } else {
            "x".repeat(n as usize % 10)
        }
    };
    let records: Vec<(u64, String)> = (0..20_000).map(|n| (n, text(n / 4))).collect();
    let mut expected: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for (number, text) in &records {
        for key in Shared::keys(*number) {
            expected.entry(key).or_default().push(text.clone());
        }
    }
    let expected: Vec<_> = expected.into_iter().collect();
    let emitted: u64 = expected.iter().map(|(_, texts)| texts.len() as u64).sum();
    // With the least memory runs are merged before they are reduced.
    let least = Threads {
        memory_bytes: 32 << 10,
        ..Threads::default()
    };
    for runner in runners().into_iter().chain([least]) {
        let input = Items::new(records.clone().into(), 777);
        let (found, report) = runner.collect(&mut Shared, input, |output| output).unwrap();
        assert!(found == expected, "{runner:?}");
        assert_eq!(report.emitted_pairs, emitted);
        assert_eq!(report.partition_pairs.iter().sum::<u64>(), emitted);
        let bytes = expected.iter().flat_map(|(_, texts)| texts);
        // A byte for the key, and one for the length of the text.
        let bytes: usize = bytes.map(|text| 2 + text.len()).sum();
        assert_eq!(report.pair_bytes, bytes as u64);
        assert!(report.shuffled_bytes < report.pair_bytes);
    }
}

#[test]
fn a_job_may_refuse_what_its_tasks_noted() {
    let input = Items::new(pairs(13, 3).into(), 2);
    let error = Threads::default().collect(&mut Grouped::plain(), input, |output| output);
    assert_eq!(error.unwrap_err().to_string(), "thirteen");
}

/// Counts the words of lines; one word is more than it can bear.
struct Fragile {
    combine: bool,
}

impl Job for Fragile {
    type Input = Lines;
    type Key<'a> = &'a str;
    type Value = u64;
    type Note = ();
    type Output<'a> = (&'a str, u64);

    fn map(&self, line: Line<'_>, emit: &mut Emitter<Self>) {
        for word in line.text.split(' ') {
            assert!(word != "bad", "no such word");
            emit.pair(word, 1);
        }
    }

    fn reduce(
        &self,
        word: &str,
        counts: impl Iterator<Item = u64>,
        write: &mut impl FnMut((&str, u64)),
    ) -> tokapi::Result<()> {
        assert!(word != "worse", "nor that one");
        write((word, counts.sum()));
        Ok(())
    }

    fn combiner(&self) -> Option<Combine<u64>> {
        self.combine.then_some(|sum, count| *sum += count)
    }
}

#[test]
fn a_map_that_panics_stops_the_job_or_is_left_out_without_a_trace() {
    let own = |(word, count): (&str, u64)| (word.to_owned(), count);
    for combine in [true, false] {
        let text = "a b a\nnew b bad a\nb c\nd bad";
        let mut runner = Threads::default();
        let error = runner.collect(&mut Fragile { combine }, Lines::of_text(text, 2), own);
        let error = error.unwrap_err().to_string();
        assert!(error.contains("memory, line 2 `new b bad a`"), "{error}");
        assert!(error.contains("no such word"), "{error}");
        runner.skip_bad = true;
        let (counts, report) = runner
            .collect(&mut Fragile { combine }, Lines::of_text(text, 2), own)
            .unwrap();
        let expected = [("a", 2), ("b", 2), ("c", 1)].map(|(word, n)| (word.to_owned(), n));
        assert_eq!(counts, expected);
        assert_eq!((report.skipped.count, report.emitted_pairs), (2, 5));
        assert!(report.skipped.reasons[0].contains("new b bad a"));
        let error = runner.collect(&mut Fragile { combine }, Lines::of_text("worse", 1), own);
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("worse") && error.contains("nor that one"),
            "{error}"
        );
    }
}
