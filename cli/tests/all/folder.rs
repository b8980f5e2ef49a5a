//! A folder to run the program in.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

pub const TOKAPI: &str = env!("CARGO_BIN_EXE_tokapi");

/// A folder of inputs, with an empty folder `out` for what is written.
pub struct Folder(pub tempfile::TempDir);

impl Folder {
    pub fn new() -> Self {
        let folder = Folder(tempfile::tempdir().unwrap());
        fs::create_dir(folder.path("out")).unwrap();
        folder
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    /// Runs `tokapi` here.
    pub fn run(&self, args: &[&str]) -> Output {
        let mut command = Command::new(TOKAPI);
        command.args(args).current_dir(self.0.path());
        command.stdin(Stdio::null()).output().unwrap()
    }

    pub fn generate(&self, name: &str, documents: &str) {
        let run = self.run(&["generate", "-o", name, "--documents", documents]);
        assert!(run.status.success(), "{run:?}");
    }

    /// What is in the folder `out`, hidden files too.
    pub fn written(&self) -> Vec<String> {
        self.names("out")
    }

    /// What is in a folder, hidden files too.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let names = fs::read_dir(self.path(folder)).unwrap();
        let mut names: Vec<String> = names
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Weighs with `args` into `out`, which must fail with `status` and a single line that holds
    /// all `parts`, and leave nothing.
    pub fn refuses(&self, args: &[&str], status: i32, parts: &[&str]) {
        let run = self.run(&[&["weigh", "-o", "out/w.parquet"], args].concat());
        one_line(&run, status, parts);
        assert_eq!(self.written(), [""; 0]);
    }

    /// Weighs with `args`, which must succeed. Gives the summary and the output.
    pub fn weighs(&self, args: &[&str]) -> (Value, Vec<u8>) {
        let run = self.run(&[&["weigh", "--json", "-o", "out/w.parquet"], args].concat());
        assert!(run.status.success(), "{run:?}");
        assert_eq!(String::from_utf8_lossy(&run.stderr), "", "{args:?}");
        let output = fs::read(self.path("out/w.parquet")).unwrap();
        fs::remove_file(self.path("out/w.parquet")).unwrap();
        assert_eq!(self.written(), [""; 0]);
        (serde_json::from_slice(&run.stdout).unwrap(), output)
    }

    /// The documents weighed of an input, and those skipped because they cannot be read.
    pub fn skips(&self, name: &str) -> (u64, u64) {
        counts(&self.weighs(&[name, "--on-error", "skip"]).0)
    }
}

/// What a run prints, which must succeed.
pub fn printed(folder: &Folder, args: &[&str]) -> String {
    let run = folder.run(args);
    assert!(run.status.success(), "{args:?}: {run:?}");
    String::from_utf8(run.stdout).unwrap()
}

/// The same, read as JSON.
pub fn json(folder: &Folder, args: &[&str]) -> Value {
    serde_json::from_str(&printed(folder, args)).unwrap()
}

/// Rounds of a test that repeats something random: `few`, or `TOKAPI_SOAK` times as many (`.ci/soak`).
pub fn rounds(few: u64) -> u64 {
    let times = std::env::var("TOKAPI_SOAK").map_or(1, |times| times.parse().unwrap());
    few * times
}

/// Starts `tokapi` in the folder, without any input; its standard error can be read.
pub fn start(folder: &Folder, args: &[&str]) -> Child {
    let mut command = Command::new(TOKAPI);
    command.args(args).current_dir(folder.0.path());
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(Stdio::piped()).spawn().unwrap()
}

/// Kills runs at random moments of the time that they take.
pub struct Killer {
    pub random: Random,
    /// The latest moment.
    pub latest: Duration,
    pub kills: u64,
}

impl Killer {
    /// Runs `tokapi`, and kills it unless it ends before. Gives whether it was killed.
    pub fn run(&mut self, folder: &Folder, args: &[&str]) -> (bool, Output) {
        let began = Instant::now();
        let mut child = start(folder, args);
        let moment = self.random.below(1000) as f64 / 1000.0;
        std::thread::sleep(self.latest.mul_f64(moment));
        let killed = child.try_wait().unwrap().is_none();
        if killed {
            child.kill().unwrap();
            self.kills += 1;
        }
        let ended = child.wait_with_output().unwrap();
        // A kill may come when the run has just ended.
        if !killed {
            assert!(ended.status.success(), "{args:?}: {ended:?}");
            let limit = self.latest.max(Duration::from_millis(300));
            self.latest = began.elapsed().clamp(self.latest, limit);
        }
        (killed, ended)
    }

    /// Whether there are enough kills, `wanted`, and `seen` says that they came at all the moments that matter.
    pub fn is_done(&self, wanted: u64, seen: bool) -> bool {
        assert!(
            self.kills < 50 * wanted,
            "{} kills at the wrong moments",
            self.kills
        );
        self.kills >= wanted && seen
    }
}

/// A generator of numbers that is the same each time.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) % limit
    }
}

/// Checks that a run ended with `status` after one line on standard error that holds all `parts`.
pub fn one_line(run: &Output, status: i32, parts: &[&str]) {
    let error = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(status), "{error}");
    assert!(error.starts_with("tokapi: "), "{error}");
    assert_eq!(error.matches('\n').count(), 1, "{error}");
    assert!(!error.contains("panicked"), "{error}");
    for part in parts {
        assert!(error.contains(part), "{part} is not in: {error}");
    }
}

/// Runs a shell's `script` in the folder, in which `$0` is the program.
#[cfg(unix)]
pub fn shell(folder: &Folder, script: &str) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", script, TOKAPI]);
    command.current_dir(folder.0.path());
    command.stdin(Stdio::null()).output().unwrap()
}

/// The documents of a summary, and the number of those that were left out.
pub fn counts(summary: &Value) -> (u64, u64) {
    let count = |name: &str| summary[name].as_u64().unwrap();
    (count("documents"), count("skipped"))
}

/// Two documents with `bad` between them, in the format of `extension`.
pub fn around(extension: &str, bad: &[u8]) -> Vec<u8> {
    let (before, after): (&[u8], &[u8]) = match extension {
        "jsonl" => (
            b"{\"id\":\"a\",\"contents\":\"one two two\"}\n",
            b"\n{\"id\":\"b\",\"contents\":\"two three\"}\n",
        ),
        "tsv" => (b"a\tone two two\n", b"\nb\ttwo three\n"),
        "json" => (
            b"[\n {\"id\": \"a\",\n  \"contents\": \"one two two\"}",
            b"\n, {\"id\": \"b\", \"contents\": \"two three\"}\n]\n",
        ),
        "csv" => (
            b"lang,contents,id\nen,\"one\ntwo two\",a\n",
            b"\nen,two three,b\n",
        ),
        // TSV with a header.
        "table.tsv" => (b"title\tid\ttext\n\ta\tone two two\n", b"\ntwo\tb\tthree\n"),
        "trec" => (
            b"<DOC><DOCNO>a</DOCNO>one two two</DOC>\n",
            b"\n<DOC><DOCNO>b</DOCNO>two three</DOC>\n",
        ),
        "terms" => (b"one\ntwo\ntwo\n\n", b"two\nthree\n"),
        _ => unreachable!("no such format here"),
    };
    [before, bad, after].concat()
}
