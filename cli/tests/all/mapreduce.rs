//! `tokapi mapreduce` as a program: outputs, errors, and that memory and threads change nothing.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn tokapi(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tokapi"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap()
}

fn cranfield() -> String {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../data/cranfield/docs.jsonl.zst");
    data.display().to_string()
}

/// Runs it, which must go well; gives the file that it writes.
fn written(folder: &Path, arguments: &[&str], output: &str) -> Vec<u8> {
    let all = [arguments, &["-o", output]].concat();
    let done = tokapi(folder, &all);
    let told = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{all:?}: {told}");
    std::fs::read(folder.join(output)).unwrap()
}

/// The one line of an error, which leaves nothing behind.
fn error(folder: &Path, arguments: &[&str], status: i32) -> String {
    let before = std::fs::read_dir(folder).unwrap().count();
    let done = tokapi(folder, arguments);
    let text = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(status), "{arguments:?}: {text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), before, "{text}");
    text
}

#[test]
fn bm25_in_one_pass_and_in_two_is_what_weigh_writes() {
    let folder = tempfile::tempdir().unwrap();
    let (folder, docs) = (folder.path(), cranfield());
    let how = [
        "--analyzer",
        "unicode",
        "--stemmer",
        "english",
        "--stop-words",
        "english",
    ];
    let weigh = [&["weigh", &docs, "--formula", "bm25plus"], &how[..]].concat();
    let expected = written(folder, &weigh, "w.tsv");
    let job = [
        &["mapreduce", "bm25", &docs, "--formula", "bm25plus"],
        &how[..],
    ]
    .concat();
    assert!(written(folder, &job, "m.tsv") == expected);
    let small = [
        &job[..],
        &[
            "--threads",
            "3",
            "--chunk-size",
            "50kB",
            "--partitions",
            "7",
        ],
    ]
    .concat();
    assert!(written(folder, &small, "s.tsv") == expected);
    let local = [
        &[
            "mapreduce",
            "bm25-local",
            &docs,
            "-o",
            "lists",
            "--chunk-size",
            "70kB",
        ],
        &how[..],
    ];
    assert!(tokapi(folder, &local.concat()).status.success());
    let global = ["mapreduce", "bm25-global", "lists", "--formula", "bm25plus"];
    assert!(written(folder, &global, "g.tsv") == expected);
}

#[test]
fn jobs_write_tab_separated_lines_in_key_order() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let text = "1\tto be or not\n2\tto be\n3\tTo be, or not\n";
    std::fs::write(folder.join("a.tsv"), text).unwrap();
    std::fs::write(folder.join("edges"), "# two\na b\nb a\n").unwrap();
    for (job, input, expected) in [
        ("wordcount", "a.tsv", "be\t3\nnot\t2\nor\t2\nto\t3\n"),
        ("average-length", "a.tsv", "3\t10\t3.3333333333333335\n"),
        (
            "inverted-index",
            "a.tsv",
            "be\t1\t1\nbe\t2\t1\nbe\t3\t1\nnot\t1\t1\nnot\t3\t1\nor\t1\t1\nor\t3\t1\nto\t1\t1\nto\t2\t1\nto\t3\t1\n",
        ),
        ("sort", "a.tsv", text),
        ("duplicates", "a.tsv", "3\t1\tidentical\t1.0\n"),
        ("pagerank", "edges", "a\t0.5\nb\t0.5\n"),
    ] {
        let found = written(folder, &["mapreduce", job, input], "o.tsv");
        assert_eq!(String::from_utf8(found).unwrap(), expected, "{job}");
    }
    let pairs = written(folder, &["mapreduce", "cooccurrence", "a.tsv"], "o.tsv");
    let pairs = String::from_utf8(pairs).unwrap();
    assert!(pairs.contains("to\tor\t0.6666666666666666\n"), "{pairs}");
    let plain = written(
        folder,
        &["mapreduce", "wordcount", "a.tsv", "--no-combiner"],
        "o.tsv",
    );
    let packed = written(folder, &["mapreduce", "wordcount", "a.tsv"], "o.tsv.gz");
    assert_eq!(&packed[..2], b"\x1f\x8b");
    let again = written(folder, &["mapreduce", "sort", "o.tsv.gz"], "again");
    assert_eq!(again, plain);
    let counted = tokapi(
        folder,
        &["mapreduce", "wordcount", "a.tsv", "-o", "o.tsv", "--json"],
    );
    let counted = String::from_utf8(counted.stdout).unwrap();
    assert!(counted.contains("\"emitted_pairs\":10"), "{counted}");
}

