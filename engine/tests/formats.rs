//! Indexes of every version of the format are read, and answer as on the day they were written.

mod random;

use std::path::{Path, PathBuf};

use random::{Shape, kept, text, with_digits};
use serde_json::{Value, json};
use tokapi::Index;
use tokapi::analyze::Analyzer;
use tokapi::index::{IndexOptions, IndexWriter, Repeated};
use tokapi::query::{Filter, Query, SearchOptions};

/// The version that is written now.
const VERSION: u32 = 1;

fn folder(version: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/formats/{version}"))
}

/// Answers to queries of every kind, and what is kept of the documents.
fn answers(index: &Index) -> Value {
    let mut filtered = Query::any(["t0", "t20"]);
    filtered.filters.push(Filter {
        field: "digit".into(),
        value: "3".into(),
        not: false,
    });
    let queries = [
        Query::any(["t0", "t5", "t15", "dense"]),
        Query::all(["t1", "dense", "t2"]),
        Query::any(["t29"]),
        Query::phrase(["t0", "t1"]),
        filtered,
    ];
    let answer = |query: &Query| {
        let hits = index.search(query, &SearchOptions::default()).unwrap();
        let hit = |hit: &tokapi::query::Hit| {
            let document = index.document(hit.document).unwrap();
            json!([
                index.id(hit.document).unwrap(),
                hit.score.to_string(),
                document.text,
                document.fields
            ])
        };
        let hits: Vec<Value> = hits.iter().map(hit).collect();
        json!({ "count": index.count(query).unwrap(), "hits": hits })
    };
    queries.iter().map(answer).collect()
}

#[test]
fn every_version_is_read() {
    for version in 1..=VERSION {
        let folder = folder(version);
        let index = Index::open(folder.join("index")).unwrap();
        let checked = index.check().unwrap();
        assert_eq!(checked.documents, index.statistics().documents);
        let expected = std::fs::read(folder.join("answers.json")).unwrap();
        let expected: Value = serde_json::from_slice(&expected).unwrap();
        assert_eq!(answers(&index), expected, "version {version}");
    }
}

/// Writes the index of the version at hand: once, when there is a new one.
#[test]
#[ignore = "for a new version of the format"]
fn the_index_of_a_new_version_is_kept() {
    let folder = folder(VERSION);
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("index");
    for (part, documents) in [400, 30].into_iter().enumerate() {
        let shape = Shape {
            documents,
            terms: 30,
            length: 12,
            seed: 3 + part as u64,
        };
        let text = text(&shape);
        let texts = text.lines().map(|line| line.split_once('\t').unwrap().1);
        let ids: Vec<String> = (0..documents)
            .map(|number| format!("{part}-{number}"))
            .collect();
        let lines = with_digits(ids.iter().map(String::as_str).zip(texts));
        kept(&lines, &["digit"], |collection, contents| match part {
            0 => {
                let options = IndexOptions {
                    contents: Some(contents),
                    ..Default::default()
                };
                Index::build_with(collection, &Analyzer::default(), &path, options).unwrap();
            }
            _ => {
                let mut writer = IndexWriter::open(&path, 1).unwrap();
                let appended = writer.append(collection, Some(contents), Repeated::Stop);
                appended.unwrap();
                writer.delete(["0-7", "0-8", "1-3"]).unwrap();
            }
        });
    }
    std::fs::remove_file(path.join("lock")).unwrap();
    let answers = answers(&Index::open(&path).unwrap());
    let answers = serde_json::to_string_pretty(&answers).unwrap();
    std::fs::write(folder.join("answers.json"), answers).unwrap();
}
