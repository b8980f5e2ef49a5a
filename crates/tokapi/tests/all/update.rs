//! Laws of an index that changes: after any appends, deletes and merges it is the index of the
//! documents that are left, in the order in which they came.

use std::collections::BTreeSet;
use std::path::Path;

use crate::files::part_files;
use crate::random::{Random, Shape, kept, query, text, with_digits};
use proptest::prelude::*;
use tokapi::Analyzer;
use tokapi::Formula;
use tokapi::{Bm25, Collection, Corpus, CorpusOptions, Index};
use tokapi::{Filter, Phrase, Query, SearchOptions};
use tokapi::{IndexWriter, Missing, Repeated};
use tokapi_index::query::Algorithm;
use tokapi_index::{Contents, IndexOptions};

/// A document: its id and its text.
type Document = (String, String);

/// What is done to an index.
#[derive(Debug, Clone)]
enum Change {
    /// Documents, numbered from a number on, so that some ids repeat.
    Append(usize, Shape, Repeated),
    /// About one document of so many.
    Delete(usize, u64),
    Merge,
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let repeated = prop::sample::select(vec![Repeated::Stop, Repeated::Skip, Repeated::Replace]);
    let shape = (
        prop_oneof![1..10usize, 200..500usize],
        1..40usize,
        1..20usize,
        any::<u64>(),
    );
    let shape = shape.prop_map(|(documents, terms, length, seed)| Shape {
        documents,
        terms,
        length,
        seed,
    });
    let change = prop_oneof![
        5 => (0..2000usize, shape, repeated).prop_map(|(first, shape, repeated)| {
            Change::Append(first, shape, repeated)
        }),
        3 => (1..30usize, any::<u64>()).prop_map(|(of, seed)| Change::Delete(of, seed)),
        1 => Just(Change::Merge),
    ];
    prop::collection::vec(change, 1..25)
}

fn documents(first: usize, shape: &Shape) -> Vec<Document> {
    let text = text(shape);
    let texts = text.lines().map(|line| line.split_once('\t').unwrap().1);
    let ids = (first..).map(|number| format!("d{number}"));
    ids.zip(texts.map(str::to_owned)).collect()
}

