//! Indexes as people use them: built, searched, measured and inspected from the command line.

use std::fs;
use std::path::{Path, PathBuf};

use crate::folder::{Folder, json, one_line, printed};
use serde_json::Value;

fn data(name: &str) -> String {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../data")
        .join(name);
    path.display().to_string()
}

/// nDCG@10 of a collection's queries over an index that is built with `options`.
fn ndcg(collection: &str, options: &[&str]) -> f64 {
    let folder = Folder::new();
    let docs = data(&format!("{collection}/docs.jsonl.zst"));
    let queries = data(&format!("{collection}/queries.tsv"));
    let qrels = data(&format!("{collection}/qrels.txt"));
    let index = [
        "index",
        &docs,
        "-o",
        "index",
        "--analyzer",
        "python",
        "--json",
    ];
    printed(&folder, &[&index, options].concat());
    printed(
        &folder,
        &[
            "search",
            "index",
            "--queries",
            &queries,
            "--run",
            "a.run",
            "-k",
            "1000",
        ],
    );
    let measures = json(&folder, &["eval", "a.run", &qrels, "--json"]);
    measures["mean"]["nDCG@10"].as_f64().unwrap()
}

#[test]
fn effectiveness_is_that_of_the_references() {
    let stemmed = ["--stop-words", "english", "--stemmer", "english"];
    for (collection, options, expected) in [
        ("cranfield", &[][..], 0.3344),
        ("scifact", &[][..], 0.6634),
        ("cranfield", &stemmed[..], 0.3589),
        ("scifact", &stemmed[..], 0.6857),
    ] {
        let found = ndcg(collection, options);
        assert!(
            (found - expected).abs() < 0.0005,
            "{collection} {options:?}: {found}"
        );
    }
}

fn small_index(folder: &Folder) {
    folder.put(
        "docs.tsv",
        "a\tthe red fox and the red hen\nb\tthe blue hen\nc\ta red-blue door\nd\t\n",
    );
    printed(folder, &["index", "docs.tsv", "-o", "index", "--json"]);
}

#[test]
fn queries_are_answered() {
    let folder = Folder::new();
    small_index(&folder);
    let ids = |args: &[&str]| -> Vec<String> {
        let answer = json(&folder, &[&["search", "index", "--json"], args].concat());
        let hits = answer["hits"].as_array().unwrap();
        hits.iter()
            .map(|hit| hit["id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ids(&["red"]), ["a", "c"]);
    assert_eq!(ids(&["red hen"]), ["a", "b", "c"]);
    assert_eq!(ids(&["red hen", "--mode", "and"]), ["a"]);
    assert_eq!(ids(&["red +hen"]), ["a", "b"]);
    assert_eq!(ids(&["red hen -fox"]), ["b", "c"]);
    assert_eq!(ids(&["red hen", "-k", "1"]), ["a"]);
    assert_eq!(ids(&["yellow"]), [""; 0]);
    assert_eq!(
        printed(&folder, &["search", "index", "the", "--count"]),
        "2\n"
    );
    let text = printed(&folder, &["search", "index", "red", "--explain"]);
    assert!(text.contains("red  tf 2, df 2, idf"), "{text}");
    let other = ids(&[
        "red hen",
        "--formula",
        "robertson",
        "--k1",
        "0.9",
        "--b",
        "0.1",
    ]);
    assert_eq!(other.len(), 3);
    folder.put(
        "queries.jsonl",
        "{\"_id\": \"q1\", \"text\": \"-red hen\"}\n{\"_id\": 2, \"text\": \"door\"}\n",
    );
    let run = printed(
        &folder,
        &[
            "search",
            "index",
            "--queries",
            "queries.jsonl",
            "--tag",
            "t",
        ],
    );
    let lines: Vec<&str> = run.lines().collect();
    assert_eq!(lines.len(), 4, "{run}");
    assert!(
        lines[0].starts_with("q1 Q0 a 1 ") && lines[0].ends_with(" t"),
        "{run}"
    );
    assert!(lines[3].starts_with("2 Q0 c 1 "), "{run}");
    let info = json(&folder, &["info", "index", "--json"]);
    assert_eq!(info["documents"], 4);
    assert_eq!(info["postings"], 12);
    let checked = json(&folder, &["check", "index", "--json"]);
    assert_eq!(checked["postings"], 12);
}

#[test]
fn mistakes_are_told_in_one_line() {
    let folder = Folder::new();
    small_index(&folder);
    one_line(
        &folder.run(&["search", "nothing", "red"]),
        1,
        &[
            "nothing: there is no index here",
            "`tokapi index INPUT -o nothing`",
        ],
    );
    one_line(
        &folder.run(&["info", "docs.tsv"]),
        1,
        &[
            "docs.tsv: this is not an index",
            "`tokapi index INPUT -o DIR`",
        ],
    );
    one_line(
        &folder.run(&["index", "docs.tsv", "-o", "index"]),
        2,
        &["index", "exists already"],
    );
    one_line(
        &folder.run(&["search", "index", "red", "--b", "2"]),
        2,
        &["b is 2"],
    );
    folder.put("queries.tsv", "no tab\n");
    one_line(
        &folder.run(&["search", "index", "--queries", "queries.tsv"]),
        1,
        &["queries.tsv, line 1", "a tab"],
    );
    folder.put("bad.tsv", "a\tone\nno tab\n");
    one_line(
        &folder.run(&["index", "bad.tsv", "-o", "other"]),
        1,
        &["bad.tsv, line 2"],
    );
    assert!(!folder.path("other").exists());
    let postings = folder.path("index/part-1/terms");
    let mut bytes = fs::read(&postings).unwrap();
    bytes[100] ^= 4;
    fs::write(&postings, &bytes).unwrap();
    for verb in ["search", "check"] {
        let args = [
            &[verb, "index"][..],
            &["red"][..usize::from(verb == "search")],
        ]
        .concat();
        one_line(
            &folder.run(&args),
            1,
            &["terms", "checksum", "build it again"],
        );
    }
    bytes.truncate(50);
    fs::write(&postings, &bytes).unwrap();
    one_line(
        &folder.run(&["search", "index", "red"]),
        1,
        &["terms", "50 bytes"],
    );
    fs::write(folder.path("index/epoch-1.json"), "{}").unwrap();
    one_line(
        &folder.run(&["search", "index", "red"]),
        1,
        &["epoch-1.json", "damaged"],
    );
}

#[test]
fn an_empty_collection_has_an_index() {
    let folder = Folder::new();
    folder.put("docs.tsv", "");
    printed(&folder, &["index", "docs.tsv", "-o", "index", "--json"]);
    assert_eq!(
        printed(&folder, &["search", "index", "red", "--count"]),
        "0\n"
    );
    assert_eq!(json(&folder, &["check", "index", "--json"])["documents"], 0);
    assert_eq!(json(&folder, &["info", "index", "--json"])["postings"], 0);
    let answer = json(&folder, &["search", "index", "red", "--json"]);
    assert_eq!(answer["hits"].as_array().unwrap().len(), 0);
}

#[test]
fn generating_tells_programs_what_it_made() {
    let folder = Folder::new();
    let run = folder.run(&["generate", "-o", "d.tsv", "--documents", "3", "--json"]);
    let made: Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!(made["documents"], 3);
    assert_eq!(made["output"], "d.tsv");
    assert!(run.stderr.is_empty());
}
