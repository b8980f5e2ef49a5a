//! Laws of indexes on a device whose states follow each other, and of statistics from outside: answers are those of the
//! index in that state, with those statistics.

use std::fmt::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use tokapi::{Bm25, BuildOptions, Collection, Corpus, CorpusOptions, Error, Format, Formula};
use tokapi::{Hit, Index, IndexWriter, Missing, Query, QueryStatistics, Repeated, SearchOptions};
use tokapi_device::cooperate::{Accelerator, Search};
use tokapi_device::gpu::{
    GpuIndex, GpuIndexOptions, GpuIndexes, GpuLane, Keeper, KeeperOptions, Kept,
};
use tokapi_kernels::Scheme;

use crate::BUILD;
use crate::random::{Random, Shape, bits, query, shapes, text};

fn collection(text: &str) -> Collection {
    let options = CorpusOptions::default().format(Some(Format::Tsv));
    let corpus = Corpus::from_bytes("docs.tsv", text.to_owned(), options);
    Collection::build(corpus, &BuildOptions::default()).unwrap()
}

fn build(path: &Path, text: &str) -> Arc<Index> {
    Index::build(collection(text), path).unwrap();
    Arc::new(Index::open(path).unwrap())
}

fn options() -> GpuIndexOptions {
    GpuIndexOptions {
        threads: 3,
        ..GpuIndexOptions::new(BUILD)
    }
}

fn random_options(random: &mut Random) -> SearchOptions {
    let bm25 = Bm25::default()
        .formula(Formula::ALL[random.below(7)])
        .k1([0.0, 0.9, 5.0][random.below(3)])
        .b([0.0, 0.4, 1.0][random.below(3)]);
    SearchOptions::default()
        .k([1, 10, 100, 1024][random.below(4)])
        .bm25(bm25)
}

/// Checks answers and matches of the device against those of the index.
fn same(on_device: &GpuIndex, lane: &mut GpuLane, random: &mut Random, terms: usize) {
    let index = on_device.index();
    let queries: Vec<Query> = (0..25).map(|_| query(random, terms)).collect();
    let queries: Vec<&Query> = queries.iter().collect();
    let options = random_options(random);
    let answers = lane.search(on_device, &queries, &options).unwrap();
    for (query, answer) in queries.iter().zip(answers) {
        let expected = index.search(query, &options).unwrap();
        assert_eq!(
            bits(&answer.expect("all lists")),
            bits(&expected),
            "{query:?}"
        );
    }
    let each = |number: usize, documents: Option<&[u32]>| {
        let query: &Query = queries[number];
        let expected = index.documents(query).unwrap().into_iter();
        if let Some(documents) = documents {
            assert!(
                documents
                    .iter()
                    .map(|&document| u64::from(document))
                    .eq(expected)
            );
        }
    };
    lane.documents(on_device, &queries, Scheme::Para, each)
        .unwrap();
}

/// Documents with ids from `first` on; the terms of some are more frequent than a byte can tell.
fn documents(first: usize, shape: &Shape, random: &mut Random) -> String {
    let mut lines = String::new();
    for (number, line) in text(shape).lines().enumerate() {
        let (_, text) = line.split_once('\t').unwrap();
        let more = match random.below(30) {
            0 => format!(" t{}", random.below(5)).repeat(250 + random.below(10)),
            1 => format!(" only{}", first + number),
            _ => String::new(),
        };
        writeln!(lines, "d{}\t{text}{more}", first + number).unwrap();
    }
    lines
}

