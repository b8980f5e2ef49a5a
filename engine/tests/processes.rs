//! The runner `processes` in a program of one's own: this one is its own worker.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokapi::mapreduce::{
    Emitter, Item, Items, Job, Line, Lines, ListJob, Partitions, Portable, ProcessOptions,
    Processes, Registry, Runner, Threads, WorkerCommand, work,
};
use tokapi::{Error, Result};

/// Counts lines; what some lines do to it is not good.
#[derive(Serialize, Deserialize)]
struct Count {
    /// Where attempts at the line `once` leave a mark.
    marks: String,
}

impl Job for Count {
    type Input = Lines;
    type Key<'a> = &'a str;
    type Value = u64;
    type Note = ();
    type Output<'a> = (&'a str, u64);

    fn map(&self, line: Line<'_>, emit: &mut Emitter<Self>) {
        let mark = Path::new(&self.marks).join(line.text);
        match line.text {
            "panics" => panic!("this line is no good"),
            "aborts" => std::process::abort(),
            "hangs" => loop {
                std::thread::sleep(Duration::from_secs(1));
            },
            "dies once" if !mark.exists() => {
                std::fs::write(mark, "").unwrap();
                std::process::exit(3);
            }
            "hangs once" if !mark.exists() => {
                std::fs::write(mark, "").unwrap();
                std::thread::sleep(Duration::from_secs(1000));
            }
            text => emit.pair(text, 1),
        }
    }

    fn reduce(
        &self,
        line: &str,
        counts: impl Iterator<Item = u64>,
        write: &mut impl FnMut((&str, u64)),
    ) {
        assert!(line != "cannot be reduced", "no such key");
        write((line, counts.sum()));
    }
}

impl Portable for Count {
    const NAME: &'static str = "count";
}

impl ListJob for Count {
    type Owned = (String, u64);

    fn own((line, count): (&str, u64)) -> (String, u64) {
        (line.into(), count)
    }
}

/// Numbers by their last digit, in as many runs as there are splits.
#[derive(Serialize, Deserialize)]
struct Digits;

impl Job for Digits {
    type Input = Items<u64>;
    type Key<'a> = u64;
    type Value = u64;
    type Note = u64;
    type Output<'a> = (u64, Vec<u64>);

    fn map(&self, number: Item<'_, u64>, emit: &mut Emitter<Self>) {
        emit.pair(number.item % 10, *number.item);
        *emit.note() += 1;
    }

    fn reduce(
        &self,
        digit: u64,
        numbers: impl Iterator<Item = u64>,
        write: &mut impl FnMut((u64, Vec<u64>)),
    ) {
        write((digit, numbers.collect()));
    }
}

impl Portable for Digits {
    const NAME: &'static str = "digits";
}

impl ListJob for Digits {
    type Owned = (u64, Vec<u64>);

    fn own(output: (u64, Vec<u64>)) -> (u64, Vec<u64>) {
        output
    }
}

struct Scratch(tempfile::TempDir);

impl Scratch {
    fn new() -> Self {
        Scratch(tempfile::tempdir().unwrap())
    }

    fn runner(&self, skip_bad: bool) -> Processes {
        let program = std::env::current_exe().unwrap();
        let arguments = vec!["worker".into()];
        self.runner_of(WorkerCommand { program, arguments }, skip_bad)
    }

    fn runner_of(&self, command: WorkerCommand, skip_bad: bool) -> Processes {
        let scratch = self.0.path().join("scratch");
        std::fs::create_dir_all(&scratch).unwrap();
        let options = ProcessOptions {
            workers: 3,
            deadline: Duration::from_millis(700),
            memory_bytes: 1 << 20,
            scratch,
            partitions: Partitions::Ranges(4),
            combine: true,
            skip_bad,
        };
        Processes::new(command, options)
    }

    fn count(&self, runner: &Processes, text: &str) -> Result<Vec<(String, u64)>> {
        let marks = self.0.path().display().to_string();
        let counted = runner.list(&mut Count { marks }, Lines::of_text(text, 3));
        counted.map(|(counts, _)| counts)
    }

