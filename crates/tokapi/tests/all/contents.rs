//! Laws of what an index keeps: filters let through exactly the documents that have the values, whatever
//! the algorithm, and every document comes back as it was.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::files::join;
use crate::random::Random;
use proptest::prelude::*;
use tokapi::Formula;
use tokapi::Keep;
use tokapi::OnError;
use tokapi::{Bm25, BuildOptions, Corpus, CorpusOptions, Index, Memory};
use tokapi::{Clause, Filter, Hit, Occur, Phrase, Query, SearchOptions};
use tokapi::{Storage, Stored};
use tokapi_index::query::Algorithm;
use tokapi_index::{Contents, IndexOptions};

/// A document of a random collection.
#[derive(Debug, Clone, Default)]
struct Document {
    id: String,
    text: String,
    /// The values of `half`, `some`, `rare` and `tags`.
    values: [Vec<String>; 4],
}

const FIELDS: [&str; 4] = ["half", "some", "rare", "tags"];
/// Values with everything that parts terms and lines.
const TAGS: [&str; 6] = [
    "",
    "a b",
    "a\nb",
    "\u{feff}",
    "back\\slash",
    "zwei\u{a0}drei",
];

fn documents(count: usize, terms: usize, length: usize, random: &mut Random) -> Vec<Document> {
    let document = |number: usize| {
        let mut document = Document {
            id: format!("d{number}"),
            ..Document::default()
        };
        for _ in 0..random.below(length + 1) {
            let term = random.below(terms).min(random.below(terms));
            write!(document.text, "t{term} ").unwrap();
        }
        let [half, some, rare, tags] = &mut document.values;
        half.push((random.below(2) == 0).to_string());
        some.push(random.below(100).to_string());
        if random.below(50) == 0 {
            rare.push(format!("r{}", random.below(40)));
        }
        for _ in 0..random.below(4) {
            tags.push(TAGS[random.below(TAGS.len())].into());
        }
        document
    };
    (0..count).map(document).collect()
}

fn jsonl(documents: &[Document]) -> String {
    let mut text = String::new();
    for document in documents {
        let [half, some, rare, tags] = &document.values;
        let line = serde_json::json!({
            "id": document.id,
            "half": half[0] == "true",
            "text": document.text,
            "some": some[0].parse::<u64>().unwrap(),
            "rare": rare.first(),
            "tags": tags,
        });
        writeln!(text, "{line}").unwrap();
    }
    text
}

fn options() -> CorpusOptions {
    CorpusOptions::default()
        .fields(FIELDS.map(String::from).to_vec())
        .chunk_bytes(Some(20_000))
}

fn everything() -> Keep {
    Keep::default()
        .text(true)
        .fields(FIELDS.map(String::from).to_vec())
        .positions(true)
}

fn storage(folder: &Path, held: u64) -> Storage {
    Storage::new(Memory::new(500_000_000).unwrap().holding(held)).output(folder.join("index"))
}

/// The first pass over a corpus, and the second one that keeps everything.
fn first_pass<'a>(
    corpus: Corpus,
    options: &'a BuildOptions,
    storage: &'a Storage,
) -> (Stored, Contents<'a>) {
    let contents = Contents::new(corpus.again(), everything(), options, storage);
    (Stored::build(corpus, options, storage).unwrap(), contents)
}

