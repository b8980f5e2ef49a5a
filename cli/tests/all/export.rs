//! Indexes for other search engines and from them, from the command line.

use std::fs;

use crate::folder::{Folder, json, one_line};
use serde_json::Value;

/// What a run prints, which must succeed.
fn printed(folder: &Folder, args: &[&str]) -> Vec<u8> {
    let run = folder.run(args);
    assert!(run.status.success(), "{args:?}: {run:?}");
    run.stdout
}

fn indexed() -> Folder {
    let folder = Folder::new();
    let text = "a\tthe red fox and the red hen\nb\tthe blue hen\nc\ta red-blue door\nd\t\n";
    folder.put("docs.tsv", text);
    printed(&folder, &["index", "docs.tsv", "-o", "index", "--json"]);
    folder
}

/// The same, with the index as a CIFF file.
fn exported() -> Folder {
    let folder = indexed();
    let export = ["export", "index", "--to", "ciff", "-o", "a.ciff"];
    printed(&folder, &export);
    folder
}

#[test]
fn an_index_goes_through_ciff() {
    let folder = indexed();
    let query = ["red hen", "--json"];
    let expected = json(&folder, &[&["search", "index"], &query[..]].concat());
    for name in ["a.ciff", "a.ciff.gz", "a.ciff.zst"] {
        let path = format!("out/{name}");
        let args = ["export", "index", "--to", "ciff", "-o", &path, "--json"];
        let exported = json(&folder, &args);
        assert_eq!(exported["documents"], 4);
        assert_eq!(exported["terms"], 8);
        assert_eq!(exported["postings"], 12);
        let imported = json(&folder, &["index", &path, "-o", "out/index", "--json"]);
        assert_eq!(imported["documents"], 4);
        assert_eq!(imported["tokens"], 14);
        assert_eq!(imported["postings"], 12);
        let found = json(&folder, &[&["search", "out/index"], &query[..]].concat());
        assert_eq!(found["hits"], expected["hits"], "{name}");
        let checked = json(&folder, &["check", "out/index", "--json"]);
        assert_eq!(checked["postings"], 12);
        fs::remove_dir_all(folder.path("out/index")).unwrap();
    }
    let piped = printed(&folder, &["export", "index", "--to", "ciff", "-o", "-"]);
    assert_eq!(piped, fs::read(folder.path("out/a.ciff")).unwrap());
}

#[test]
fn the_analyzer_of_queries_is_kept() {
    let folder = exported();
    let stemmed = ["index", "a.ciff", "-o", "stemmed", "--stemmer", "english"];
    printed(&folder, &stemmed);
    let count = |index: &str| printed(&folder, &["search", index, "doors", "--count"]);
    assert_eq!(count("index"), b"0\n");
    assert_eq!(count("stemmed"), b"1\n");
}

#[test]
fn bm25s_gets_its_files() {
    let folder = indexed();
    for (formula, more) in [("lucene", 0), ("bm25l", 1), ("bm25plus", 1)] {
        let path = format!("out/{formula}");
        let to = ["export", "index", "--to", "bm25s", "-o", &path];
        let options = ["--formula", formula, "--json"];
        let exported = json(&folder, &[&to[..], &options].concat());
        assert_eq!(exported["postings"], 12);
        let files = fs::read_dir(folder.path(&path)).unwrap();
        assert_eq!(files.count(), 7 + more, "{formula}");
        let read = |name: &str| fs::read(folder.path(&path).join(name)).unwrap();
        let parameters: Value = serde_json::from_slice(&read("params.index.json")).unwrap();
        assert_eq!(parameters["num_docs"], 4);
        let vocabulary: Value = serde_json::from_slice(&read("vocab.index.json")).unwrap();
        assert_eq!(vocabulary[""], 8);
        assert_eq!(vocabulary["the"], 7);
        let corpus = String::from_utf8(read("corpus.jsonl")).unwrap();
        assert_eq!(corpus.lines().nth(1), Some(r#"{"id": 1, "text": "b"}"#));
        assert_eq!(read("data.csc.index.npy").len(), 128 + 12 * 4);
        assert_eq!(read("indptr.csc.index.npy").len(), 128 + 10 * 8);
    }
}

#[test]
fn mistakes_are_told_in_one_line() {
    let folder = exported();
    let refused = |args: &[&str], status: i32, parts: &[&str]| {
        one_line(&folder.run(args), status, parts);
        assert_eq!(folder.written(), [""; 0]);
    };
    let bm25s = ["export", "index", "--to", "bm25s", "-o"];
    for formula in ["smoothed", "tfidf"] {
        let args = [&bm25s[..], &["out/b", "--formula", formula]].concat();
        refused(&args, 2, &["bm25s has no such formula", "lucene"]);
    }
    refused(
        &[&bm25s[..], &["out/b", "--b", "2"]].concat(),
        2,
        &["b is 2"],
    );
    refused(&[&bm25s[..], &["-"]].concat(), 2, &["name one"]);
    refused(&[&bm25s[..], &["index"]].concat(), 2, &["would overwrite"]);
    let ciff = ["--to", "ciff", "-o", "out/a.ciff"];
    refused(
        &[&["export", "none"], &ciff[..]].concat(),
        1,
        &["none", "no index"],
    );
    for option in ["--formula=bm25l", "--k1=0.9", "--avdl=10"] {
        let args = [&["export", "index", option], &ciff[..]].concat();
        refused(&args, 2, &["the formula is for --to bm25s: drop it"]);
    }
    let both = ["export", "index", "--to", "ciff", "-o", "-", "--json"];
    refused(&both, 2, &["standard output", "give a file"]);
    let into = ["export", "index", "--to", "ciff", "-o", "none/a.ciff"];
    refused(&into, 1, &["none/a.ciff", "cannot write"]);
    let index = |input: &'static str| {
        let input: Vec<&str> = input.split(' ').collect();
        [&["index", "-o", "out/i"], &input[..]].concat()
    };
    refused(&index("a.ciff docs.tsv"), 2, &["a.ciff", "the only input"]);
    refused(&index("no.ciff"), 1, &["no.ciff", "there is no such file"]);
    refused(
        &["weigh", "a.ciff", "-o", "out/w.tsv"],
        2,
        &["a.ciff", "has no text", "tokapi index"],
    );
    let bytes = fs::read(folder.path("a.ciff")).unwrap();
    folder.put("cut.ciff", &bytes[..bytes.len() - 1]);
    refused(
        &index("cut.ciff"),
        1,
        &["cut.ciff, byte ", "ends within the documents"],
    );
    folder.put("text.ciff", "{\"id\": 1, \"contents\": \"one two\"}\n");
    refused(&index("text.ciff"), 1, &["text.ciff, byte "]);
    folder.put("bad.ciff.gz", b"\x1f\x8b\x08\0\0\0");
    refused(&index("bad.ciff.gz"), 1, &["bad.ciff.gz", "cut off"]);
}
