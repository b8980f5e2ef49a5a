//! Laws of lists on a device: every batch, whatever the scheme, gives what the index gives for each query.

use std::path::Path;
use std::sync::Arc;

use crate::BUILD;
use crate::random::{Random, Shape, bits, query, shapes, text, without};
use proptest::prelude::*;
use tokapi::Formula;
use tokapi::{Bm25, BuildOptions, Collection, Corpus, CorpusOptions, Index};
use tokapi::{Hit, Occur, Query, SearchOptions};
use tokapi::{IndexWriter, Repeated};
use tokapi_device::gpu::{GpuIndex, GpuIndexOptions, GpuLane};
use tokapi_index::IndexOptions;
use tokapi_index::query::Algorithm;
use tokapi_kernels::{MOST_RANKED, Scheme};

fn collection(text: &str) -> Collection {
    let options = CorpusOptions::default().format(Some(tokapi::Format::Tsv));
    let corpus = Corpus::from_bytes("docs.tsv", text.to_owned(), options);
    Collection::build(corpus, &BuildOptions::default()).unwrap()
}

/// An index of `shape` in two parts, of which about one document in `of` is deleted.
fn index(folder: &Path, shape: &Shape, of: usize) -> Arc<Index> {
    let path = folder.join("index");
    let text = text(shape);
    Index::build(collection(&text), &path).unwrap();
    let mut writer = IndexWriter::open(&path, 1).unwrap();
    let more = text.replace('d', "e").replace("ense", "dense");
    writer
        .append(collection(&more), None, Repeated::Stop)
        .unwrap();
    let mut random = Random(shape.seed | 1);
    let ids: Vec<String> = (0..shape.documents)
        .filter(|_| random.below(of) == 0)
        .map(|number| format!("d{number}"))
        .collect();
    Arc::new(without(&path, writer, &ids))
}

/// An index on a device, and a lane.
struct OnDevice {
    index: GpuIndex,
    lane: GpuLane,
}

impl OnDevice {
    fn of(index: GpuIndex) -> Self {
        let lane = GpuLane::new(&index).unwrap();
        OnDevice { index, lane }
    }

    fn search(
        &mut self,
        queries: &[&Query],
        options: &SearchOptions,
    ) -> tokapi::Result<Vec<Option<Vec<Hit>>>> {
        self.lane.search(&self.index, queries, options)
    }
}

fn lane(index: &Arc<Index>, options: &GpuIndexOptions) -> OnDevice {
    OnDevice::of(GpuIndex::new(Arc::clone(index), options, &[]).unwrap())
}

fn queries(random: &mut Random, terms: usize) -> Vec<Query> {
    (0..40).map(|_| query(random, terms)).collect()
}

/// All documents that match, ascending.
fn matches(index: &Index, query: &Query) -> Vec<u32> {
    let options = SearchOptions::default()
        .k(100_000)
        .algorithm(Algorithm::Exhaustive);
    let hits = index.search(query, &options).unwrap();
    let mut documents: Vec<u32> = hits.iter().map(|hit| hit.document as u32).collect();
    documents.sort_unstable();
    let collected = index.documents(query).unwrap();
    let same = collected
        .iter()
        .copied()
        .eq(documents.iter().map(|&document| u64::from(document)));
    assert!(same, "{query:?}");
    documents
}

fn equals_the_index(shape: &Shape, deleted: usize) {
    let folder = tempfile::tempdir().unwrap();
    let index = index(folder.path(), shape, deleted);
    let mut lane = lane(&index, &GpuIndexOptions::new(BUILD));
    let mut random = Random(shape.seed | 1);
    for formula in Formula::ALL {
        let options = SearchOptions::default()
            .k([1, 10, 11, 100, 900, MOST_RANKED][random.below(6)])
            .bm25(
                Bm25::default()
                    .formula(formula)
                    .k1([0.9, 1.2][random.below(2)])
                    .b([0.0, 0.75, 1.0][random.below(3)]),
            );
        let queries = queries(&mut random, shape.terms);
        let queries: Vec<&Query> = queries.iter().collect();
        let answers = lane.search(&queries, &options).unwrap();
        for (query, answer) in queries.iter().zip(answers) {
            let expected = index.search(query, &options).unwrap();
            let answer = answer.expect("all lists are there");
            assert_eq!(bits(&answer), bits(&expected), "{query:?} {options:?}");
        }
    }
    let queries = queries(&mut random, shape.terms);
    let queries: Vec<&Query> = queries.iter().collect();
    for scheme in [Scheme::Para, Scheme::Part] {
        let mut seen = vec![0; queries.len()];
        let OnDevice {
            index: on_device,
            lane,
        } = &mut lane;
        lane.documents(on_device, &queries, scheme, |number, documents| {
            seen[number] += 1;
            let query = queries[number];
            match documents {
                Some(documents) => assert_eq!(documents, matches(&index, query), "{query:?}"),
                None => assert!(
                    query
                        .clauses
                        .iter()
                        .all(|clause| clause.occur != Occur::Must)
                ),
            }
        })
        .unwrap();
        assert!(seen.iter().all(|&times| times == 1));
    }
}