/// Makes a random change.
fn change(writer: &mut IndexWriter, random: &mut Random, seed: u64) {
    let shape = Shape {
        documents: [1, 7, 400][random.below(3)],
        terms: 1 + random.below(60),
        length: 1 + random.below(20),
        seed,
    };
    match random.below(8) {
        0 => writer.merge().unwrap(),
        1 | 2 => {
            let of = 2 + random.below(40);
            let ids: Vec<String> = (0..4000)
                .filter(|_| random.below(of) == 0)
                .map(|number| format!("d{number}"))
                .collect();
            let ids = ids.iter().map(|id| &**id);
            writer.delete(ids, Missing::Ignore).unwrap();
        }
        _ => {
            let lines = documents(random.below(3000), &shape, random);
            let repeated = [Repeated::Replace, Repeated::Skip][random.below(2)];
            writer.append(collection(&lines), None, repeated).unwrap();
        }
    }
    writer.wait().unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn every_state_answers_as_its_index(shape in shapes(), changes in 1..14usize) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index");
        let mut random = Random(shape.seed | 1);
        let index = build(&path, &documents(0, &shape, &mut random));
        let mut writer = IndexWriter::open(&path, 1).unwrap();
        let mut on_device = GpuIndex::new(index, &options(), &[]).unwrap();
        let mut lane = GpuLane::new(&on_device).unwrap();
        for number in 0..changes {
            change(&mut writer, &mut random, number as u64 * 77 + 1);
            let next = Arc::new(Index::open(&path).unwrap());
            let renewed = on_device.renewed(Arc::clone(&next), &options()).unwrap();
            let renewed = renewed.unwrap_or_else(|| GpuIndex::new(next, &options(), &[]).unwrap());
            let fresh = GpuIndex::new(Arc::clone(renewed.index()), &options(), &[]).unwrap();
            prop_assert_eq!(renewed.fit().postings, fresh.fit().postings);
            prop_assert_eq!(renewed.fit().lists, fresh.fit().lists);
            // The state before answers as before.
            same(&on_device, &mut lane, &mut random, shape.terms + 1);
            same(&renewed, &mut lane, &mut random, shape.terms + 1);
            on_device = renewed;
        }
    }

    #[test]
    fn shards_answer_by_the_statistics_of_all(shape in shapes(), count in 1..5usize) {
        let folder = tempfile::tempdir().unwrap();
        let lines = text(&shape);
        let mut random = Random(shape.seed | 1);
        let mut of_shard = vec![String::new(); count];
        for line in lines.lines() {
            writeln!(of_shard[random.below(count)], "{line}").unwrap();
        }
        let numbered = (0..).zip(&of_shard);
        let shards: Vec<Arc<Index>> = numbered
            .map(|(number, lines): (usize, _)| build(&folder.path().join(format!("{number}")), lines))
            .collect();
        let on_device: Vec<GpuIndex> = shards
            .iter()
            .map(|shard| GpuIndex::new(Arc::clone(shard), &options(), &[]).unwrap())
            .collect();
        let mut lane = GpuLane::new(&on_device[0]).unwrap();
        let mut asked = random_options(&mut random);
        for _ in 0..6 {
            let query = query(&mut random, shape.terms + 1);
            let mut all = QueryStatistics::default();
            for shard in &shards {
                all.add(&shard.query_statistics(&query).unwrap());
            }
            if random.below(3) == 0 {
                asked = random_options(&mut random);
            }
            let by_all = asked.clone().statistics(Some(Arc::new(all)));
            for (shard, on_device) in shards.iter().zip(&on_device) {
                for options in [&by_all, &asked, &by_all] {
                    let expected = shard.search(&query, options).unwrap();
                    let answers = lane.search(on_device, &[&query], options).unwrap();
                    let answer = answers[0].as_ref().expect("all lists");
                    prop_assert_eq!(bits(answer), bits(&expected), "{:?} {:?}", &query, options);
                }
            }
        }
    }
}

const SHAPE: Shape = Shape {
    documents: 3000,
    terms: 20,
    length: 10,
    seed: 5,
};

fn answers(on: &Arc<GpuIndexes>, search: &Search) -> Option<Vec<Hit>> {
    on.complexity(search)?;
    let mut lane = on.lane().unwrap();
    let answer = lane.answer(&[search]).unwrap().swap_remove(0);
    assert!(answer.is_some(), "the same weights are there");
    answer
}

