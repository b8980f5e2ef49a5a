//! Indexes of every version of the format are read, and answer as on the day they were written.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::files::copy_folder;
use crate::random::{Shape, kept, kept_by, text, with_digits};
use serde_json::{Value, json};
use tokapi::Index;
use tokapi::{Filter, Query, SearchOptions};
use tokapi::{IndexWriter, Missing, Repeated, StoredValue};
use tokapi_index::IndexOptions;

/// The version that is written now.
const VERSION: u32 = 1;

pub fn folder_of_version(version: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/formats/{version}"))
}

/// The fields of a document, without the types of their values, which former versions did not keep.
fn texts(fields: &[(String, Vec<StoredValue>)]) -> Vec<(&str, Vec<&str>)> {
    fields
        .iter()
        .map(|(name, values)| (&**name, values.iter().map(|value| &*value.text).collect()))
        .collect()
}

/// Answers to queries of every kind, and what is kept of the documents.
fn answers(index: &Index) -> Value {
    let mut filtered = Query::any(["t0", "t20"]);
    filtered.filters.push(Filter::new("digit", "3"));
    let queries = [
        Query::any(["t0", "t5", "t15", "dense"]),
        Query::all(["t1", "dense", "t2"]),
        Query::any(["t29"]),
        Query::phrase(["t0", "t1"]),
        filtered,
    ];
    let answer = |query: &Query| {
        let hits = index.search(query, &SearchOptions::default()).unwrap();
        let hit = |hit: &tokapi::Hit| {
            let document = index.document(hit.document).unwrap();
            json!([
                index.id(hit.document).unwrap(),
                hit.score.to_string(),
                document.text,
                texts(&document.fields)
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
        let folder = folder_of_version(version);
        let index = Index::open(folder.join("index")).unwrap();
        let checked = index.check().unwrap();
        assert_eq!(checked.documents, index.statistics().documents);
        let expected = std::fs::read(folder.join("answers.json")).unwrap();
        let expected: Value = serde_json::from_slice(&expected).unwrap();
        assert_eq!(answers(&index), expected, "version {version}");
    }
}

/// Values and texts were compressed together once; merging such parts changes no answer.
#[test]
fn a_store_of_a_former_version_is_merged() {
    let former = folder_of_version(1).join("index");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    copy_folder(&former, &path);
    let expected = answers(&Index::open(&former).unwrap());
    let mut writer = IndexWriter::open(&path, 1).unwrap();
    writer.merge().unwrap();
    drop(writer);
    for folder in [&former, &path] {
        let index = Index::open(folder).unwrap();
        index.check().unwrap();
        assert_eq!(answers(&index), expected);
        for hit in index
            .search(&Query::any(["t0"]), &SearchOptions::default())
            .unwrap()
        {
            let whole = index.document(hit.document).unwrap();
            let fields = index.fields(hit.document).unwrap();
            assert_eq!((fields.text, fields.fields), (None, whole.fields));
        }
    }
}

/// `unicode` was the name of the analyzer `python` once; an index says so still.
#[test]
fn an_index_of_the_former_analyzer_unicode_is_one_of_python() {
    let former = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats/former-unicode");
    let index = Index::open(&former).unwrap();
    index.check().unwrap();
    let info = index.info();
    assert!(info.analyzer.starts_with("Python, "), "{}", info.analyzer);
    let terms = |text: &str| index.analyzer().terms(text).collect::<Vec<String>>();
    assert_eq!(terms("cafe\u{301} हिन्दी"), ["cafe", "ह", "न", "द"]);
    let found = |text: &str| {
        let hits = index.search(&Query::all(terms(text)), &SearchOptions::default());
        let hits = hits.unwrap().into_iter();
        let ids = hits.map(|hit| index.id(hit.document).unwrap().to_string());
        ids.collect::<BTreeSet<String>>()
            .into_iter()
            .collect::<Vec<String>>()
    };
    assert_eq!(found("cafe\u{301}"), ["d1"]);
    assert_eq!(found("CAFÉ"), ["d1", "d3"]);
    assert_eq!(found("हिन्दी"), ["d2"]);
    assert_eq!(found("dash"), ["d2"]);

    // What is added is cut in the same way, and the index says `python` from then on.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    copy_folder(&former, &path);
    let mut writer = IndexWriter::open(&path, 1).unwrap();
    let analyzer = writer.analyzer().unwrap();
    let line = r#"{"id":"d4","contents":"cafe\u0301 \u0939\u093f"}"#;
    kept_by(&analyzer, line, &[], |collection, contents| {
        let appended = writer.append(collection, Some(contents), Repeated::Stop);
        appended.unwrap();
    });
    drop(writer);
    assert!(!path.join("manifest.json").exists());
    let manifest = std::fs::read_to_string(path.join("epoch-1.json")).unwrap();
    assert!(manifest.contains(r#""cut":"python""#), "{manifest}");
    let index = Index::open(&path).unwrap();
    let query = Query::all(["cafe"]);
    assert_eq!(index.count(&query).unwrap(), 2);
}

/// An analyzer of a later version is one line that says so.
#[test]
fn an_unknown_analyzer_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    copy_folder(&folder_of_version(1).join("index"), &path);
    let manifest = path.join("manifest.json");
    let text = std::fs::read_to_string(&manifest).unwrap();
    let (text, _) = text.split_once('\n').unwrap();
    for (cut, parts) in [
        (
            r#""klingon""#,
            &["manifest.json", "analyzer `klingon`", "newer"][..],
        ),
        (r#""a\nb""#, &["manifest.json", r"analyzer `a\nb`"]),
        ("7", &["manifest.json", "damaged"]),
    ] {
        let text = text.replace(r#""cut":"plain""#, &format!(r#""cut":{cut}"#)) + "\n";
        let sum = crc32fast::hash(text.as_bytes());
        std::fs::write(&manifest, format!("{text}crc32 {sum:08x}\n")).unwrap();
        let error = Index::open(&path).err().unwrap().to_string();
        assert_eq!(error.lines().count(), 1, "{error}");
        for part in parts {
            assert!(error.contains(part), "{error}");
        }
    }
}

/// Writes the index of the version at hand: once, when there is a new one.
#[test]
#[ignore = "for a new version of the format"]
fn the_index_of_a_new_version_is_kept() {
    let folder = folder_of_version(VERSION);
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
                Index::build_with(collection, &path, options).unwrap();
            }
            _ => {
                let mut writer = IndexWriter::open(&path, 1).unwrap();
                let appended = writer.append(collection, Some(contents), Repeated::Stop);
                appended.unwrap();
                writer
                    .delete(["0-7", "0-8", "1-3"], Missing::Ignore)
                    .unwrap();
            }
        });
    }
    std::fs::remove_file(path.join("lock")).unwrap();
    let answers = answers(&Index::open(&path).unwrap());
    let answers = serde_json::to_string_pretty(&answers).unwrap();
    std::fs::write(folder.join("answers.json"), answers).unwrap();
}