#[test]
fn near_duplicates_are_told_by_the_share_of_their_shingles() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let words = |name: &str, different: usize| -> Vec<String> {
        (0..80)
            .map(|n| format!("{name}{}", n % different))
            .collect()
    };
    let mut text = String::new();
    for (name, different) in [("a", 80), ("b", 80), ("c", 8)] {
        let mut document = words(name, different);
        text += &format!("{name}\t{}\n", document.join(" "));
        // Of 80 words one is another.
        document[40] = "changed".into();
        text += &format!("{name}-changed\t{}\n", document.join(" "));
    }
    std::fs::write(folder.join("a.tsv"), text).unwrap();
    let job = ["mapreduce", "duplicates", "a.tsv"];
    let ids = |found: Vec<u8>| -> Vec<String> {
        let lines = String::from_utf8(found).unwrap();
        lines
            .lines()
            .map(|line| line.split('\t').next().unwrap().into())
            .collect()
    };
    let found = ids(written(folder, &job, "o.tsv"));
    // The third has 8 shingles, and 3 more when it is changed.
    assert_eq!(found, ["a-changed", "b-changed"]);
    let less = [&job[..], &["--similarity", "0.5"]].concat();
    let found = ids(written(folder, &less, "o.tsv"));
    assert_eq!(found, ["a-changed", "b-changed", "c-changed"]);
    let told = tokapi(folder, &[&job[..], &["-o", "o.tsv", "--json"]].concat());
    let told = String::from_utf8(told.stdout).unwrap();
    assert!(told.contains("\"similarity\":0.8"), "{told}");
    let help = tokapi(folder, &["mapreduce", "--help"]);
    let help = String::from_utf8(help.stdout).unwrap();
    assert!(
        help.contains("75 of 81") && help.contains("default: 0.8"),
        "{help}"
    );
}

#[test]
fn errors_are_one_line_and_leave_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("edges"), "a b\nc\nb a\n").unwrap();
    let rank = ["mapreduce", "pagerank", "edges", "-o", "r.tsv"];
    let text = error(folder, &rank, 1);
    assert!(
        text.ends_with(
            "edges, line 2 `c`: an edge is two names on a line, not 1 (or leave it out: --on-error skip)\n"
        ),
        "{text}"
    );
    let done = tokapi(folder, &[&rank[..], &["--on-error", "skip"]].concat());
    let told = String::from_utf8(done.stderr).unwrap();
    assert!(
        done.status.success() && told.contains("line 2 `c`"),
        "{told}"
    );
    let missing = ["mapreduce", "wordcount", "missing", "-o", "o.tsv"];
    assert!(error(folder, &missing, 1).contains("missing"));
    let overwritten = ["mapreduce", "sort", "edges", "-o", "edges"];
    assert!(error(folder, &overwritten, 2).contains("overwrite"));
    for (job, status, part) in [
        ("sort edges -o o --k1 1", 2, "bm25"),
        ("sort edges -o o --scratch none", 2, "none"),
        ("sort edges -o o --workers 2", 2, "processes"),
        ("sort edges -o o --algorithm merge", 2, "gpu"),
        ("sort edges -o o --runner gpu", 1, "GPU"),
        ("sort edges -o o --similarity 1", 2, "duplicates"),
        ("duplicates edges -o o --similarity 2", 2, "from 0 to 1"),
        ("bm25-global edges -o o", 2, "bm25-local"),
    ] {
        let arguments: Vec<&str> = ["mapreduce"].into_iter().chain(job.split(' ')).collect();
        assert!(error(folder, &arguments, status).contains(part), "{job}");
    }
}
