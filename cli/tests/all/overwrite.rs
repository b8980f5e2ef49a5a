//! An index that takes the place of another: at one moment, whenever the process is killed.
#![cfg(unix)]

use std::fs;
use std::time::Duration;

use crate::folder::{Folder, Killer, Random, one_line, rounds};
use tokapi::Index;
use tokapi::{Query, SearchOptions};

/// Kills, each at a random moment of the time that an index takes.
const KILLS: u64 = 12;

fn ok(folder: &Folder, args: &str) {
    let run = folder.run(&args.split(' ').collect::<Vec<_>>());
    assert!(run.status.success(), "{args}: {run:?}");
}

/// Writes `count` documents that all say `word`.
fn documents(folder: &Folder, name: &str, word: &str, count: usize) {
    let lines = (0..count).map(|number| format!("{word}{number}\t{word} w{number}\n"));
    folder.put(name, lines.collect::<String>());
}

fn two_collections(collections: [(&str, &str, usize); 2]) -> Folder {
    let folder = Folder::new();
    for (name, word, count) in collections {
        documents(&folder, name, word, count);
    }
    folder
}

fn found(index: &Index, word: &str) -> usize {
    let options = SearchOptions::default().k(1_000_000);
    let hits = index.search(&Query::any([word]), &options).unwrap();
    hits.len()
}

#[test]
fn an_index_is_replaced_and_those_who_have_it_open_go_on() {
    let folder = two_collections([("old.tsv", "old", 500), ("new.tsv", "new", 700)]);
    ok(&folder, "index old.tsv -o index --store");
    ok(&folder, "index new.tsv -o index --append");
    let before = Index::open(folder.path("index")).unwrap();
    let again = "index new.tsv -o index --positions --stemmer english --overwrite";
    ok(&folder, again);
    let after = Index::open(folder.path("index")).unwrap();
    assert_eq!((found(&before, "old"), found(&before, "new")), (500, 700));
    assert_eq!((found(&after, "old"), found(&after, "new")), (0, 700));
    assert!(after.keep().positions && !after.keep().text);
    assert_eq!(after.info().parts, 1);
    assert_eq!(after.info().left_over, Default::default());
    before.check().unwrap();
    ok(&folder, "check index");
    // The files of the old one stay as long as somebody has it open; the next change removes them.
    drop((before, after));
    ok(&folder, "index old.tsv -o index --append");
    let names = folder.names("index");
    assert!(names[0].starts_with("epoch-"), "{names:?}");
    assert_eq!((&*names[1], names.len()), ("lock", 4), "{names:?}");
    // Other ways to make an index, and where there is none.
    ok(&folder, "export index --to ciff -o out/a.ciff");
    ok(&folder, "index out/a.ciff -o index --overwrite");
    ok(&folder, "index new.tsv -o index --overwrite --reorder id");
    ok(&folder, "index new.tsv -o index --overwrite --impacts");
    ok(&folder, "check index");
    ok(&folder, "index new.tsv -o another --overwrite");
    fs::create_dir(folder.path("empty")).unwrap();
    ok(&folder, "index new.tsv -o empty --overwrite");
    ok(&folder, "check empty");
}

#[test]
fn content_that_the_new_index_does_not_keep_is_named() {
    let folder = Folder::new();
    folder.put(
        "docs.jsonl",
        r#"{"id":"a","contents":"x","lang":"en","year":1}"#,
    );
    let index = "index docs.jsonl -o index";
    ok(&folder, &format!("{index} --store --field lang,year"));
    for (options, said) in [
        ("--store --field year,lang --positions", ""),
        (
            "--field year",
            "tokapi: the old index keeps texts and the fields lang and positions, and the new one does not: \
             --store --field lang --positions keeps them\n",
        ),
        (
            "",
            "tokapi: the old index keeps the fields year, and the new one does not: --field year keeps them\n",
        ),
        ("", ""),
    ] {
        let args = format!("{index} --overwrite --json {options}");
        let run = folder.run(&args.split_whitespace().collect::<Vec<_>>());
        assert!(run.status.success(), "{args}: {run:?}");
        assert_eq!(String::from_utf8_lossy(&run.stderr), said, "{args}");
    }
}

#[test]
fn what_is_not_an_index_is_not_overwritten() {
    let folder = Folder::new();
    documents(&folder, "new.tsv", "new", 7);
    fs::create_dir(folder.path("home")).unwrap();
    folder.put("home/letter", "dear");
    folder.put("file", "dear");
    let refuse = |output: &str, parts: &[&str]| {
        let run = folder.run(&["index", "new.tsv", "-o", output, "--overwrite"]);
        one_line(&run, 2, parts);
    };
    refuse("home", &["home", "is not an index"]);
    refuse("file", &["file", "is not an index"]);
    folder.put("home/manifest.json", "{\"format\":\"another\"}\n");
    refuse("home", &["home", "is not an index"]);
    assert_eq!(folder.names("home"), ["letter", "manifest.json"]);
    ok(&folder, "index new.tsv -o index");
    let writer = tokapi::IndexWriter::open(&folder.path("index"), 1).unwrap();
    refuse("index", &["another process is changing this index"]);
    drop(writer);
    let run = folder.run(&["index", "new.tsv", "-o", "index"]);
    one_line(&run, 2, &["exists already", "--overwrite"]);
    // One that cannot be read any more is replaced too.
    let manifest = fs::read_to_string(folder.path("index/epoch-1.json")).unwrap();
    let other = manifest.replace("\"version\":2", "\"version\":99");
    folder.put("index/epoch-1.json", other);
    assert!(!folder.run(&["check", "index"]).status.success());
    ok(&folder, "index new.tsv -o index --overwrite");
    ok(&folder, "check index");
}

#[test]
fn killed_at_any_moment_there_is_the_old_index_or_the_new_one() {
    let folder = two_collections([("a.tsv", "even", 3000), ("b.tsv", "odd", 4000)]);
    ok(&folder, "index a.tsv -o index");
    let (mut kept, mut there) = (0, (3000, 0));
    let mut killer = Killer {
        random: Random(3),
        latest: Duration::from_millis(30),
        kills: 0,
    };
    while !killer.is_done(rounds(KILLS), kept < killer.kills) {
        let (input, after) = match there.0 {
            0 => ("a.tsv", (3000, 0)),
            _ => ("b.tsv", (0, 4000)),
        };
        let args = ["index", input, "-o", "index", "--overwrite"];
        let (killed, _) = killer.run(&folder, &args);
        let index = Index::open(folder.path("index")).unwrap();
        let now = (found(&index, "even"), found(&index, "odd"));
        assert!(now == after || killed && now == there, "{now:?}");
        ok(&folder, "check index");
        kept += u64::from(killed && now == after);
        there = now;
    }
    ok(&folder, "index a.tsv -o index --overwrite");
    assert_eq!(folder.names("index").len(), 3);
    // Nothing beside.
    let beside = folder.names(".");
    assert!(
        beside.iter().all(|name| !name.contains(".tmp")),
        "{beside:?}"
    );
}
