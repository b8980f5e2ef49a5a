//! Laws of many queries in order: whatever a device has, lacks or loses, answers are those of the index, one for every
//! query, in the order of the queries.

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::BUILD;
use crate::random::{Random, bits, kept, query, with_digits, without};
use tokapi::{Error, Index};
use tokapi::{Filter, Query, SearchOptions};
use tokapi::{IndexWriter, Repeated};
use tokapi_device::cooperate::{Accelerator, InOrder, SchedulerOptions, Shares};
use tokapi_device::gpu::{GpuIndex, GpuIndexOptions, GpuIndexes};
use tokapi_index::IndexOptions;
use tokapi_index::query::Algorithm;
use tokapi_kernels::MOST_RANKED;

const TERMS: usize = 40;

/// An index with positions and a field, in two parts, of which some documents are deleted.
fn index(folder: &Path) -> Arc<Index> {
    let mut random = Random(9);
    let path = folder.join("index");
    let mut part = |name: &str| {
        let texts: Vec<(String, String)> = (0..1500)
            .map(|number| {
                let mut term = || random.below(TERMS).min(random.below(TERMS));
                let terms: Vec<String> = (0..12).map(|_| format!("t{}", term())).collect();
                (format!("{name}{number}"), terms.join(" "))
            })
            .collect();
        with_digits(texts.iter().map(|(id, text)| (&**id, &**text)))
    };
    kept(&part("d"), &["digit"], |collection, contents| {
        let options = IndexOptions {
            contents: Some(contents),
            ..Default::default()
        };
        Index::build_with(collection, &path, options).unwrap();
    });
    let mut writer = IndexWriter::open(&path, 1).unwrap();
    kept(&part("e"), &["digit"], |collection, contents| {
        writer
            .append(collection, Some(contents), Repeated::Stop)
            .unwrap();
    });
    let ids: Vec<String> = (0..150).map(|number| format!("d{}", number * 7)).collect();
    Arc::new(without(&path, writer, &ids))
}

/// Random queries, some of which have filters or phrases, or nothing at all.
fn queries(count: usize) -> Vec<Query> {
    let mut random = Random(5);
    let of = |random: &mut Random| {
        let mut sought = query(random, TERMS);
        match random.below(8) {
            0 => sought
                .filters
                .push(Filter::new("digit", random.below(10).to_string()).not(random.below(3) == 0)),
            1 => sought = Query::phrase(["t1", "t2"]),
            2 if random.below(8) == 0 => sought = Query::default(),
            _ => {}
        }
        sought
    };
    (0..count).map(|_| of(&mut random)).collect()
}

fn on_device(index: &Arc<Index>, options: &GpuIndexOptions, log: &[Query]) -> Arc<dyn Accelerator> {
    let on_device = GpuIndex::new(Arc::clone(index), options, log).unwrap();
    Arc::new(Arc::new(GpuIndexes::of(Arc::new(on_device))))
}

/// The index and `count` queries.
fn with_queries(folder: &Path, count: usize) -> (Arc<Index>, Vec<Query>) {
    (index(folder), queries(count))
}

/// The same, and a device with the lists of these.
fn with_device(folder: &Path, count: usize) -> (Arc<Index>, Vec<Query>, Arc<dyn Accelerator>) {
    let (index, queries) = with_queries(folder, count);
    let gpu = on_device(&index, &GpuIndexOptions::new(BUILD), &queries);
    (index, queries, gpu)
}

/// Asks `queries` in two lots, so that lanes are used again, and compares. Gives who answered, and what was lost.
fn equals_the_index(
    index: &Arc<Index>,
    accelerator: Option<Arc<dyn Accelerator>>,
    queries: &[Query],
    search: &SearchOptions,
    options: &SchedulerOptions,
) -> (Shares, Option<String>) {
    let index_too = Arc::clone(index);
    let mut in_order = InOrder::new(index_too, accelerator, search.clone(), options).unwrap();
    let (one, other) = queries.split_at(queries.len() / 3);
    for lot in [one, other] {
        let taken = Cell::new(0);
        let source = lot.iter().cloned().inspect(|_| taken.set(taken.get() + 1));
        let mut given = 0;
        for (query, answer) in lot.iter().zip(in_order.answers(source)) {
            let expected = index.search(query, search).unwrap();
            assert_eq!(bits(&answer.unwrap()), bits(&expected), "{query:?}");
            // As many are under way as may be, and no more.
            assert_eq!(taken.get(), lot.len().min(given + options.queue));
            given += 1;
        }
        assert_eq!(given, lot.len());
    }
    let shares = in_order.shares();
    assert_eq!(shares.gpu + shares.cpu(), queries.len() as u64);
    (shares, in_order.lost())
}

/// The same by the default options, with so many queries under way.
fn shares(
    index: &Arc<Index>,
    accelerator: Option<Arc<dyn Accelerator>>,
    queries: &[Query],
    queue: usize,
) -> (Shares, Option<String>) {
    let (search, options) = (SearchOptions::default(), options(queue));
    equals_the_index(index, accelerator, queries, &search, &options)
}

fn options(queue: usize) -> SchedulerOptions {
    SchedulerOptions::default()
        .threads(2)
        .lanes(3)
        .queue(queue)
        .response(Duration::from_micros(200))
}

