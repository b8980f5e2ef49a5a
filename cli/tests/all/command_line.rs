//! The command line as people type it: help, names from other programs, and mistakes.

use crate::folder::{Folder, printed};

#[test]
fn names_from_other_programs_are_understood() {
    let folder = Folder::new();
    folder.put("docs.jsonl", "{\"id\": \"a\", \"title\": \"one two\"}\n");
    let weigh = ["weigh", "docs.jsonl", "-o", "out/w.tsv", "--fields"];
    printed(&folder, &[&weigh[..], &["title"]].concat());
    let build = ["build", "docs.jsonl", "-o", "ix", "--text-field", "title"];
    printed(&folder, &build);
    let expected = printed(&folder, &["search", "ix", "two", "-k", "1"]);
    assert!(expected.contains('a'), "{expected}");
    for (verb, option) in [("search", "--top"), ("find", "--limit"), ("query", "-k")] {
        let found = printed(&folder, &[verb, "ix", "two", option, "1"]);
        assert_eq!(found, expected, "{verb} {option}");
    }
}

#[test]
fn unknown_options_get_a_tip_that_helps_or_none() {
    let folder = Folder::new();
    for (args, tip) in [
        (&["weigh", "docs.tsv", "--size", "5"][..], ""),
        (&["search", "ix", "--memory", "1GB"], ""),
        (&["weigh", "docs.tsv", "--memroy", "1GB"], "'--memory'"),
        (&["search", "ix", "-delta"], "-- -d"),
        (&["serch", "ix"], "'search'"),
    ] {
        let run = folder.run(args);
        let error = String::from_utf8(run.stderr).unwrap();
        assert_eq!(run.status.code(), Some(2), "{error}");
        match tip {
            "" => assert!(!error.contains("tip:"), "{error}"),
            tip => assert!(error.contains("tip:") && error.contains(tip), "{error}"),
        }
    }
}

#[test]
fn help_names_what_a_command_takes() {
    let folder = Folder::new();
    let help = |args: &[&str]| printed(&folder, &[args, &["--help"]].concat());
    assert!(help(&[]).starts_with("BM25 weights"), "{}", help(&[]));
    for (args, takes_threads) in [
        (&["weigh"][..], true),
        (&["dictionary", "build"], true),
        (&["dictionary", "lookup"], false),
        (&["info"], false),
        (&["eval"], false),
    ] {
        let text = help(args);
        assert_eq!(text.contains("--threads"), takes_threads, "{text}");
    }
    // It is accepted everywhere.
    printed(&folder, &["devices", "--threads", "2"]);
    assert!(help(&["stats"]).contains("[default: the system's folder"));
    assert!(help(&["weigh"]).contains("[default: the folder of the output]"));
}