/// A scheduler's device answers only by the weights that it has; its owner changes them.
#[test]
fn other_weights_are_left_to_the_index() {
    let folder = tempfile::tempdir().unwrap();
    let index = build(&folder.path().join("index"), &text(&SHAPE));
    let on_device = Arc::new(GpuIndex::new(Arc::clone(&index), &options(), &[]).unwrap());
    let indexes = Arc::new(GpuIndexes::of(Arc::clone(&on_device)));
    let query = Query::any(["t1", "t7", "unknown"]);
    let own = index.query_statistics(&query).unwrap();
    let larger = own
        .clone()
        .documents(9000, 80_000)
        .df("t1", 4000)
        .df("unknown", 3);
    let one_more = larger.clone().df("t7", 2000);
    let k1 = Bm25::default().k1(0.3);
    let search = |statistics: Option<&QueryStatistics>, bm25: Bm25| Search {
        index: Arc::clone(&index),
        query: query.clone(),
        options: SearchOptions::default()
            .bm25(bm25)
            .statistics(statistics.cloned().map(Arc::new)),
    };
    let usual = Bm25::default();
    let searches = [
        search(None, usual),
        search(Some(&own), usual),
        search(Some(&larger), usual),
        search(Some(&one_more), usual),
        search(None, k1),
    ];
    // The weighing, and whether it is that of each search.
    let cases: [(Option<&QueryStatistics>, Bm25, [bool; 5]); 6] = [
        (None, usual, [true, true, false, false, false]),
        (Some(&larger), usual, [false, false, true, false, false]),
        (Some(&one_more), usual, [false, false, false, true, false]),
        (Some(&larger), usual, [false, false, true, false, false]),
        (None, k1, [false, false, false, false, true]),
        (None, usual, [true, true, false, false, false]),
    ];
    for (statistics, bm25, are_answered) in cases {
        on_device.weigh(&bm25, statistics).unwrap();
        for (search, is_answered) in searches.iter().zip(are_answered) {
            let answer = answers(&indexes, search);
            assert_eq!(answer.is_some(), is_answered, "{:?}", search.options);
            if let Some(answer) = answer {
                let expected = index.search(&search.query, &search.options).unwrap();
                assert_eq!(bits(&answer), bits(&expected));
            }
        }
    }
    let missing = own.clone().df("t1", 1);
    let fewer = own.documents(1, 1);
    for wrong in [&missing, &fewer] {
        let error = on_device.weigh(&usual, Some(wrong)).unwrap_err();
        assert!(matches!(error, Error::Usage(_)), "{error}");
        assert!(answers(&indexes, &search(Some(wrong), usual)).is_none());
    }
    assert!(answers(&indexes, &searches[0]).is_some());
}

#[test]
fn only_new_parts_are_brought() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let index = build(&path, &text(&SHAPE));
    let mut writer = IndexWriter::open(&path, 1).unwrap();
    let first = GpuIndex::new(index, &options(), &[]).unwrap();
    let state = |writer: &mut IndexWriter| {
        writer.wait().unwrap();
        Arc::new(Index::open(&path).unwrap())
    };
    let more = "x1\tt1 t2 new\nx2\tt3 new new\n";
    writer
        .append(collection(more), None, Repeated::Stop)
        .unwrap();
    writer.delete(["d5", "d2999"], Missing::Stop).unwrap();
    let second = first
        .renewed(state(&mut writer), &options())
        .unwrap()
        .unwrap();
    assert_eq!(second.index().statistics().documents, 3000);
    assert_eq!(second.fit().lists, first.fit().lists + 1);
    // No room for both states, or not all of the lists: they are loaded anew.
    let cramped = GpuIndexOptions {
        memory_bytes: Some(second.fit().bytes - 50_000),
        ..options()
    };
    let next = Arc::clone(second.index());
    assert!(
        first
            .renewed(Arc::clone(&next), &cramped)
            .unwrap()
            .is_none()
    );
    let some = GpuIndex::new(next, &cramped, &[]).unwrap();
    assert!(!some.fit().is_whole());
    // One part of all: nothing of it is there.
    writer.merge().unwrap();
    let merged = state(&mut writer);
    assert!(
        second
            .renewed(Arc::clone(&merged), &options())
            .unwrap()
            .is_none()
    );
    assert!(some.renewed(merged, &options()).unwrap().is_none());
    let other = build(&folder.path().join("other"), &text(&SHAPE));
    assert!(first.renewed(other, &options()).unwrap().is_none());
}

