//! Laws of reordering: an index whose documents were put in another order has, file by file, the bytes of the
//! index that is built of the documents in that order.

use std::collections::BTreeMap;
use std::path::Path;

use crate::files::part_files;
use crate::random::{Random, Shape, query, shapes, text, with_digits};
use proptest::prelude::*;
use tokapi::SearchOptions;
use tokapi::{Collection, Index, Progress, Stage};
use tokapi::{IndexWriter, Missing, Reorder, Reordering, Repeated};
use tokapi_index::{Contents, IndexOptions};

/// A document: its id and its text.
type Document = (String, String);

const ORDERS: [Reorder; 2] = [Reorder::Id, Reorder::Graph];

fn documents(shape: &Shape) -> Vec<Document> {
    let text = text(shape);
    let documents = text.lines().map(|line| line.split_once('\t').unwrap());
    documents
        .map(|(id, text)| (id.to_owned(), text.to_owned()))
        .collect()
}

/// Gives the documents and what is kept of them, if anything, to `user`. Their only field is the last digit
/// of the id.
fn with<T>(
    documents: &[Document],
    kept: bool,
    user: impl FnOnce(Collection, Option<Contents<'_>>) -> T,
) -> T {
    let documents = documents.iter().map(|(id, text)| (&**id, &**text));
    let fields: &[&str] = if kept { &["digit"] } else { &[] };
    crate::random::kept(&with_digits(documents), fields, |collection, contents| {
        user(collection, kept.then_some(contents))
    })
}

fn build(documents: &[Document], kept: bool, path: &Path) {
    with(documents, kept, |collection, contents| {
        let options = IndexOptions {
            contents,
            ..Default::default()
        };
        Index::build_with(collection, path, options)
    })
    .unwrap();
}

fn how(by: Reorder, threads: usize, progress: &Progress) -> Reordering {
    Reordering::new(by)
        .threads(threads)
        .progress(progress.clone())
}

fn build_reordered(documents: &[Document], kept: bool, by: Reorder, threads: usize, path: &Path) {
    let progress = Progress::new();
    let how = how(by, threads, &progress);
    with(documents, kept, |collection, contents| {
        Index::build_with(
            collection,
            path,
            IndexOptions {
                contents,
                reorder: Some(&how),
                ..Default::default()
            },
        )
    })
    .unwrap();
    assert_eq!(progress.snapshot().stage, Stage::Writing);
}

/// The documents in the order that an index has them in.
fn in_order_of(path: &Path, documents: &[Document]) -> Vec<Document> {
    let index = Index::open(path).unwrap();
    let texts: BTreeMap<&str, &str> = documents
        .iter()
        .map(|(id, text)| (&**id, &**text))
        .collect();
    let numbers = 0..index.statistics().documents;
    let ordered: Vec<Document> = numbers
        .map(|number| index.id(number).unwrap().into_owned())
        .map(|id| (id.clone(), texts[&*id].to_owned()))
        .collect();
    let distinct: std::collections::BTreeSet<_> = ordered.iter().map(|(id, _)| id).collect();
    assert_eq!(distinct.len(), documents.len());
    ordered
}

/// Whether the index at `path` is that of its documents in its order.
fn is_index_of_its_order(path: &Path, documents: &[Document], kept: bool) {
    let folder = tempfile::tempdir().unwrap();
    let fresh = folder.path().join("fresh");
    build(&in_order_of(path, documents), kept, &fresh);
    let (reordered, fresh) = (part_files(path), part_files(&fresh));
    assert!(reordered.keys().eq(fresh.keys()));
    for (name, bytes) in &reordered {
        assert!(*bytes == fresh[name], "{name}");
    }
    let checked = Index::open(path).unwrap().check().unwrap();
    assert_eq!(checked.documents, documents.len() as u64);
}

/// The scores that an index finds, and the ids of those documents that no document of the same score could
/// take the place of.
fn answers(path: &Path, seed: u64) -> Vec<(Vec<f32>, Vec<String>)> {
    let index = Index::open(path).unwrap();
    let mut random = Random(seed | 1);
    let answer = |_| {
        let query = query(&mut random, 40);
        let hits = index.search(&query, &SearchOptions::default()).unwrap();
        let scores: Vec<f32> = hits.iter().map(|hit| hit.score).collect();
        let last = scores.last().copied().unwrap_or(0.0);
        let above = hits.iter().filter(|hit| hit.score > last);
        let mut ids: Vec<String> = above
            .map(|hit| index.id(hit.document).unwrap().into_owned())
            .collect();
        ids.sort();
        (scores, ids)
    };
    (0..10).map(answer).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_reordered_index_is_that_of_the_order(shape in shapes(), kept in any::<bool>()) {
        let documents = documents(&shape);
        let folder = tempfile::tempdir().unwrap();
        let given = folder.path().join("given");
        build(&documents, kept, &given);
        for by in ORDERS {
            let path = folder.path().join(format!("{by:?}"));
            build_reordered(&documents, kept, by, 3, &path);
            is_index_of_its_order(&path, &documents, kept);
            prop_assert_eq!(answers(&path, shape.seed), answers(&given, shape.seed));
            let alone = folder.path().join(format!("{by:?} on one thread"));
            build_reordered(&documents, kept, by, 1, &alone);
            prop_assert!(part_files(&path) == part_files(&alone));
            let manifest = |path: &Path| std::fs::read(path.join("epoch-1.json")).unwrap();
            prop_assert_eq!(manifest(&path), manifest(&alone));
        }
    }

    #[test]
    fn parts_are_merged_and_reordered(shape in shapes(), seed in any::<u64>()) {
        let mut documents = documents(&shape);
        for by in ORDERS {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("index");
            let (some, others) = documents.split_at(documents.len() / 2);
            build(some, true, &path);
            let mut writer = IndexWriter::open(&path, 2).unwrap();
            with(others, true, |collection, contents| {
                writer.append(collection, contents, Repeated::Stop).unwrap();
            });
            let mut random = Random(seed | 1);
            let (gone, left): (Vec<Document>, Vec<Document>) =
                documents.into_iter().partition(|_| random.below(5) == 0);
            let gone = gone.iter().map(|(id, _)| &**id);
            writer.delete(gone, Missing::Stop).unwrap();
            writer.reorder(&how(by, 2, &Progress::new())).unwrap();
            drop(writer);
            documents = left;
            if documents.is_empty() {
                break;
            }
            is_index_of_its_order(&path, &documents, true);
        }
    }
}

#[test]
fn ids_ascend() {
    let documents: Vec<Document> = ["b", "a/2", "c", "a/1", "a"]
        .map(|id| (format!("{id}0"), "some text".to_owned()))
        .into();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    build_reordered(&documents, true, Reorder::Id, 2, &path);
    let ordered = in_order_of(&path, &documents);
    let ids: Vec<&str> = ordered.iter().map(|(id, _)| &**id).collect();
    assert_eq!(ids, ["a/10", "a/20", "a0", "b0", "c0"]);
}