#[test]
fn filters_and_phrases_are_left_to_the_cpu() {
    let folder = tempfile::tempdir().unwrap();
    let (index, queries, gpu) = with_device(folder.path(), 600);
    let filters = queries.iter().filter(|query| !query.filters.is_empty());
    let phrases = queries.iter().filter(|query| !query.phrases.is_empty());
    let (filters, phrases) = (filters.count() as u64, phrases.count() as u64);
    assert!(filters > 0 && phrases > 0);
    for queue in [1, 7, 1000] {
        let (shares, lost) = shares(&index, Some(Arc::clone(&gpu)), &queries, queue);
        let expected = Shares {
            gpu: queries.len() as u64 - filters - phrases,
            filters,
            phrases,
            ..Shares::default()
        };
        assert_eq!((shares, lost), (expected, None));
    }
    let (shares, _) = equals_the_index(
        &index,
        Some(gpu),
        &queries[..1],
        &SearchOptions::default(),
        &options(10),
    );
    assert_eq!(shares.gpu + shares.cpu(), 1);
}

#[test]
fn lists_that_do_not_fit_are_left_to_the_cpu() {
    let folder = tempfile::tempdir().unwrap();
    let (index, queries) = with_queries(folder.path(), 300);
    let whole = GpuIndex::fit_of(&index, &GpuIndexOptions::new(BUILD)).unwrap();
    for memory_bytes in [0, whole.bytes - 50_000] {
        let little = GpuIndexOptions {
            memory_bytes: Some(memory_bytes),
            ..GpuIndexOptions::new(BUILD)
        };
        let gpu = on_device(&index, &little, &queries);
        let (shares, lost) = shares(&index, Some(gpu), &queries, 50);
        assert!(shares.lists > 0 && lost.is_none(), "{shares:?}");
        // Queries of no terms need no list.
        assert_eq!(shares.gpu > 10, memory_bytes > 0, "{shares:?}");
    }
}

#[test]
fn the_cpu_goes_on_without_a_device() {
    let folder = tempfile::tempdir().unwrap();
    let (index, queries) = with_queries(folder.path(), 600);
    for fail_after in [0, 2] {
        let failing = GpuIndexOptions {
            fail_after: Some(fail_after),
            ..GpuIndexOptions::new(BUILD)
        };
        let gpu = on_device(&index, &failing, &[]);
        let (shares, lost) = shares(&index, Some(gpu), &queries, 20);
        assert!(shares.lost > 0, "{shares:?}");
        assert!(shares.gpu > 0 || fail_after == 0, "{shares:?}");
        assert!(lost.unwrap().contains("lost"));
    }
    let (shares, lost) = shares(&index, None, &queries, 20);
    assert_eq!((shares.gpu, lost), (0, None));
}

#[test]
fn options_that_no_device_has() {
    let folder = tempfile::tempdir().unwrap();
    let (index, queries) = with_queries(folder.path(), 60);
    let gpu = on_device(&index, &GpuIndexOptions::new(BUILD), &[]);
    for (k, algorithm) in [
        (MOST_RANKED, Algorithm::Auto),
        (MOST_RANKED + 1, Algorithm::Auto),
        (10, Algorithm::Exhaustive),
    ] {
        let search = SearchOptions::default().k(k).algorithm(algorithm);
        let gpu = Some(Arc::clone(&gpu));
        let (shares, _) = equals_the_index(&index, gpu, &queries, &search, &options(10));
        let may = queries
            .iter()
            .filter(|query| GpuIndex::may_answer(query, &search));
        assert_eq!(shares.gpu, may.count() as u64);
        assert_eq!(shares.options > 0, shares.gpu == 0);
    }
}

#[test]
fn errors_are_those_of_the_index() {
    let folder = tempfile::tempdir().unwrap();
    let index = index(folder.path());
    let gpu = on_device(&index, &GpuIndexOptions::new(BUILD), &[]);
    let mut queries = queries(20);
    queries[7].filters.push(Filter::new("colour", "red"));
    let mut in_order = InOrder::new(
        Arc::clone(&index),
        Some(gpu),
        SearchOptions::default(),
        &options(10),
    )
    .unwrap();
    let answers: Vec<_> = in_order.answers(queries.clone()).collect();
    for (number, answer) in answers.iter().enumerate() {
        assert_eq!(answer.is_err(), number == 7);
    }
    assert!(matches!(answers[7], Err(Error::NotKept(_))));
    // Who wants no more may go.
    assert!(in_order.answers(queries).next().is_some());
}

#[test]
fn lists_are_brought_for_many_queries() {
    let folder = tempfile::tempdir().unwrap();
    let index = index(folder.path());
    // 3,000 documents take a thread 16 us a query, and half a second is the least that lists take.
    assert!(!GpuIndex::pays(&index, 10_000, 1));
    assert!(GpuIndex::pays(&index, 100_000, 1));
    assert!(!GpuIndex::pays(&index, 100_000, 16));
    assert!(!GpuIndex::pays(&index, 0, 0));
}

#[test]
fn cancelled_queries_are_not_answered() {
    let folder = tempfile::tempdir().unwrap();
    let (index, queries, gpu) = with_device(folder.path(), 100);
    for gpu in [None, Some(gpu)] {
        let (search, options) = (SearchOptions::default(), options(16));
        let mut in_order = InOrder::new(Arc::clone(&index), gpu, search, &options).unwrap();
        options.progress.cancel();
        let mut answers = in_order.answers(queries.clone());
        assert!(answers.all(|answer| matches!(answer, Err(Error::Cancelled))));
    }
    let device = GpuIndexOptions::new(BUILD);
    device.progress.cancel();
    let cancelled = GpuIndex::new(index, &device, &queries);
    assert!(matches!(cancelled, Err(Error::Cancelled)));
}
