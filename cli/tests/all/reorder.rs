//! Documents in another order, from the command line.

use crate::folder::{Folder, json, one_line, printed};

/// The ids of the documents with a word, which all have the same score.
fn ids(folder: &Folder, index: &str) -> Vec<String> {
    let answer = json(folder, &["search", index, "apple", "--json"]);
    let hits = answer["hits"].as_array().unwrap().iter();
    hits.map(|hit| hit["id"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn equal_scores_come_in_the_order() {
    let folder = Folder::new();
    folder.put("a.tsv", "c\tred apple\na\tgreen apple\nb\tsour apple\n");
    folder.put("b.tsv", "aa\tsweet apple\n");
    let index = |name, more: &[&str]| {
        let args = ["index", "a.tsv", "-o", name, "--store"];
        printed(&folder, &[&args[..], more].concat());
        assert_eq!(
            folder.names(&format!("{name}/part-1")),
            [
                "id-table", "ids", "lengths", "lists", "postings", "records", "terms"
            ]
        );
    };
    index("given", &[]);
    index("by-id", &["--reorder", "id"]);
    index("by-graph", &["--reorder", "graph"]);
    assert_eq!(ids(&folder, "given"), ["c", "a", "b"]);
    assert_eq!(ids(&folder, "by-id"), ["a", "b", "c"]);
    assert_eq!(ids(&folder, "by-graph").len(), 3);

    json(
        &folder,
        &["index", "b.tsv", "-o", "by-id", "--append", "--json"],
    );
    assert_eq!(ids(&folder, "by-id"), ["a", "b", "c", "aa"]);
    let args = ["merge", "by-id", "--reorder", "id", "--memory", "1GB"];
    let merged = json(&folder, &[&args[..], &["--json"]].concat());
    assert_eq!(merged["parts"], 1);
    assert_eq!(ids(&folder, "by-id"), ["a", "aa", "b", "c"]);
    printed(&folder, &["check", "by-id"]);
}

#[test]
fn what_cannot_be_reordered_is_told() {
    let folder = Folder::new();
    folder.put("a.tsv", "a\tred apple\n");
    printed(&folder, &["index", "a.tsv", "-o", "index"]);
    let append = ["index", "a.tsv", "-o", "index", "--append"];
    let run = folder.run(&[&append[..], &["--reorder", "id"]].concat());
    assert_eq!(run.status.code(), Some(2));
    let export = ["export", "index", "--to", "ciff", "-o", "index.ciff"];
    printed(&folder, &export);
    let import = ["index", "index.ciff", "-o", "other", "--reorder", "graph"];
    one_line(&folder.run(&import), 2, &["tokapi merge --reorder"]);
    assert!(!folder.path("other").exists());
    let little = ["merge", "index", "--reorder", "graph", "--memory", "1MB"];
    one_line(&folder.run(&little), 2, &["needs a memory budget"]);
}
