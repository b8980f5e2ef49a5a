//! Queries that are wrong, odd, or meant for another search engine: each is answered or named.

use crate::folder::{Folder, around, one_line, shell};
use serde_json::Value;

fn with_index() -> Folder {
    let folder = Folder::new();
    folder.put("docs.tsv", around("tsv", b""));
    let run = folder.run(&["index", "docs.tsv", "-o", "ix"]);
    assert!(run.status.success(), "{run:?}");
    folder
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn answers_to_a_file_name_their_query() {
    let folder = with_index();
    folder.put("q.tsv", "q1\ttwo\nq2\tnone\n");
    let run = folder.run(&["search", "ix", "--queries", "q.tsv", "--count"]);
    assert_eq!(text(&run.stdout), "q1\t2\nq2\t0\n");
    for (flags, member) in [(&["--json"][..], "hits"), (&["--json", "--count"], "count")] {
        let run = folder.run(&[&["search", "ix", "--queries", "q.tsv"], flags].concat());
        let lines: Vec<Value> = text(&run.stdout)
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let ids: Vec<&str> = lines
            .iter()
            .filter_map(|line| line["id"].as_str())
            .collect();
        assert_eq!(ids, ["q1", "q2"], "{flags:?}");
        assert!(lines.iter().all(|line| !line[member].is_null()));
    }
    let one = folder.run(&["search", "ix", "two", "--json"]);
    let one: Value = serde_json::from_slice(&one.stdout).unwrap();
    assert!(one["id"].is_null(), "a query of the command line has no id");
}

#[test]
fn options_for_files_of_queries_need_one() {
    let folder = with_index();
    for flags in [
        &["--run", "out/y.run"][..],
        &["--tag", "x"],
        &["--operators"],
    ] {
        let run = folder.run(&[&["search", "ix", "two"], flags].concat());
        one_line(&run, 2, &["add --queries FILE"]);
        assert_eq!(folder.written(), [""; 0]);
    }
}

#[test]
fn content_that_is_not_kept_is_named_with_the_way_to_keep_it() {
    let folder = with_index();
    folder.put(
        "d.jsonl",
        "{\"id\":1,\"text\":\"one two\",\"n\":1,\"lang\":\"en\"}\n",
    );
    for (name, fields, said) in [
        ("fields", "n,lang", ""),
        (
            "gone",
            "n,gone",
            "tokapi: no document has the field `gone`\n",
        ),
    ] {
        let run = folder.run(&["index", "d.jsonl", "-o", name, "--json", "--field", fields]);
        assert!(run.status.success(), "{run:?}");
        assert_eq!(text(&run.stderr), said);
    }
    for (args, parts) in [
        (
            &["ix", "", "--filter", "year:1"][..],
            &["keeps no fields", "with the field `year` (--field year)"][..],
        ),
        (
            &["fields", "", "--filter", "year:1"],
            &["no field `year`, only n, lang", "(--field n,lang,year)"],
        ),
        (
            &["ix", "\"one two\""],
            &["keeps no positions", "(--positions)"],
        ),
        (&["ix", "one", "--text", "--json"], &["no texts", "--store"]),
    ] {
        let run = folder.run(&[&["search"], args].concat());
        one_line(&run, 2, parts);
    }
}

#[test]
fn bad_files_of_queries_are_named() {
    let folder = with_index();
    let search = ["search", "ix", "--queries", "q.tsv", "--run", "out/y.run"];
    for (queries, status, parts) in [
        (
            "a\tone\nb\ttwo\na\tthree\n",
            1,
            &["q.tsv, line 3", "line 1", "id a"][..],
        ),
        ("a b\tone\n", 2, &["query a b", "white space"]),
        ("a\t\"two three\"\n", 2, &["query a", "positions"]),
    ] {
        folder.put("q.tsv", queries);
        one_line(
            &folder.run(&[&search[..], &["--operators"]].concat()),
            status,
            parts,
        );
        assert_eq!(folder.written(), [""; 0]);
    }
}

#[test]
fn a_bad_query_does_not_end_a_session() {
    let folder = with_index();
    let script = r#"printf 'one\n"two three"\nthree\n' | "$0" search ix"#;
    let run = shell(&folder, script);
    assert_eq!(run.status.code(), Some(2));
    assert_eq!(text(&run.stdout).lines().count(), 2, "{run:?}");
    let said = text(&run.stderr);
    assert!(said.contains("positions"), "{said}");
    assert!(
        said.ends_with("tokapi: 1 of 3 queries could not be answered\n"),
        "{said}"
    );
}

/// The line on standard error of a search that ends well.
fn told(folder: &Folder, query: &str) -> String {
    let run = folder.run(&["search", "ix", "--", query]);
    assert!(run.status.success());
    text(&run.stderr).to_owned()
}

#[test]
fn operators_of_others_get_a_hint() {
    let folder = with_index();
    for (query, hint) in [
        ("year:>1999", "--filter"),
        ("on*", "wildcards"),
        ("onee~1", "exactly"),
        ("one^3", "repeat"),
        ("one AND two", "--mode and"),
        ("one OR two", "any of the words"),
        ("one NOT two", "use -"),
    ] {
        let said = told(&folder, query);
        let is_told = said.contains("is no operator here") && said.contains(hint);
        assert!(is_told, "{query}: {said}");
    }
    let plain = folder.run(&["search", "ix", "one two"]);
    assert_eq!(text(&plain.stderr), "");
}

#[test]
fn nothing_found_says_why() {
    let folder = with_index();
    for (query, said) in [
        ("none", "no document matches\n"),
        ("-one", "the query only excludes words"),
        ("...", "the query has no term"),
    ] {
        let found = told(&folder, query);
        assert!(found.starts_with(said), "{query}: {found}");
    }
    let run = folder.run(&["search", "ix", "one", "-k", "0"]);
    assert_eq!(run.status.code(), Some(2));
    assert!(text(&run.stderr).contains("1 or more"), "{run:?}");
}