#[test]
fn a_lost_device_is_used_again() {
    let folder = tempfile::tempdir().unwrap();
    let index = build(&folder.path().join("index"), &text(&SHAPE));
    let failing = GpuIndexOptions {
        fail_after: Some(1),
        ..options()
    };
    let indexes = Arc::new(GpuIndexes::new(failing.clone()));
    let put = || {
        let on_device = GpuIndex::new(Arc::clone(&index), &failing, &[]).unwrap();
        indexes.put(Arc::new(on_device))
    };
    assert!(put());
    let search = Search {
        index: Arc::clone(&index),
        query: Query::any(["t1"]),
        options: SearchOptions::default(),
    };
    for _ in 0..2 {
        let (mut lane, other) = (indexes.lane().unwrap(), indexes.lane().unwrap());
        assert!(lane.answer(&[&search]).unwrap()[0].is_some());
        assert!(lane.answer(&[&search]).is_err());
        // All of it is lost.
        assert!(indexes.lost().unwrap().contains("lost"));
        assert!(indexes.complexity(&search).is_none() && indexes.held().is_empty());
        assert!(indexes.lane().is_err() && !put());
        drop(lane);
        assert!(indexes.recover().is_err());
        drop(other);
        indexes.recover().unwrap();
        assert!(indexes.lost().is_none() && put());
    }
}

/// Waits until something holds.
fn until(mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < Duration::from_secs(120));
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_keeper_follows_the_newest_states() {
    let folder = tempfile::tempdir().unwrap();
    let shape = |documents: usize| Shape { documents, ..SHAPE };
    let build =
        |name: &str, documents: usize| build(&folder.path().join(name), &text(&shape(documents)));
    let (small, large, tiny) = (build("small", 1500), build("large", 9000), build("tiny", 2));
    let bytes_of = |index: &Index| GpuIndex::fit_of(index, &options()).unwrap().bytes;
    // The small one has to go for the large one, and fits in part then.
    let indexes = Arc::new(GpuIndexes::new(GpuIndexOptions {
        memory_bytes: Some(bytes_of(&large) + bytes_of(&small) - 10_000),
        ..options()
    }));
    let newest = Arc::new(Mutex::new(vec![Arc::clone(&small), Arc::clone(&tiny)]));
    let (told, happened) = mpsc::channel();
    let (read, brings) = (Arc::clone(&newest), told.clone());
    let keeper = Keeper::start(
        Arc::clone(&indexes),
        KeeperOptions {
            least_postings: 100,
            settle: Duration::from_millis(1),
            retry: Duration::from_millis(1),
        },
        move || read.lock().unwrap().clone(),
        move |kept| {
            if let Kept::Brought {
                index, is_renewed, ..
            } = kept
            {
                brings
                    .send((Arc::clone(index.index()), is_renewed))
                    .unwrap();
            }
        },
    );
    let keeper = keeper.unwrap();
    let has = |index: &Arc<Index>| {
        let held = indexes.held();
        let found = held.iter().find(|held| Arc::ptr_eq(held.index(), index));
        found.map(|held| held.fit().is_whole())
    };
    until(|| has(&small) == Some(true));
    newest.lock().unwrap().push(Arc::clone(&large));
    until(|| has(&large) == Some(true) && has(&small) == Some(false));
    let mut writer = IndexWriter::open(large.path(), 1).unwrap();
    let more = collection("x1\tt1 t2 new\n");
    writer.append(more, None, Repeated::Stop).unwrap();
    writer.wait().unwrap();
    let next = Arc::new(Index::open(large.path()).unwrap());
    // Only the newest state of an index answers.
    newest.lock().unwrap()[2] = Arc::clone(&next);
    until(|| has(&next).is_some());
    assert!(has(&large).is_none() && has(&tiny).is_none());
    newest.lock().unwrap().clear();
    until(|| indexes.held().is_empty());
    until(|| indexes.sweep() == 0);
    drop(keeper);
    let brought: Vec<(Arc<Index>, bool)> = happened.try_iter().collect();
    assert!(Arc::ptr_eq(&brought[0].0, &small) && !brought[0].1);
}