/// Gives the documents and what is kept of them to `user`. Their only field is the last digit of the id.
fn with<T>(documents: &[Document], user: impl FnOnce(Collection, Contents<'_>) -> T) -> T {
    let documents = documents.iter().map(|(id, text)| (&**id, &**text));
    kept(&with_digits(documents), &["digit"], user)
}

fn build(documents: &[Document], path: &Path) -> Index {
    with(documents, |collection, contents| {
        Index::build_with(
            collection,
            path,
            IndexOptions {
                contents: Some(contents),
                ..Default::default()
            },
        )
        .unwrap()
    });
    Index::open(path).unwrap()
}

/// The answer to a query, by ids.
fn answer(index: &Index, query: &Query, options: &SearchOptions) -> Vec<(String, f32)> {
    let hits = index.search(query, options).unwrap();
    hits.iter()
        .map(|hit| (index.id(hit.document).unwrap().into_owned(), hit.score))
        .collect()
}

/// Whether `index` answers as the index of `left` does.
fn same(index: &Index, left: &[Document], seed: u64) {
    let folder = tempfile::tempdir().unwrap();
    let fresh = build(left, &folder.path().join("fresh"));
    assert_eq!(index.statistics(), fresh.statistics());
    let checked = index.check().unwrap();
    assert_eq!(checked.documents, left.len() as u64);
    let all: BTreeSet<String> = left.iter().map(|(_, text)| text.clone()).collect();
    let kept = index.search(&Query::any(["dense"]), &SearchOptions::default().k(20));
    for hit in kept.unwrap() {
        let document = index.document(hit.document).unwrap();
        assert!(all.contains(&document.text.unwrap()));
        let id = index.id(hit.document).unwrap();
        assert!(id.ends_with(&document.fields[0].1[0].text));
    }
    let mut random = Random(seed | 1);
    same_terms(index, &mut random);
    for _ in 0..15 {
        let mut query = query(&mut random, 40);
        if random.below(2) == 0 {
            query
                .filters
                .push(Filter::new("digit", random.below(10).to_string()).not(random.below(2) == 0));
            if random.below(4) == 0 {
                query.clauses.clear();
            }
        }
        if random.below(3) == 0 {
            let terms = [0; 2].map(|_| format!("t{}", random.below(8)));
            query
                .phrases
                .push(Phrase::new(terms).not(random.below(2) == 0));
        }
        let k = [1, 10, 1000][random.below(3)];
        let mut options = SearchOptions::default()
            .k(k)
            .bm25(Bm25::default().formula(Formula::ALL[random.below(7)]))
            .algorithm(Algorithm::Exhaustive);
        let expected = answer(&fresh, &query, &options);
        for algorithm in [Algorithm::Auto, Algorithm::Exhaustive] {
            options.algorithm = algorithm;
            let answer = answer(index, &query, &options);
            assert_eq!(answer, expected, "{query:?} {options:?}");
        }
        assert_eq!(index.count(&query).unwrap(), fresh.count(&query).unwrap());
    }
}

/// Whether pages of terms are those of a walk through all terms.
pub fn same_terms(index: &Index, random: &mut Random) {
    let mut all = Vec::new();
    let push = |term: &[u8], df| all.push((String::from_utf8(term.to_vec()).unwrap(), df));
    index.each_term(push).unwrap();
    for prefix in ["", "t", "t1", "t39", "dense", "u"] {
        let known = all.get(random.below(all.len().max(1)));
        let known = known.map_or("t", |(term, _)| term);
        let after = [None, Some(known), Some("t2x"), Some("zz"), Some("")][random.below(5)];
        let most = [0, 1, 3, 1000][random.below(4)];
        let page = all.iter().filter(|(term, _)| {
            term.starts_with(prefix) && after.is_none_or(|after| term.as_str() > after)
        });
        let page: Vec<(String, u64)> = page.take(most).cloned().collect();
        let found = index.terms(prefix, after, most).unwrap();
        assert_eq!(found, page, "{most} of `{prefix}` after {after:?}");
    }
}

/// Does a change to the index, and to the documents that are left.
fn apply(change: &Change, writer: &mut IndexWriter, left: &mut Vec<Document>) {
    match change {
        Change::Append(first, shape, repeated) => {
            let new = documents(*first, shape);
            let is_there = |id: &str| left.iter().any(|(other, _)| other == id);
            let again = new.iter().filter(|(id, _)| is_there(id)).count() as u64;
            let appended = with(&new, |collection, contents| {
                writer.append(collection, Some(contents), *repeated)
            });
            let added: Vec<Document> = match repeated {
                Repeated::Stop if again > 0 => {
                    assert!(
                        appended
                            .unwrap_err()
                            .to_string()
                            .contains("nothing was added")
                    );
                    return;
                }
                Repeated::Skip => {
                    let added = new.iter().filter(|(id, _)| !is_there(id));
                    added.cloned().collect()
                }
                _ => new.clone(),
            };
            let appended = appended.unwrap();
            assert_eq!(appended.repeated, again);
            assert_eq!(appended.documents, added.len() as u64);
            left.retain(|(id, _)| !added.iter().any(|(new, _)| new == id));
            left.extend(added);
        }
        Change::Delete(of, seed) => {
            let mut random = Random(seed | 1);
            let gone: Vec<String> = left
                .iter()
                .filter(|_| random.below(*of) == 0)
                .map(|(id, _)| id.clone())
                .collect();
            let ids = gone.iter().map(String::as_str).chain(["nobody"]);
            let deletion = writer.delete(ids, Missing::Ignore).unwrap();
            assert_eq!(deletion.documents, gone.len() as u64);
            assert_eq!(deletion.unknown, ["nobody"]);
            left.retain(|(id, _)| !gone.contains(id));
        }
        Change::Merge => writer.merge().unwrap(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_changed_index_is_that_of_what_is_left(
        shape in crate::random::shapes(), changes in changes(), seed: u64
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index");
        let mut left = documents(0, &Shape { documents: shape.documents.min(1500), ..shape });
        build(&left, &path);
        let mut writer = IndexWriter::open(&path, 2).unwrap();
        for (number, change) in changes.iter().enumerate() {
            apply(change, &mut writer, &mut left);
            if number % 8 == 0 {
                // While parts may be being merged.
                same(&Index::open(&path).unwrap(), &left, seed);
            }
        }
        drop(writer);
        let changed = Index::open(&path).unwrap();
        same(&changed, &left, seed);
        let exported = |index: &Index, name: &str| {
            let file = folder.path().join(name);
            index.export_ciff(&file, &Default::default()).unwrap();
            std::fs::read(file).unwrap()
        };
        let fresh = build(&left, &folder.path().join("anew"));
        prop_assert!(exported(&changed, "a.ciff") == exported(&fresh, "b.ciff"));
        // Its files would stay.
        drop(changed);
        IndexWriter::open(&path, 2).unwrap().merge().unwrap();
        let merged = Index::open(&path).unwrap();
        same(&merged, &left, seed);
        prop_assert_eq!(merged.info().parts, usize::from(!left.is_empty()));
        prop_assert_eq!(merged.info().deleted, 0);
        if !left.is_empty() {
            let fresh = folder.path().join("fresh");
            build(&left, &fresh);
            prop_assert!(part_files(&path) == part_files(&fresh), "other bytes");
        }
    }
}

/// What was opened before answers as before, whatever is done meanwhile; and many small appends leave
/// few parts.
#[test]
fn readers_keep_what_they_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let shape = |seed: u64| Shape {
        documents: 50,
        terms: 20,
        length: 10,
        seed,
    };
    let first = documents(0, &shape(1));
    let before = build(&first, &path);
    let mut writer = IndexWriter::open(&path, 1).unwrap();
    let mut left = first.clone();
    for round in 1..40 {
        let change = Change::Append(round * 50, shape(round as u64), Repeated::Stop);
        apply(&change, &mut writer, &mut left);
        apply(&Change::Delete(10, round as u64), &mut writer, &mut left);
    }
    writer.wait().unwrap();
    let parts = Index::open(&path).unwrap().info().parts;
    assert!(parts < 16, "{parts} parts");
    writer.merge().unwrap();
    same(&before, &first, 7);
    same(&Index::open(&path).unwrap(), &left, 7);
}

#[test]
fn there_is_one_writer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let shape = Shape {
        documents: 5,
        terms: 5,
        length: 5,
        seed: 3,
    };
    build(&documents(0, &shape), &path);
    let writer = IndexWriter::open(&path, 1).unwrap();
    let error = IndexWriter::open(&path, 1).err().unwrap().to_string();
    assert!(
        error.contains("another process is changing this index"),
        "{error}"
    );
    drop(writer);
    IndexWriter::open(&path, 1).unwrap();
}

/// Documents without ids are called by numbers that go on, whatever was deleted.
#[test]
fn numbers_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let numbered = |texts: &[&str]| {
        let options = CorpusOptions::default().format(Some(tokapi::Format::Terms));
        let text = texts.join("\n\n");
        let corpus = Corpus::from_bytes("documents", text.as_bytes(), options);
        Collection::build(corpus, &Default::default()).unwrap()
    };
    Index::build(numbered(&["a", "b", "c"]), &path).unwrap();
    let mut writer = IndexWriter::open(&path, 1).unwrap();
    writer.delete(["2"], Missing::Ignore).unwrap();
    writer
        .append(numbered(&["d", "e"]), None, Repeated::Stop)
        .unwrap();
    writer.merge().unwrap();
    let index = Index::open(&path).unwrap();
    let all = Query::any(["a", "b", "c", "d", "e"]);
    let mut ids: Vec<String> = answer(&index, &all, &SearchOptions::default())
        .into_iter()
        .map(|(id, _)| id)
        .collect();
    ids.sort();
    assert_eq!(ids, ["0", "1", "3", "4"]);
}

