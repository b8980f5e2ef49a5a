//! Laws of the index: every way to search gives what scoring everything gives, and no damage goes
//! unnoticed.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;

use crate::files::{data, files, join, real, unpacked};
use crate::random::{Random, Shape, corpus, kept, query, shapes, text};
use proptest::prelude::*;
use tokapi::Formula;
use tokapi::{Analyzer, Cut};
use tokapi::{Bm25, BuildOptions, Collection, Index, Memory};
use tokapi::{Clause, Filter, Hit, Occur, Query, SearchOptions};
use tokapi::{IndexWriter, Missing, StoredDocument};
use tokapi::{Storage, Stored};
use tokapi_index::IndexOptions;
use tokapi_index::query::Algorithm;

/// Scores everything from the weights that `Collection::weigh` gives, and counts the matches.
fn by_hand(weights: &tokapi::Weights, query: &Query) -> (Vec<(u64, f32)>, u64) {
    let has = |term: &str| -> HashMap<u32, f32> {
        let number = weights
            .lexicon
            .terms
            .iter()
            .position(|other| other == term.as_bytes());
        let postings = number.map_or(0..0, |number| weights.range(number));
        postings
            .map(|posting| (weights.posting_documents[posting], weights.weights[posting]))
            .collect()
    };
    let lists: Vec<(Occur, HashMap<u32, f32>)> = query
        .clauses
        .iter()
        .map(|clause| (clause.occur, has(&clause.term)))
        .collect();
    let mut scored = Vec::new();
    for document in 0..weights.documents.len() as u32 {
        let must = lists.iter().filter(|list| list.0 == Occur::Must);
        let not = lists.iter().filter(|list| list.0 == Occur::Not);
        let any = lists.iter().filter(|list| list.0 != Occur::Not);
        let matches = must.clone().all(|list| list.1.contains_key(&document))
            && not.clone().all(|list| !list.1.contains_key(&document))
            && any.clone().any(|list| list.1.contains_key(&document));
        if matches {
            let not_weighed = |term: &str| {
                let twice = |clause: &&Clause| clause.term == term && clause.occur == Occur::Not;
                query.clauses.iter().any(|clause| twice(&clause))
            };
            let score: f64 = query
                .clauses
                .iter()
                .zip(&lists)
                .filter(|(clause, _)| !not_weighed(&clause.term))
                .filter_map(|(_, list)| list.1.get(&document))
                .map(|&weight| f64::from(weight))
                .sum();
            scored.push((u64::from(document), score as f32));
        }
    }
    let count = scored.len() as u64;
    scored.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    (scored, count)
}

/// The best `k` documents, which must be those that scoring everything finds.
pub fn best(index: &Index, query: &Query, k: usize, bm25: Bm25) -> Vec<Hit> {
    let options = SearchOptions::default().k(k).bm25(bm25);
    let by = |algorithm| index.search(query, &options.clone().algorithm(algorithm));
    let found = by(Algorithm::Auto).unwrap();
    let exhaustive = by(Algorithm::Exhaustive).unwrap();
    assert_eq!(found, exhaustive, "{query:?} {options:?}");
    found
}