    /// Nothing is left when a runner is gone.
    fn is_clean(&self) -> bool {
        std::fs::read_dir(self.0.path().join("scratch"))
            .unwrap()
            .count()
            == 0
    }
}

fn jobs_run_one_after_the_other() {
    let scratch = Scratch::new();
    let runner = scratch.runner(false);
    for _ in 0..3 {
        let counts = scratch.count(&runner, "b\na\nb\n").unwrap();
        assert_eq!(counts, [("a".into(), 1), ("b".into(), 2)]);
    }
    assert_eq!(scratch.count(&runner, "").unwrap(), []);
    // More runs than are merged at a time; values stay in the order of the input.
    let numbers = || Items::new((0..5000_u64).collect::<Vec<_>>().into(), 50);
    let (expected, _) = Threads::default().list(&mut Digits, numbers()).unwrap();
    let (found, report) = runner.list(&mut Digits, numbers()).unwrap();
    assert_eq!(found, expected);
    assert_eq!((report.splits, report.runs, report.keys), (100, 100, 10));
    assert!(
        report.spilled_bytes > report.shuffled_bytes,
        "runs were merged"
    );
    drop(runner);
    assert!(scratch.is_clean());
}

fn tasks_of_workers_that_die_or_hang_are_run_again() {
    for line in ["dies once", "hangs once"] {
        let scratch = Scratch::new();
        let runner = scratch.runner(false);
        let counts = scratch.count(&runner, &format!("a\n{line}\na\n")).unwrap();
        assert_eq!(counts, [("a".into(), 2), (line.into(), 1)]);
        drop(runner);
        assert!(scratch.is_clean());
    }
}

fn what_fails_again_and_again_stops_the_job_and_is_named() {
    let scratch = Scratch::new();
    let runner = scratch.runner(false);
    for (line, parts) in [
        ("aborts", ["memory", "4 times"]),
        ("hangs", ["memory", "silent"]),
        ("panics", ["line `panics`", "this line is no good"]),
        ("cannot be reduced", ["cannot be reduced", "no such key"]),
    ] {
        let error = scratch.count(&runner, &format!("a\n{line}\n")).unwrap_err();
        let error = error.to_string();
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        // The runner is as good as before.
        assert_eq!(scratch.count(&runner, "a").unwrap(), [("a".into(), 1)]);
    }
    drop(runner);
    assert!(scratch.is_clean());
    let runner = scratch.runner(true);
    let marks = String::new();
    let lines = Lines::of_text("a\npanics\na\n", 1);
    let (counts, report) = runner.list(&mut Count { marks }, lines).unwrap();
    assert_eq!(counts, [("a".into(), 2)]);
    assert!(report.skipped.count == 1 && report.skipped.reasons[0].contains("panics"));
}

fn workers_that_are_none_are_errors() {
    let scratch = Scratch::new();
    for (program, arguments, part) in [
        ("/none/such", vec![], "/none/such: no worker starts"),
        ("false", vec![], "exit status: 1"),
        ("echo", vec!["hello".into()], "the worker said `hello`"),
        ("sh", vec!["-c".into(), "echo no >&2; exit 4".into()], "no"),
    ] {
        let program = program.into();
        let runner = scratch.runner_of(WorkerCommand { program, arguments }, false);
        let error = scratch.count(&runner, "a").unwrap_err();
        assert!(matches!(error, Error::Worker { .. }), "{error}");
        assert!(error.to_string().contains(part), "{error}");
        drop(runner);
        assert!(scratch.is_clean());
    }
}

fn main() -> Result<()> {
    if std::env::args().nth(1).as_deref() == Some("worker") {
        return work(&Registry::default().list::<Count>().list::<Digits>());
    }
    jobs_run_one_after_the_other();
    tasks_of_workers_that_die_or_hang_are_run_again();
    what_fails_again_and_again_stops_the_job_and_is_named();
    workers_that_are_none_are_errors();
    Ok(())
}
