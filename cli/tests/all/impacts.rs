//! Impacts from the command line: built, searched, described, and what they do not allow.

use crate::folder::{Folder, json, one_line, printed};
use serde_json::Value;

fn indexed() -> Folder {
    let folder = Folder::new();
    let text = "a\tthe red fox and the red hen\nb\tthe blue hen\nc\ta red-blue door\nd\t\n";
    folder.put("docs.tsv", text);
    let index = ["index", "docs.tsv", "-o", "index", "--json"];
    printed(
        &folder,
        &[&index[..], &["--impacts", "--k1", "0.9"]].concat(),
    );
    folder
}

#[test]
fn an_index_of_impacts_is_searched() {
    let folder = indexed();
    printed(&folder, &["index", "docs.tsv", "-o", "exact"]);
    let found = json(&folder, &["search", "index", "red hen", "--json"]);
    let exact = ["search", "exact", "red hen", "--json", "--k1", "0.9"];
    let exact = json(&folder, &exact);
    let hits = |answer: &Value| answer["hits"].as_array().unwrap().clone();
    assert_eq!(hits(&found).len(), hits(&exact).len());
    for (found, exact) in hits(&found).iter().zip(hits(&exact)) {
        assert_eq!(found["id"], exact["id"]);
        let difference = found["score"].as_f64().unwrap() - exact["score"].as_f64().unwrap();
        assert!(difference.abs() < 0.01, "{found} {exact}");
    }
    let exhaustive = ["search", "index", "red hen", "--json", "--exhaustive"];
    assert_eq!(json(&folder, &exhaustive), found);
    let text = printed(&folder, &["search", "index", "red", "--explain"]);
    assert!(text.contains("red  impact "), "{text}");
    let explained = json(&folder, &["search", "index", "red", "--explain", "--json"]);
    let term = &explained["hits"][0]["terms"][0];
    let weight = term["impact"].as_f64().unwrap() * term["scale"].as_f64().unwrap();
    assert!((weight - term["weight"].as_f64().unwrap()).abs() < 1e-6);
    let info = printed(&folder, &["info", "index"]);
    assert!(
        info.ends_with("weights   impacts by lucene, k1 0.9, b 0.75\n"),
        "{info}"
    );
    let info = json(&folder, &["info", "index", "--json"]);
    assert_eq!(info["impacts"]["bm25"]["formula"], "lucene");
    assert_eq!(info["impacts"]["bm25"]["k1"], 0.9);
    let none = json(&folder, &["info", "exact", "--json"]);
    assert_eq!(none["impacts"], Value::Null);
    printed(&folder, &["check", "index"]);
    printed(
        &folder,
        &["export", "index", "--to", "ciff", "-o", "a.ciff"],
    );
}

#[test]
fn what_impacts_do_not_allow_is_told_in_one_line() {
    let folder = indexed();
    let said = "computed by lucene, k1 0.9, b 0.75";
    for option in [["--k1", "0.9"], ["--b", "0.3"], ["--formula", "lucene"]] {
        let args = [&["search", "index", "red"][..], &option].concat();
        one_line(&folder.run(&args), 2, &["index", said, "without --impacts"]);
    }
    for args in [
        &["index", "docs.tsv", "-o", "index", "--append"][..],
        &["delete", "index", "--id", "a"],
        &["merge", "index"],
    ] {
        one_line(&folder.run(args), 2, &["index", said, "without impacts"]);
    }
    let export = ["export", "index", "--to", "bm25s", "-o", "out/bm25s"];
    one_line(&folder.run(&export), 2, &["index", said]);
    let other = ["index", "docs.tsv", "-o", "out/index"];
    let run = folder.run(&[&other[..], &["--k1", "2"]].concat());
    one_line(&run, 2, &["--impacts"]);
    let run = folder.run(&[&other[..], &["--impacts", "--b", "2"]].concat());
    one_line(&run, 2, &["b is 2"]);
    let run = folder.run(&[&other[..], &["--impacts", "--formula", "robertson"]].concat());
    one_line(&run, 2, &["robertson", "a weight above 0", "lucene"]);
    let run = folder.run(&[&other[..], &["--impacts", "--append"]].concat());
    assert_eq!(run.status.code(), Some(2));
    folder.put("a.ciff", "");
    let import = ["index", "a.ciff", "-o", "out/index", "--impacts"];
    one_line(&folder.run(&import), 2, &["CIFF", "--impacts"]);
    assert_eq!(folder.written(), [""; 0]);
}