fn pairs(hits: &[Hit]) -> Vec<(u64, f32)> {
    hits.iter().map(|hit| (hit.document, hit.score)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn search_equals_scoring_everything(shape in shapes()) {
        let folder = tempfile::tempdir().unwrap();
        let analyzer = Analyzer::default();
        let text = text(&shape);
        let build = || Collection::build(corpus(folder.path(), &text), &BuildOptions::default().analyzer(&analyzer)).unwrap();
        let path = folder.path().join("index");
        Index::build(build(), &path).unwrap();
        let index = Index::open(&path).unwrap();
        let checked = index.check().unwrap();
        prop_assert_eq!(checked.documents, shape.documents as u64);
        let mut random = Random(shape.seed | 1);
        let mut weights = build().weigh(&Bm25::default()).unwrap();
        for round in 0..12 {
            let bm25 = Bm25::default().formula(Formula::ALL[random.below(7)]).k1([0.0, 0.9, 1.2, 5.0][random.below(4)]).b([0.0, 0.4, 0.75, 1.0][random.below(4)]);
            weights.reweigh(&bm25).unwrap();
            let query = query(&mut random, shape.terms + 1);
            let (expected, count) = by_hand(&weights, &query);
            prop_assert_eq!(index.count(&query).unwrap(), count, "{:?}", &query);
            let mut matched: Vec<u64> = expected.iter().map(|&(document, _)| document).collect();
            matched.sort_unstable();
            prop_assert_eq!(index.documents(&query).unwrap(), matched, "{:?}", &query);
            let k = [0, 1, 3, 10, 100, 100_000][random.below(6)];
            let found = pairs(&best(&index, &query, k, bm25));
            prop_assert_eq!(&found, &expected[..k.min(expected.len())], "round {}: {:?} {:?}", round, &query, bm25);
            if let Some(&(document, score)) = found.first() {
                prop_assert_eq!(index.explain(&query, &SearchOptions::default().bm25(bm25), document).unwrap().score, score);
                prop_assert_eq!(index.id(document).unwrap(), format!("d{document}"));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Many windows, few terms, short documents: most scores are the same.
    #[test]
    fn ties_go_to_the_first_in_every_window(documents in 17_000..40_000usize, terms in 1..5usize, length in 1..5usize, seed: u64) {
        let shape = Shape { documents, terms, length, seed };
        let folder = tempfile::tempdir().unwrap();
        let analyzer = Analyzer::default();
        let text = text(&shape);
        let path = folder.path().join("index");
        let built = Collection::build(corpus(folder.path(), &text), &BuildOptions::default().analyzer(&analyzer));
        Index::build(built.unwrap(), &path).unwrap();
        let index = Index::open(&path).unwrap();
        let mut random = Random(seed | 1);
        for _ in 0..20 {
            let query = query(&mut random, terms + 1);
            let bm25 = Bm25::default().formula(Formula::ALL[random.below(7)]);
            let k = [1, 3, 10, 100, 3000][random.below(5)];
            best(&index, &query, k, bm25);
        }
    }
}

#[test]
fn two_parts_are_as_good_as_one() {
    let shape = Shape {
        documents: 20_000,
        terms: 40,
        length: 12,
        seed: 5,
    };
    let folder = tempfile::tempdir().unwrap();
    let (analyzer, text) = (Analyzer::default(), text(&shape));
    let cut = text.match_indices("\nd7000\t").next().unwrap().0 + 1;
    let build = |name: &str, text: &str| {
        let path = folder.path().join(name);
        let built = Collection::build(
            corpus(folder.path(), text),
            &BuildOptions::default().analyzer(&analyzer),
        );
        Index::build(built.unwrap(), &path).unwrap();
        path
    };
    let whole = Index::open(build("whole", &text)).unwrap();
    let (first, second) = (build("first", &text[..cut]), build("second", &text[cut..]));
    join(&first, &second);
    let parts = Index::open(first).unwrap();
    assert_eq!(
        parts.check().unwrap().postings,
        whole.check().unwrap().postings
    );
    let mut random = Random(9);
    for _ in 0..300 {
        let query = query(&mut random, shape.terms + 1);
        assert_eq!(parts.count(&query).unwrap(), whole.count(&query).unwrap());
        let options = SearchOptions::default()
            .k([1, 10, 500][random.below(3)])
            .bm25(Bm25::default().formula(Formula::ALL[random.below(7)]))
            .algorithm(Algorithm::Auto);
        let hits = parts.search(&query, &options).unwrap();
        assert_eq!(hits, whole.search(&query, &options).unwrap(), "{query:?}");
        for hit in hits.iter().take(3) {
            assert_eq!(
                parts.id(hit.document).unwrap(),
                whole.id(hit.document).unwrap()
            );
        }
    }
}

#[test]
fn bytes_depend_neither_on_memory_nor_on_threads() {
    let shape = Shape {
        documents: 60_000,
        terms: 3000,
        length: 60,
        seed: 7,
    };
    let folder = tempfile::tempdir().unwrap();
    let (analyzer, text) = (Analyzer::default(), text(&shape));
    let path = folder.path().join("index");
    for impacts in [None, Some(Bm25::default())] {
        let mut same = Vec::new();
        for (threads, held) in [(1, u64::MAX), (3, u64::MAX), (2, 0)] {
            let memory = Memory::new(500_000_000).unwrap().holding(held);
            let storage = Storage::new(memory).output(path.clone());
            let options = BuildOptions::default().threads(threads).analyzer(&analyzer);
            let stored = Stored::build(corpus(folder.path(), &text), &options, &storage).unwrap();
            assert_eq!(stored.is_on_scratch(), held == 0);
            let options = IndexOptions {
                impacts,
                ..Default::default()
            };
            Index::build_with(stored, &path, options).unwrap();
            let checked = Index::open(&path).unwrap().check().unwrap();
            // More than one share, so that lists go on from one to the next.
            assert!(checked.postings > 1 << 20, "{checked:?}");
            same.push(files(&path));
            std::fs::remove_dir_all(&path).unwrap();
        }
        assert!(same.iter().all(|files| *files == same[0]));
    }
}

/// Every query of a reference run: the same documents, but for ties, and the same scores.
fn equals_run(collection: &str) {
    let folder = tempfile::tempdir().unwrap();
    let analyzer = Analyzer::from(Cut::Python);
    let path = folder.path().join("index");
    Index::build(real(collection, &analyzer), &path).unwrap();
    let index = Index::open(&path).unwrap();
    index.check().unwrap();
    let run = unpacked(&data(collection).join("bm25s-lucene.run.zst"));
    let mut expected: HashMap<&str, Vec<(&str, f64)>> = HashMap::new();
    for line in run.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let scored = (fields[2], fields[4].parse().unwrap());
        expected.entry(fields[0]).or_default().push(scored);
    }
    let queries = std::fs::read_to_string(data(collection).join("queries.tsv")).unwrap();
    let mut compared = 0;
    for line in queries.lines() {
        let (number, text) = line.split_once('\t').unwrap();
        let Some(expected) = expected.get(number) else {
            continue;
        };
        let query = Query::any(index.analyzer().terms(text));
        let options = SearchOptions::default().k(expected.len());
        let hits = index.search(&query, &options).unwrap();
        assert_eq!(hits.len(), expected.len());
        let last = expected[expected.len() - 1].1;
        let scores: HashMap<&str, f64> = expected.iter().copied().collect();
        for (hit, &(_, score)) in hits.iter().zip(expected) {
            let close = |other: f64| (f64::from(hit.score) - other).abs() / score < 1e-5;
            assert!(close(score), "query {number}: {hit:?}, expected {score}");
            // The same document, or one that ties with the last.
            let id = index.id(hit.document).unwrap();
            let of_document = scores.get(&*id).copied();
            assert!(
                close(of_document.unwrap_or(last)),
                "query {number}: {id} {of_document:?}"
            );
            compared += 1;
        }
    }
    assert_eq!(compared, run.lines().count());
}

#[test]
fn cranfield() {
    equals_run("cranfield");
}

#[test]
fn scifact() {
    equals_run("scifact");
}

/// Builds an index of lines of an id and a text that keeps texts, two fields and positions.
fn keeping_everything(text: &str, path: &Path) {
    let mut lines = String::new();
    for (number, line) in text.lines().enumerate() {
        let (id, text) = line.split_once('\t').unwrap();
        let half = number % 2;
        writeln!(
            lines,
            r#"{{"id": "{id}", "text": "{text}", "half": {half}, "own": "{id}"}}"#
        )
        .unwrap();
    }
    kept(&lines, &["half", "own"], |collection, contents| {
        let options = IndexOptions {
            contents: Some(contents),
            ..Default::default()
        };
        Index::build_with(collection, path, options).unwrap();
    });
}

#[test]
fn damage_is_told_or_does_no_harm() {
    let shape = Shape {
        documents: 3000,
        terms: 200,
        length: 40,
        seed: 3,
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    keeping_everything(&text(&shape), &path);
    let mut writer = IndexWriter::open(&path, 1).unwrap();
    let gone: Vec<String> = (0..600).map(|number| format!("d{}", 5 * number)).collect();
    writer
        .delete(gone.iter().map(String::as_str), Missing::Ignore)
        .unwrap();
    drop(writer);
    let filter = |field: &str, value: &str| Filter::new(field, value);
    let filtered = |query: Query, filter: Filter| query.filters([filter]);
    let queries = [
        Query::any(["t0", "t5", "t150", "dense"]),
        Query::all(["t1", "dense"]),
        Query::any(["t199"]),
        Query::phrase(["t0", "t1"]),
        filtered(Query::any(["t0", "t5"]), filter("half", "1")),
        filtered(Query::any(["t0", "t5"]), filter("own", "d1234")),
    ];
    let options = SearchOptions::default();
    type Found = (String, f32, StoredDocument);
    let answer = || -> tokapi::Result<Vec<Vec<Found>>> {
        let index = Index::open(&path)?;
        let mut answers = Vec::new();
        for query in &queries {
            let mut answer = Vec::new();
            for hit in index.search(query, &options)? {
                let id = index.id(hit.document)?.into_owned();
                answer.push((id, hit.score, index.document(hit.document)?));
            }
            answers.push(answer);
        }
        Ok(answers)
    };
    let expected = answer().unwrap();
    let mut files = Vec::from_iter(files(&path));
    files.retain(|(_, bytes)| !bytes.is_empty());
    let mut random = Random(11);
    let mut told = 0;
    for trial in 0..10_000 {
        let (name, bytes) = &files[random.below(files.len())];
        let mut damaged = bytes.clone();
        match random.below(5) {
            0 => damaged.truncate(random.below(bytes.len())),
            _ => damaged[random.below(bytes.len())] ^= 1 << random.below(8),
        }
        std::fs::write(name, &damaged).unwrap();
        match answer() {
            Err(_) => told += 1,
            Ok(answers) => assert_eq!(answers, expected, "trial {trial}: {}", name.display()),
        }
        let check = Index::open(&path).and_then(|index| index.check());
        assert!(
            check.is_err(),
            "trial {trial}: {} passes the check",
            name.display()
        );
        std::fs::write(name, bytes).unwrap();
    }
    assert!(told > 5_000, "{told} of 10,000 were told");
    assert_eq!(answer().unwrap(), expected);
}