/// A term that only deleted documents have is as one that no document has, under every formula.
#[test]
fn terms_of_deleted_documents_make_no_difference() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let mut left: Vec<Document> = (0..30)
        .map(|number| (format!("d{number}"), format!("red apple w{number}")))
        .collect();
    left[7].1.push_str(" zebra");
    build(&left, &path);
    let mut writer = IndexWriter::open(&path, 1).unwrap();
    writer.delete(["d7"], Missing::Ignore).unwrap();
    left.remove(7);
    let (index, fresh) = (Index::open(&path).unwrap(), folder.path().join("fresh"));
    let fresh = build(&left, &fresh);
    let analyzer = Analyzer::default();
    for text in [
        "+red +apple zebra w3",
        "+red zebra w3",
        "zebra",
        "+zebra red",
        "zebra red",
    ] {
        let query = Query::parse(text, &analyzer, tokapi::Occur::Should);
        for formula in Formula::ALL {
            let options = SearchOptions::default().bm25(Bm25::default().formula(formula));
            let expected = answer(&fresh, &query, &options);
            assert_eq!(
                answer(&index, &query, &options),
                expected,
                "{text} {formula}"
            );
        }
    }
}

/// Where some of the new documents have ids and others not, their numbers could be those of others.
#[test]
fn new_documents_all_have_ids_or_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let terms = folder.path().join("a.terms");
    std::fs::write(&terms, "a\n\nb\n").unwrap();
    let tsv = folder.path().join("b.tsv");
    std::fs::write(&tsv, "x\tc\n").unwrap();
    let collection = |files: &[&Path]| {
        let corpus = Corpus::open(files, CorpusOptions::default()).unwrap();
        Collection::build(corpus, &Default::default()).unwrap()
    };
    Index::build(collection(&[&terms]), &path).unwrap();
    let mut writer = IndexWriter::open(&path, 1).unwrap();
    let mixed = writer.append(collection(&[&terms, &tsv]), None, Repeated::Replace);
    let error = mixed.unwrap_err().to_string();
    assert!(error.contains("give all of them ids"), "{error}");
    for files in [[&*terms], [&*tsv]] {
        writer
            .append(collection(&files), None, Repeated::Replace)
            .unwrap();
    }
    drop(writer);
    assert_eq!(Index::open(&path).unwrap().statistics().documents, 5);
}