/// Lists of thousands, whose best weights are limits to begin with.
#[test]
fn long_lists() {
    for seed in 1..5 {
        let shape = Shape {
            documents: 4000,
            terms: 10,
            length: 6,
            seed,
        };
        equals_the_index(&shape, 10);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn random_collections_and_queries(shape in shapes(), deleted in 1..40usize) {
        equals_the_index(&shape, deleted);
    }
}

#[test]
fn small() {
    for (documents, terms, length) in [(1, 1, 1), (40, 5, 10), (5000, 30, 12)] {
        let shape = Shape {
            documents,
            terms,
            length,
            seed: 7,
        };
        equals_the_index(&shape, 10);
    }
}

const SHAPE: Shape = Shape {
    documents: 3000,
    terms: 40,
    length: 20,
    seed: 3,
};

#[test]
fn frequencies_of_more_than_a_byte() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = String::new();
    for (number, count) in [1, 254, 255, 256, 70_000, 3].iter().enumerate() {
        text += &format!("d{number}\t{}\n", "word ".repeat(*count));
    }
    let path = folder.path().join("index");
    Index::build(collection(&text), &path).unwrap();
    let index = Arc::new(Index::open(&path).unwrap());
    let query = Query::any(["word"]);
    let options = SearchOptions::default();
    let answers = lane(&index, &GpuIndexOptions::new(BUILD))
        .search(&[&query], &options)
        .unwrap();
    let expected = index.search(&query, &options).unwrap();
    assert_eq!(bits(answers[0].as_ref().unwrap()), bits(&expected));
}

#[test]
fn what_does_not_fit_is_left_to_others() {
    let folder = tempfile::tempdir().unwrap();
    let index = index(folder.path(), &SHAPE, 10);
    let whole = GpuIndex::fit_of(&index, &GpuIndexOptions::new(BUILD)).unwrap();
    assert_eq!(whole.fitting_lists, whole.lists);
    let options = GpuIndexOptions {
        memory_bytes: Some(whole.bytes - 100_000),
        ..GpuIndexOptions::new(BUILD)
    };
    let fit = GpuIndex::fit_of(&index, &options).unwrap();
    assert!(
        fit.fitting_lists > 0 && fit.fitting_lists < fit.lists,
        "{fit:?}"
    );
    assert!(fit.bytes <= fit.budget_bytes);
    let mut random = Random(5);
    let queries = queries(&mut random, SHAPE.terms);
    let queries: Vec<&Query> = queries.iter().collect();
    let mut lane = lane(&index, &options);
    let search = SearchOptions::default();
    let answers = lane.search(&queries, &search).unwrap();
    let answered = answers.iter().filter(|answer| answer.is_some()).count();
    assert!(answered > 0 && answered < queries.len(), "{answered}");
    for (query, answer) in queries.iter().zip(&answers) {
        if let Some(answer) = answer {
            let expected = index.search(query, &search).unwrap();
            assert_eq!(bits(answer), bits(&expected));
        }
    }
    // What was asked for most often comes first.
    let log = vec![Query::any(["t39"]); 3];
    let on_device = GpuIndex::new(Arc::clone(&index), &options, &log).unwrap();
    let mut lane = OnDevice::of(on_device);
    assert!(lane.search(&[&log[0]], &search).unwrap()[0].is_some());
}

#[test]
fn impacts_and_odd_questions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("impacts");
    let options = IndexOptions {
        impacts: Some(Bm25::default()),
        ..Default::default()
    };
    Index::build_with(collection(&text(&SHAPE)), &path, options).unwrap();
    let index = Arc::new(Index::open(&path).unwrap());
    let mut lane = lane(&index, &GpuIndexOptions::new(BUILD));
    let query = Query::any(["t1", "t3", "t1"]);
    for k in [0, 5] {
        let options = SearchOptions::default().k(k);
        let answers = lane.search(&[&query], &options).unwrap();
        let expected = index.search(&query, &options).unwrap();
        assert_eq!(bits(answers[0].as_ref().unwrap()), bits(&expected));
    }
    assert!(
        lane.search(&[], &SearchOptions::default())
            .unwrap()
            .is_empty()
    );
    let many = SearchOptions::default().k(MOST_RANKED + 1);
    assert_eq!(lane.search(&[&query], &many).unwrap(), [None]);
    let phrase = Query::phrase(["t1", "t2"]);
    assert_eq!(
        lane.search(&[&phrase], &SearchOptions::default()).unwrap(),
        [None]
    );
}

#[test]
fn a_device_that_is_lost_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let index = index(folder.path(), &SHAPE, 10);
    let options = GpuIndexOptions {
        fail_after: Some(1),
        ..GpuIndexOptions::new(BUILD)
    };
    let mut lane = lane(&index, &options);
    let query = Query::any(["t1"]);
    assert!(lane.search(&[&query], &SearchOptions::default()).is_ok());
    let error = lane.search(&[&query], &SearchOptions::default());
    assert!(error.unwrap_err().to_string().contains("lost"));
}
