//! `tokapi dictionary`: what is built is found again, and what is wrong is one line.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

const TOKAPI: &str = env!("CARGO_BIN_EXE_tokapi");
const CRANFIELD: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../data/cranfield/docs.jsonl.zst"
);

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs `tokapi dictionary` here, with `input` on standard input.
    fn run(&self, args: &[&str], input: &[u8]) -> Output {
        let mut child = Command::new(TOKAPI)
            .arg("dictionary")
            .args(args)
            .current_dir(self.0.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // Whoever ends with an error may not have read it.
        let input = input.to_vec();
        let writer = std::thread::spawn(move || stdin.write_all(&input).ok());
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        output
    }

    /// What a run that succeeds prints.
    fn prints(&self, args: &[&str], input: &[u8]) -> String {
        let run = self.run(args, input);
        assert!(run.status.success(), "{run:?}");
        String::from_utf8(run.stdout).unwrap()
    }

    /// Runs what must fail with `status` and one line that holds `part`.
    fn refuses(&self, args: &[&str], status: i32, part: &str) {
        let run = self.run(args, b"");
        let error = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(status), "{error}");
        assert!(
            error.contains(part) && !error.contains("panicked"),
            "{error}"
        );
        if status == 1 {
            assert_eq!(error.matches('\n').count(), 1, "{error}");
        }
    }
}

#[test]
fn from_a_corpus() {
    let folder = Folder::new();
    let built = folder.prints(&["build", CRANFIELD, "-o", "c.dict", "--json"], b"");
    let built: Value = serde_json::from_str(&built).unwrap();
    let stats = folder.prints(&["stats", "c.dict", "--json"], b"");
    let stats: Value = serde_json::from_str(&stats).unwrap();
    let terms = stats["terms"].as_u64().unwrap();
    assert!(terms > 5000, "{stats}");
    for (field, value) in stats.as_object().unwrap() {
        assert_eq!(&built[field], value, "{field}");
    }
    let bytes = fs::metadata(folder.path("c.dict")).unwrap().len();
    assert_eq!(stats["bytes"], bytes);
    let text = folder.prints(&["stats", "c.dict"], b"");
    assert!(text.contains("bytes per term"), "{text}");

    // Every id has a term, and that term has the id.
    let ids: String = (0..terms + 1).map(|id| format!("{id}\n")).collect();
    let by_id = folder.prints(&["lookup", "c.dict", "--id"], ids.as_bytes());
    let mut found: Vec<(&str, &str)> = by_id.lines().map(|l| l.split_once('\t').unwrap()).collect();
    assert_eq!(found.pop().unwrap().1, "-");
    let distinct: BTreeSet<&str> = found.iter().map(|found| found.1).collect();
    assert_eq!(distinct.len() as u64, terms);
    let asked: String = found.iter().map(|(_, term)| format!("{term}\n")).collect();
    let by_term = folder.prints(&["lookup", "c.dict"], asked.as_bytes());
    let expected: String = found
        .iter()
        .map(|(id, term)| format!("{term}\t{id}\n"))
        .collect();
    assert_eq!(by_term, expected);

    let args = [
        "build",
        CRANFIELD,
        "-o",
        "common.dict",
        "--min-df",
        "2",
        "--json",
    ];
    let common: Value = serde_json::from_str(&folder.prints(&args, b"")).unwrap();
    assert!(common["terms"].as_u64().unwrap() < terms);
    let found = folder.prints(
        &["lookup", "common.dict", "boundary", "aerothermoelastic"],
        b"",
    );
    assert!(
        found.starts_with("boundary\t") && found.ends_with("aerothermoelastic\t-\n"),
        "{found}"
    );
}