fn keeping(contents: Contents<'_>) -> IndexOptions<'_> {
    IndexOptions {
        contents: Some(contents),
        ..Default::default()
    }
}

/// Builds an index that keeps everything of `text`.
fn build(folder: &Path, text: &str, options: CorpusOptions, held: u64, threads: usize) -> PathBuf {
    let docs = folder.join("docs.jsonl");
    std::fs::write(&docs, text).unwrap();
    let corpus = Corpus::open(&[docs], options).unwrap();
    let (options, storage) = (
        BuildOptions::default().threads(threads),
        storage(folder, held),
    );
    let (stored, contents) = first_pass(corpus, &options, &storage);
    let path = folder.join("index");
    Index::build_with(stored, &path, keeping(contents)).unwrap();
    let left: Vec<_> = std::fs::read_dir(path.join("part-1")).unwrap().collect();
    assert_eq!(left.len(), 13, "{left:?}");
    path
}

fn query(random: &mut Random, terms: usize) -> Query {
    let occur = [Occur::Should, Occur::Should, Occur::Must, Occur::Not];
    let usual = occur[random.below(3)];
    let clauses = (0..random.below(6)).map(|_| {
        let term = format!("t{}", random.below(terms));
        let occur = match random.below(3) {
            0 => occur[random.below(4)],
            _ => usual,
        };
        Clause::new(term, occur)
    });
    let query = Query::default().clauses(clauses);
    let filters = (0..random.below(4)).map(|_| {
        let field = random.below(4);
        let value = match field {
            0 => (random.below(2) == 0).to_string(),
            1 => random.below(101).to_string(),
            2 => format!("r{}", random.below(41)),
            _ => TAGS[random.below(TAGS.len())].into(),
        };
        Filter::new(FIELDS[field], value).not(random.below(3) == 0)
    });
    let query = query.filters(filters);
    let phrases = (0..random.below(5) / 2).map(|_| {
        let count = 2 + random.below(2);
        let terms = (0..count).map(|_| format!("t{}", random.below(terms)));
        Phrase::new(terms).not(random.below(2) == 0)
    });
    query.phrases(phrases)
}

fn lets_through(query: &Query, document: &Document) -> bool {
    let terms: Vec<&str> = document.text.split_whitespace().collect();
    let has_phrases = query.phrases.iter().all(|phrase| {
        let mut windows = terms.windows(phrase.terms.len());
        windows.any(|window| window == phrase.terms) != phrase.not
    });
    has_phrases
        && query.filters.iter().all(|filter| {
            let field = FIELDS
                .iter()
                .position(|name| *name == filter.field)
                .unwrap();
            document.values[field].contains(&filter.value) != filter.not
        })
}

fn is_filters_alone(query: &Query) -> bool {
    let mut clauses = query.clauses.iter();
    !query.filters.is_empty() && clauses.all(|clause| clause.occur == Occur::Not)
}

/// The documents with none of the terms that they must not have, which are all that the query has.
fn without_terms(query: &Query, documents: &[Document]) -> Vec<Hit> {
    let has = |document: &Document, clause: &Clause| {
        let mut terms = document.text.split_whitespace();
        terms.any(|term| term == clause.term)
    };
    let numbered = (0..).zip(documents);
    let left = numbered.filter(|(_, document)| {
        let mut clauses = query.clauses.iter();
        !clauses.any(|clause| has(document, clause))
    });
    let hit = |(document, _)| Hit {
        document,
        score: 0.0,
        sequence: document,
    };
    left.map(hit).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn filters_let_through_what_they_say(
        count in prop_oneof![1..20usize, 100..400usize, 3000..20_000usize],
        terms in 1..60usize,
        length in 1..30usize,
        held in prop_oneof![Just(0), Just(u64::MAX)],
        seed: u64,
    ) {
        let mut random = Random(seed | 1);
        let documents = documents(count, terms, length, &mut random);
        let folder = tempfile::tempdir().unwrap();
        let path = build(folder.path(), &jsonl(&documents), options(), held, 2);
        let index = Index::open(&path).unwrap();
        index.check().unwrap();
        for _ in 0..40 {
            let query = query(&mut random, terms + 1);
            let bm25 = Bm25::default().formula(Formula::ALL[random.below(7)]);
            let all = SearchOptions::default().k(usize::MAX).bm25(bm25).algorithm(Algorithm::Exhaustive);
            let unfiltered = Query::default().clauses(query.clauses.clone());
            // The scores are those without filters, and 0 without terms.
            let scored = match is_filters_alone(&query) {
                true => without_terms(&query, &documents),
                false => index.search(&unfiltered, &all).unwrap(),
            };
            let expected: Vec<Hit> = scored.into_iter()
                .filter(|hit| lets_through(&query, &documents[hit.document as usize]))
                .collect();
            prop_assert_eq!(index.count(&query).unwrap(), expected.len() as u64, "{:?}", &query);
            let mut matched: Vec<u64> = expected.iter().map(|hit| hit.document).collect();
            matched.sort_unstable();
            prop_assert_eq!(index.documents(&query).unwrap(), matched, "{:?}", &query);
            let k = [0, 1, 3, 10, 100, 100_000][random.below(6)];
            for algorithm in [Algorithm::Exhaustive, Algorithm::Auto] {
                let options = SearchOptions::default().k(k).bm25(bm25).algorithm(algorithm);
                let found = index.search(&query, &options).unwrap();
                prop_assert_eq!(&found[..], &expected[..k.min(expected.len())], "{:?} {:?}", &query, options);
            }
        }
        for _ in 0..10 {
            let number = random.below(count);
            let stored = index.document(number as u64).unwrap();
            prop_assert_eq!(stored.text.as_deref(), Some(&*documents[number].text));
            let expected = FIELDS.iter().zip(&documents[number].values);
            for ((name, values), (expected_name, expected)) in stored.fields.iter().zip(expected) {
                prop_assert_eq!(name, expected_name);
                prop_assert!(values.iter().map(|value| &value.text).eq(expected));
            }
            prop_assert_eq!(stored.fields.len(), FIELDS.len());
        }
        prop_assert!(index.document(count as u64).is_err());
    }
}

#[test]
fn repeated_and_broken_documents_are_left_out_of_both_passes() {
    let mut random = Random(5);
    let mut documents = documents(5000, 40, 10, &mut random);
    let mut lines: Vec<String> = Vec::new();
    for (number, document) in documents.iter().enumerate() {
        lines.push(jsonl(std::slice::from_ref(document)));
        if number % 7 == 0 {
            let repeat = Document {
                text: "another text".into(),
                ..documents[random.below(number + 1)].clone()
            };
            lines.push(jsonl(&[repeat]));
        }
        if number % 11 == 0 {
            lines.push("{\"id\": 7, \"text\": \"x\", \"some\": {}}\n".into());
        }
    }
    for held in [0, u64::MAX] {
        let folder = tempfile::tempdir().unwrap();
        let options = options().on_error(OnError::Skip);
        let path = build(folder.path(), &lines.concat(), options, held, 3);
        let index = Index::open(&path).unwrap();
        assert_eq!(index.check().unwrap().documents, 5000);
        for (number, document) in documents.iter_mut().enumerate() {
            let stored = index.document(number as u64).unwrap();
            assert_eq!(stored.text.as_deref(), Some(&*document.text));
        }
    }
}

#[test]
fn bytes_depend_neither_on_memory_nor_on_threads() {
    let documents = documents(30_000, 400, 60, &mut Random(7));
    let mut same = Vec::new();
    for (threads, held) in [(1, u64::MAX), (3, u64::MAX), (2, 0)] {
        let folder = tempfile::tempdir().unwrap();
        let path = build(folder.path(), &jsonl(&documents), options(), held, threads);
        let names = [
            "records",
            "field-terms",
            "field-lists",
            "field-postings",
            "ranks",
            "tokens",
            "token-ends",
        ];
        let files = names.map(|name| std::fs::read(path.join("part-1").join(name)).unwrap());
        same.push(files);
    }
    assert!(same.iter().all(|files| *files == same[0]));
}

/// The error of an index of `docs` if `change` comes between the two passes. The build leaves no
/// other file in the folder.
fn error_of_change(docs: &Path, change: impl FnOnce()) -> String {
    let folder = docs.parent().unwrap();
    let corpus = Corpus::open(&[docs], options()).unwrap();
    let (options, storage) = (BuildOptions::default(), storage(folder, u64::MAX));
    let (stored, contents) = first_pass(corpus, &options, &storage);
    change();
    let error = Index::build_with(stored, &folder.join("index"), keeping(contents));
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 1);
    error.unwrap_err().to_string()
}

