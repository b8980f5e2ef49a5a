//! Documents that are added, replaced and deleted, from the command line.

use crate::folder::{Folder, one_line};
use serde_json::Value;
use tokapi::IndexWriter;

fn index() -> Folder {
    let folder = Folder::new();
    folder.put("a.tsv", "a1\tred apple\na2\tgreen apple\n");
    folder.put("b.tsv", "b1\tred plum\na2\tsour green apple\n");
    let run = folder.run(&["index", "a.tsv", "-o", "index", "--stemmer", "english"]);
    assert!(run.status.success(), "{run:?}");
    folder
}

fn json(folder: &Folder, args: &[&str]) -> Value {
    let run = folder.run(args);
    assert!(run.status.success(), "{run:?}");
    serde_json::from_slice(&run.stdout).unwrap()
}

fn ids(folder: &Folder, query: &str) -> Vec<String> {
    let answer = json(folder, &["search", "index", query, "--json"]);
    let hits = answer["hits"].as_array().unwrap().iter();
    hits.map(|hit| hit["id"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn documents_are_added_replaced_and_deleted() {
    let folder = index();
    let append = ["index", "b.tsv", "-o", "index", "--append"];
    let parts = ["\"a2\"", "nothing was added", "--replace"];
    one_line(&folder.run(&append), 1, &parts);
    assert_eq!(ids(&folder, "plums"), [""; 0]);

    let kept = json(
        &folder,
        &[&append[..], &["--on-error", "skip", "--json"]].concat(),
    );
    assert_eq!((&kept["added"], &kept["repeated"]), (&1.into(), &1.into()));
    assert_eq!(ids(&folder, "sour"), [""; 0]);
    assert_eq!(ids(&folder, "plums"), ["b1"]);

    let replaced = json(&folder, &[&append[..], &["--replace", "--json"]].concat());
    assert_eq!(
        (&replaced["added"], &replaced["repeated"]),
        (&2.into(), &2.into())
    );
    assert_eq!(ids(&folder, "sour"), ["a2"]);
    assert_eq!(ids(&folder, "apples red green").len(), 3);

    let some = ["delete", "index", "--id", "a2", "--id", "nobody"];
    let gone = json(
        &folder,
        &[&some[..], &["--ignore-missing", "--json"]].concat(),
    );
    assert_eq!(gone["deleted"], 1);
    assert_eq!(gone["unknown"], serde_json::json!(["nobody"]));
    assert_eq!(ids(&folder, "green apple"), ["a1"]);

    let merged = json(&folder, &["merge", "index", "--json"]);
    assert_eq!(merged["parts"], 1);
    let info = json(&folder, &["info", "index", "--json"]);
    assert_eq!(
        (&info["documents"], &info["deleted"]),
        (&2.into(), &0.into())
    );

    folder.put("gone.txt", "a1\r\n\nb1\n");
    let all = json(&folder, &["delete", "index", "--ids", "gone.txt", "--json"]);
    assert_eq!(all["deleted"], 2);
    assert_eq!(ids(&folder, "red"), [""; 0]);
    let check = folder.run(&["check", "index"]);
    assert!(check.status.success(), "{check:?}");
    let again = json(&folder, &[&append[..], &["--json"]].concat());
    assert_eq!(again["added"], 2);
    assert_eq!(ids(&folder, "sour"), ["a2"]);
}

#[test]
fn what_does_not_fit_is_told() {
    let folder = index();
    let append = ["index", "b.tsv", "-o", "index", "--append"];
    let other = [&append[..], &["--stemmer", "german"]].concat();
    one_line(
        &folder.run(&other),
        2,
        &["index has another analyzer (", "; stemmer english)"],
    );
    let writer = IndexWriter::open(&folder.path("index"), 1).unwrap();
    for args in [
        &append[..],
        &["merge", "index"],
        &["delete", "index", "--id", "a1"],
    ] {
        one_line(
            &folder.run(args),
            2,
            &["another process is changing this index"],
        );
    }
    drop(writer);
    for args in [
        &["index", "b.tsv", "-o", "none", "--append"][..],
        &["merge", "none"],
        &["delete", "none", "--id", "a1"],
    ] {
        one_line(&folder.run(args), 1, &["none", "there is no index here"]);
    }
    one_line(
        &folder.run(&["index", "b.tsv", "-o", "index"]),
        2,
        &["exists already"],
    );
}

#[test]
fn all_documents_that_are_named_are_deleted_or_none() {
    let folder = index();
    folder.put("gone.txt", "a1\nx1\nx2\nx3\nx4\nx5\nx6\nx7\n");
    let by_id = ["delete", "index", "--id", "a1", "--id", "nosuch"];
    let parts = [
        "index",
        "\"nosuch\"",
        "nothing was deleted",
        "--ignore-missing",
    ];
    one_line(&folder.run(&by_id), 1, &parts);
    let by_file = ["delete", "index", "--ids", "gone.txt"];
    let parts = ["\"x1\", \"x2\"", "nor 2 more", "nothing was deleted"];
    one_line(&folder.run(&by_file), 1, &parts);
    assert_eq!(ids(&folder, "apple").len(), 2);
    let gone = json(
        &folder,
        &[&by_file[..], &["--ignore-missing", "--json"]].concat(),
    );
    assert_eq!(gone["deleted"], 1);
    assert_eq!(gone["unknown"].as_array().unwrap().len(), 7);
    assert_eq!(ids(&folder, "apple"), ["a2"]);
    // Twice named is once deleted; once deleted is not there.
    let twice = ["delete", "index", "--id", "a2", "--id", "a2", "--json"];
    assert_eq!(json(&folder, &twice)["deleted"], 1);
    one_line(&folder.run(&twice[..4]), 1, &["\"a2\""]);
    folder.put("bad.txt", b"a1\n\xff\n");
    let bad = ["delete", "index", "--ids", "bad.txt"];
    one_line(&folder.run(&bad), 1, &["bad.txt", "line 2", "UTF-8"]);
}
