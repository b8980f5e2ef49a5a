//! Words as people write them: found from the command line without any option.

use crate::folder::{Folder, one_line, printed};

const DOCS: &str = "a\t“quoted” word—dash foo\u{a0}bar it’s cafe\u{301} ते हिन्दी\n\
                    b\tplain words of the CAFÉ, हि\u{928}\u{94d}दी\n";

fn index(folder: &Folder, name: &str, more: &[&str]) {
    folder.put("docs.tsv", DOCS);
    let args = ["index", "docs.tsv", "-o", name, "--json", "--positions"];
    printed(folder, &[&args, more].concat());
}

fn count(folder: &Folder, index: &str, query: &str) -> String {
    let count = printed(folder, &["search", index, query, "--count"]);
    count.trim().to_owned()
}

#[test]
fn words_are_found_however_they_are_written() {
    let folder = Folder::new();
    index(&folder, "index", &[]);
    for (query, expected) in [
        ("quoted", "1"),
        ("dash", "1"),
        ("foo", "1"),
        ("café", "2"),
        ("CAFE\u{301}", "2"),
        ("cafe", "0"),
        ("हिन्दी", "2"),
        ("ह", "0"),
        ("\"foo bar\"", "1"),
        ("\"the cafe\u{301}\"", "1"),
    ] {
        assert_eq!(count(&folder, "index", query), expected, "{query}");
    }
    let info = printed(&folder, &["info", "index"]);
    assert!(info.contains("analyzer  Unicode words; "), "{info}");
    index(&folder, "python", &["--analyzer", "python"]);
    assert_eq!(count(&folder, "python", "cafe"), "1");
    assert_eq!(count(&folder, "python", "ह"), "2");
    index(&folder, "plain", &["--analyzer", "plain"]);
    assert_eq!(count(&folder, "plain", "quoted"), "0");
    assert_eq!(count(&folder, "plain", "“quoted”"), "1");
}

#[test]
fn stop_words_of_a_file_are_spelled_as_terms_are() {
    let folder = Folder::new();
    folder.put("stop.txt", "\u{feff}Cafe\u{301}\nOF\nहि\u{928}\u{94d}दी\n");
    index(&folder, "index", &["--stop-words", "stop.txt"]);
    for (query, expected) in [("café", "0"), ("of", "0"), ("हिन्दी", "0"), ("the", "1")]
    {
        assert_eq!(count(&folder, "index", query), expected, "{query}");
    }
}

#[test]
fn documents_are_added_by_the_analyzer_of_the_index() {
    let folder = Folder::new();
    index(&folder, "index", &["--analyzer", "python"]);
    folder.put("more.tsv", "c\tcafe\u{301}\n");
    let append = ["index", "more.tsv", "-o", "index", "--append"];
    let other = [&append[..], &["--analyzer", "unicode"]].concat();
    one_line(
        &folder.run(&other),
        2,
        &["index has another analyzer (Python; no stop words; no stemmer)"],
    );
    printed(&folder, &append);
    assert_eq!(count(&folder, "index", "cafe"), "2");
}

/// Every way to the weights cuts the same words.
#[test]
fn jobs_and_weights_have_the_same_terms() {
    let folder = Folder::new();
    folder.put("docs.tsv", DOCS);
    for analyzer in ["unicode", "python", "plain", "whitespace"] {
        let how = ["docs.tsv", "--analyzer", analyzer, "-o"];
        printed(&folder, &[&["weigh"], &how[..], &["out/w.tsv"]].concat());
        let job = ["mapreduce", "bm25"];
        printed(&folder, &[&job[..], &how, &["out/m.tsv"]].concat());
        let read = |name: &str| std::fs::read_to_string(folder.path(name)).unwrap();
        assert_eq!(read("out/w.tsv"), read("out/m.tsv"), "{analyzer}");
    }
    let build = ["dictionary", "build", "docs.tsv", "-o", "out/terms.dict"];
    printed(&folder, &build);
    let found = printed(
        &folder,
        &["dictionary", "lookup", "out/terms.dict", "हिन्दी", "café"],
    );
    assert_eq!(found.lines().count(), 2, "{found}");
}