#[test]
fn an_input_that_changes_is_told_and_nothing_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let docs = folder.path().join("docs.jsonl");
    let documents = documents(100, 40, 10, &mut Random(5));
    for (before, after) in [(100, 99), (99, 100), (100, 100)] {
        std::fs::write(&docs, jsonl(&documents[..before])).unwrap();
        let mut changed = documents[..after].to_vec();
        changed[50].id = "other".into();
        let error = error_of_change(&docs, || std::fs::write(&docs, jsonl(&changed)).unwrap());
        assert!(error.contains("has changed"), "{error}");
    }
    // Neither the size nor the time tells.
    for (place, text) in [("\"d50\"", "\"e50\""), ("t1 ", "t0 ")] {
        let before = jsonl(&documents);
        std::fs::write(&docs, &before).unwrap();
        let modified = std::fs::metadata(&docs).unwrap().modified().unwrap();
        let error = error_of_change(&docs, || {
            std::fs::write(&docs, before.replace(place, text).replace("t2 ", "t  ")).unwrap();
            let file = std::fs::File::options().write(true).open(&docs).unwrap();
            file.set_modified(modified).unwrap();
        });
        assert!(error.contains("gave other documents"), "{error}");
    }
}

#[test]
fn fields_that_are_not_kept_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let text = jsonl(&documents(10, 4, 10, &mut Random(5)));
    let index = Index::open(build(folder.path(), &text, options(), u64::MAX, 1)).unwrap();
    for (text, part) in [
        (
            "colour:red",
            "no field `colour`, only half, some, rare, tags: use one of these",
        ),
        ("-colour:red", "no field `colour`"),
        ("half", "`half` is neither"),
    ] {
        let error = Filter::parse(text, &index).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
    let mut query = Query::any(["t0"]);
    for (field, value) in [("colour", "red".to_owned()), ("tags", "x".repeat(2000))] {
        query.filters = vec![Filter::new(field, value).not(true)];
        assert!(index.count(&query).is_err());
        assert!(index.search(&query, &SearchOptions::default()).is_err());
    }
    let parsed = Filter::parse("!tags:a:b", &index).unwrap();
    assert!(parsed.not && parsed.field == "tags" && parsed.value == "a:b");
}

#[test]
fn two_parts_are_as_good_as_one() {
    let mut random = Random(9);
    let documents = documents(12_000, 40, 12, &mut random);
    let folders: [_; 3] = std::array::from_fn(|_| tempfile::tempdir().unwrap());
    let ranges = [0..12_000, 0..5000, 5000..12_000];
    let [whole, first, second] = std::array::from_fn(|number| {
        let text = jsonl(&documents[ranges[number].clone()]);
        build(folders[number].path(), &text, options(), u64::MAX, 2)
    });
    join(&first, &second);
    let (whole, parts) = (Index::open(whole).unwrap(), Index::open(first).unwrap());
    parts.check().unwrap();
    for _ in 0..300 {
        let query = query(&mut random, 41);
        assert_eq!(parts.count(&query).unwrap(), whole.count(&query).unwrap());
        let options = SearchOptions::default().k([1, 10, 500][random.below(3)]);
        let hits = parts.search(&query, &options).unwrap();
        assert_eq!(hits, whole.search(&query, &options).unwrap(), "{query:?}");
        for hit in hits.iter().take(2) {
            let stored = parts.document(hit.document).unwrap();
            assert_eq!(stored, whole.document(hit.document).unwrap());
        }
    }
}