#[test]
fn from_a_list() {
    let folder = Folder::new();
    let list = b"New York\r\nlayer\n\nlayer\nAb\n";
    let run = folder.run(&["build", "--terms", "-", "-o", "list.dict"], list);
    assert!(run.status.success(), "{run:?}");
    let asked = ["lookup", "list.dict", "New York", "layer", "Ab", "ab", ""];
    let found = folder.prints(&asked, b"");
    let mut ids: Vec<&str> = found
        .lines()
        .map(|line| line.split_once('\t').unwrap().1)
        .collect();
    assert_eq!(ids.split_off(3), ["-", "-"]);
    ids.sort_unstable();
    assert_eq!(ids, ["0", "1", "2"]);

    // As packed files, in any order, to standard output: the same bytes.
    fs::write(folder.path("list.txt"), b"Ab\nNew York\nlayer").unwrap();
    let run = folder.run(&["build", "--terms", "list.txt", "-o", "-"], b"");
    assert_eq!(run.stdout, fs::read(folder.path("list.dict")).unwrap());

    let empty = folder.run(&["build", "--terms", "-", "-o", "empty.dict"], b"");
    assert!(empty.status.success(), "{empty:?}");
    assert_eq!(folder.prints(&["lookup", "empty.dict", "a"], b""), "a\t-\n");
    assert_eq!(
        folder.prints(&["lookup", "empty.dict", "--id", "0"], b""),
        "0\t-\n"
    );
}

#[test]
fn what_is_wrong_is_one_line() {
    let folder = Folder::new();
    fs::write(folder.path("list.txt"), b"a\nb\n").unwrap();
    fs::write(folder.path("bad.txt"), b"a\n\xff\n").unwrap();
    let build = |args: &[&'static str]| [&["build"], args].concat();
    folder.refuses(&build(&["none.jsonl", "-o", "x.dict"]), 1, "none.jsonl");
    folder.refuses(
        &build(&["--terms", "list.txt", "-o", "none/x.dict"]),
        1,
        "none/x.dict",
    );
    folder.refuses(
        &build(&["--terms", "bad.txt", "-o", "x.dict"]),
        1,
        "bad.txt, line 2",
    );
    folder.refuses(
        &build(&["--terms", "list.txt", "-o", "list.txt"]),
        2,
        "overwrite",
    );
    folder.refuses(
        &build(&["--terms", "list.txt", "-o", "x.dict", "--min-df", "2"]),
        2,
        "--min-df",
    );
    folder.refuses(&build(&["list.txt"]), 2, "--output");
    assert!(!folder.path("x.dict").exists());

    folder.prints(&build(&["--terms", "list.txt", "-o", "x.dict"]), b"");
    folder.refuses(&["stats", "list.txt"], 1, "list.txt: ");
    folder.refuses(
        &["lookup", "none.dict", "a"],
        1,
        "none.dict: there is no such file",
    );
    folder.refuses(&["lookup", "x.dict", "--id", "a"], 2, "`a` is not an id");
    let mut bytes = fs::read(folder.path("x.dict")).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(folder.path("x.dict"), &bytes).unwrap();
    folder.refuses(
        &["lookup", "x.dict", "a"],
        1,
        "x.dict: the dictionary is damaged",
    );
    bytes.truncate(100);
    fs::write(folder.path("x.dict"), &bytes).unwrap();
    folder.refuses(&["stats", "x.dict"], 1, "cut off");
}

#[test]
fn answers_for_programs() {
    let folder = Folder(tempfile::tempdir().unwrap());
    let built = folder.run(&["build", "--terms", "-", "-o", "d.dict"], b"b\na\n");
    assert!(built.status.success());
    let look_up = |args: &[&str]| {
        let args = [&["lookup", "d.dict", "--json"], args].concat();
        String::from_utf8(folder.run(&args, b"").stdout).unwrap()
    };
    assert_eq!(look_up(&["none"]), "{\"id\":null,\"term\":\"none\"}\n");
    let a: Value = serde_json::from_str(&look_up(&["a"])).unwrap();
    let id = a["id"].to_string();
    assert_eq!(look_up(&["--id", &id]), look_up(&["a"]));
    assert_eq!(look_up(&["--id", "99"]), "{\"id\":99,\"term\":null}\n");
}
