//! The runner `processes` in a program of one's own: this one is its own worker.

use std::cmp::Ordering;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokapi::mapreduce::{
    Emitter, Item, Items, Job, Line, Lines, ListJob, Partitions, Portable, ProcessOptions,
    Processes, Registry, Report, Runner, Threads, WorkerCommand, work,
};
use tokapi::{Error, Result};

/// Counts lines; what some lines do to it is not good.
#[derive(Serialize, Deserialize)]
struct Count {
    /// Where attempts at lines leave marks.
    marks: PathBuf,
}

impl Count {
    /// Whether this is the first attempt at what is named; it leaves a mark, with its process.
    fn is_first(&self, name: &str) -> bool {
        let mark = self.marks.join(name);
        let first = !mark.exists();
        if first {
            fs::write(mark, std::process::id().to_string()).unwrap();
        }
        first
    }
}

/// Sends a signal; false where there is no such process.
fn signal(signal: &str, process: &str) -> bool {
    let mut kill = Command::new("kill");
    kill.args([signal, process])
        .stderr(std::process::Stdio::null());
    kill.status().unwrap().success()
}

impl Job for Count {
    type Input = Lines;
    type Key<'a> = &'a str;
    type Value = u64;
    type Note = ();
    type Output<'a> = (&'a str, u64);

    fn map(&self, line: Line<'_>, emit: &mut Emitter<Self>) {
        match line.text {
            "panics" => panic!("this line is no good"),
            "aborts" => std::process::abort(),
            "hangs" => hang(),
            "dies once" if self.is_first("dies once") => std::process::exit(3),
            "hangs once" if self.is_first("hangs once") => hang(),
            "stops once" if self.is_first("stops once") => {
                signal("-STOP", &std::process::id().to_string());
            }
            // Long enough for the first attempt to go on meanwhile.
            "stops once" if self.is_first("second attempt") => sleep(Duration::from_millis(400)),
            "all but one die" if self.is_first("all but one die") => {
                sleep(Duration::from_millis(1500))
            }
            "all but one die" => std::process::exit(3),
            _ => {}
        }
        emit.pair(line.text, 1);
    }

    fn reduce(
        &self,
        line: &str,
        counts: impl Iterator<Item = u64>,
        write: &mut impl FnMut((&str, u64)),
    ) {
        assert!(line != "cannot be reduced", "no such key");
        match line {
            "hangs once when reduced" if self.is_first(line) => hang(),
            "aborts when reduced" => std::process::abort(),
            _ => {}
        }
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

fn hang() {
    sleep(Duration::from_secs(1000));
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

/// A job that makes the runner sort slowly, and takes its values slowly.
#[derive(Serialize, Deserialize)]
struct Slow;

/// A key that takes its time to be compared.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
struct SlowKey(u64);

impl PartialOrd for SlowKey {
    fn partial_cmp(&self, other: &SlowKey) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for SlowKey {
    fn cmp(&self, other: &SlowKey) -> Ordering {
        sleep(Duration::from_millis(2));
        self.0.cmp(&other.0)
    }
}

impl Job for Slow {
    type Input = Items<u64>;
    type Key<'a> = SlowKey;
    type Value = u64;
    type Note = ();
    type Output<'a> = u64;

    fn map(&self, number: Item<'_, u64>, emit: &mut Emitter<Self>) {
        emit.pair(SlowKey(0), *number.item);
        emit.pair(SlowKey(*number.item), *number.item);
    }

    fn reduce(&self, key: SlowKey, values: impl Iterator<Item = u64>, write: &mut impl FnMut(u64)) {
        let pause = Duration::from_millis(if key.0 == 0 { 10 } else { 0 });
        write(values.inspect(|_| sleep(pause)).sum());
    }
}

impl Portable for Slow {
    const NAME: &'static str = "slow";
}

impl ListJob for Slow {
    type Owned = u64;

    fn own(sum: u64) -> u64 {
        sum
    }
}

/// Half of all pairs have the key 0, and long values. Tells of every key the bytes of its values;
/// of this one also what memory the process that reduced it has had by then.
#[derive(Serialize, Deserialize)]
struct Skewed;

impl Job for Skewed {
    type Input = Items<u64>;
    type Key<'a> = u64;
    type Value = String;
    type Note = ();
    type Output<'a> = (u64, u64);

    fn map(&self, number: Item<'_, u64>, emit: &mut Emitter<Self>) {
        emit.pair(0, "x".repeat(1000));
        emit.pair(*number.item, String::new());
    }

    fn reduce(
        &self,
        _: u64,
        values: impl Iterator<Item = String>,
        write: &mut impl FnMut((u64, u64)),
    ) {
        let bytes = values.map(|value| value.len() as u64).sum();
        let peak = if bytes > 0 { peak_memory_bytes() } else { 0 };
        write((bytes, peak));
    }
}

/// What this process has had in memory at the most; 0 where the system does not tell.
fn peak_memory_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = peak.and_then(|peak| peak.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) << 10
}

impl Portable for Skewed {
    const NAME: &'static str = "skewed";
}

impl ListJob for Skewed {
    type Owned = (u64, u64);

    fn own(output: (u64, u64)) -> (u64, u64) {
        output
    }
}

struct Scratch(tempfile::TempDir);

impl Scratch {
    fn new() -> Self {
        Scratch(tempfile::tempdir().unwrap())
    }

    fn options(&self) -> ProcessOptions {
        let scratch = self.0.path().join("scratch");
        fs::create_dir_all(&scratch).unwrap();
        ProcessOptions {
            workers: 3,
            deadline: Duration::from_millis(700),
            memory_bytes: 1 << 20,
            scratch,
            partitions: Partitions::Ranges(4),
            combine: true,
            skip_bad: false,
        }
    }

    fn runner(&self) -> Processes {
        Processes::new(this_program(), self.options())
    }

    fn reported(&self, runner: &Processes, text: &str) -> Result<(Vec<(String, u64)>, Report)> {
        let marks = self.0.path().into();
        runner.list(&mut Count { marks }, Lines::of_text(text, 3))
    }

    fn count(&self, runner: &Processes, text: &str) -> Result<Vec<(String, u64)>> {
        self.reported(runner, text).map(|(counts, _)| counts)
    }

    /// Nothing is left when a runner is gone.
    fn is_clean(&self) -> bool {
        let mut left = fs::read_dir(self.0.path().join("scratch")).unwrap();
        left.next().is_none()
    }
}

fn this_program() -> WorkerCommand {
    WorkerCommand {
        program: std::env::current_exe().unwrap(),
        arguments: vec!["worker".into()],
    }
}

fn jobs_run_one_after_the_other() {
    let scratch = Scratch::new();
    let runner = scratch.runner();
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
    for line in ["dies once", "hangs once", "hangs once when reduced"] {
        let scratch = Scratch::new();
        let runner = scratch.runner();
        let counts = scratch.count(&runner, &format!("a\n{line}\na\n")).unwrap();
        assert_eq!(counts, [("a".into(), 2), (line.into(), 1)]);
        drop(runner);
        assert!(scratch.is_clean());
    }
}

fn workers_that_die_while_they_have_no_task_cost_nothing() {
    let scratch = Scratch::new();
    let pids = scratch.0.path().join("pids");
    let WorkerCommand { program, .. } = this_program();
    let script = format!("echo $$ >> '{}'; exec \"$0\" worker", pids.display());
    let command = WorkerCommand {
        program: "sh".into(),
        arguments: vec!["-c".into(), script.into(), program.into()],
    };
    let runner = Processes::new(command, scratch.options());
    let numbers = Items::new((0..100_u64).collect::<Vec<_>>().into(), 1);
    runner.list(&mut Digits, numbers).unwrap();
    let pids = fs::read_to_string(pids).unwrap();
    assert_eq!(pids.lines().count(), 3);
    for pid in pids.lines() {
        assert!(signal("-KILL", pid));
    }
    sleep(Duration::from_millis(100));
    let (counts, report) = scratch.reported(&runner, "a").unwrap();
    assert_eq!((counts, report.reruns), (vec![("a".into(), 1)], 0));
}

fn of_a_straggler_the_first_attempt_to_finish_counts() {
    for goes_on in [false, true] {
        let scratch = Scratch::new();
        let options = ProcessOptions {
            deadline: Duration::from_secs(1000),
            ..scratch.options()
        };
        let runner = Processes::new(this_program(), options);
        let [first, second] =
            ["stops once", "second attempt"].map(|mark| scratch.0.path().join(mark));
        let wake = || {
            let due = Instant::now() + Duration::from_secs(60);
            while !second.exists() && Instant::now() < due {
                sleep(Duration::from_millis(5));
            }
            signal("-CONT", &fs::read_to_string(&first).unwrap());
        };
        let (counts, report) = std::thread::scope(|scope| {
            if goes_on {
                scope.spawn(wake);
            }
            scratch.reported(&runner, "a\nstops once\na\n").unwrap()
        });
        assert_eq!(counts, [("a".into(), 2), ("stops once".into(), 1)]);
        assert!(report.stragglers > 0 && report.reruns == 0, "{report:?}");
        if !goes_on {
            let stopped = fs::read_to_string(&first).unwrap();
            assert!(!signal("-CONT", &stopped), "it was ended");
        }
        assert_eq!(scratch.count(&runner, "a").unwrap(), [("a".into(), 1)]);
        drop(runner);
        assert!(scratch.is_clean());
    }
}

fn second_attempts_that_fail_do_no_harm_to_the_first() {
    let scratch = Scratch::new();
    let options = ProcessOptions {
        deadline: Duration::from_secs(1000),
        ..scratch.options()
    };
    let runner = Processes::new(this_program(), options);
    let (counts, report) = scratch.reported(&runner, "all but one die").unwrap();
    assert_eq!(counts, [("all but one die".into(), 1)]);
    assert!((1..4).contains(&report.stragglers), "{report:?}");
    assert_eq!(report.reruns, 0);
}

fn work_that_takes_longer_than_the_deadline_is_no_hang() {
    let scratch = Scratch::new();
    let numbers: Vec<u64> = (0..80).map(|n| n * 37 % 80).collect();
    let (sums, report) = scratch
        .runner()
        .list(&mut Slow, Items::new(numbers.into(), 80))
        .unwrap();
    assert_eq!(sums[..3], [80 * 79 / 2, 1, 2]);
    let deadline = scratch.options().deadline;
    assert!(
        report.map > deadline && report.reduce > deadline,
        "{report:?}"
    );
    assert_eq!(report.reruns, 0);
}

fn a_key_larger_than_the_memory_is_reduced_within_it() {
    /// Of the runner, or of a worker.
    const MEMORY_BYTES: u64 = 64 << 20;
    /// The program, and the list of outputs.
    const BASE_BYTES: u64 = 32 << 20;
    let scratch = Scratch::new();
    let threads = Threads {
        threads: 2,
        memory_bytes: MEMORY_BYTES,
        scratch: scratch.0.path().into(),
        ..Threads::default()
    };
    let options = ProcessOptions {
        workers: 2,
        memory_bytes: 2 * MEMORY_BYTES,
        ..scratch.options()
    };
    let processes = Processes::new(this_program(), options);
    let numbers = || Items::new((1..=200_000).collect::<Vec<_>>().into(), 10_000);
    for outputs in [
        threads.list(&mut Skewed, numbers()),
        processes.list(&mut Skewed, numbers()),
    ] {
        let (outputs, report) = outputs.unwrap();
        assert_eq!((outputs.len(), outputs[0].0), (200_001, 200_000_000));
        assert!(report.spilled_bytes > 2 * MEMORY_BYTES, "{report:?}");
        let peak = outputs[0].1;
        assert!(peak < MEMORY_BYTES + BASE_BYTES, "{peak} bytes");
    }
}

fn what_fails_again_and_again_stops_the_job_and_is_named() {
    let scratch = Scratch::new();
    let runner = scratch.runner();
    for (line, parts) in [
        ("aborts", ["memory", "4 times"]),
        ("hangs", ["memory", "silent"]),
        ("aborts when reduced", ["partition 1 of 1", "SIGABRT"]),
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
    let options = ProcessOptions {
        skip_bad: true,
        ..scratch.options()
    };
    let runner = Processes::new(this_program(), options);
    let (counts, report) = scratch.reported(&runner, "a\npanics\na\n").unwrap();
    assert_eq!(counts, [("a".into(), 2)]);
    assert!(report.skipped.count == 1 && report.skipped.reasons[0].contains("panics"));
}

fn workers_that_are_none_are_errors() {
    let scratch = Scratch::new();
    for (program, arguments, part) in [
        ("/none/such", vec![], "/none/such: no worker starts"),
        ("false", vec![], "exit status: 1"),
        ("echo", vec!["hello".into()], "the worker said `hello`"),
        (
            "printf",
            vec!["\\377\\n".into()],
            "the worker said `\u{fffd}`",
        ),
        ("sh", vec!["-c".into(), "echo no >&2; exit 4".into()], "no"),
    ] {
        let program = program.into();
        let runner = Processes::new(WorkerCommand { program, arguments }, scratch.options());
        let error = scratch.count(&runner, "a").unwrap_err();
        assert!(matches!(error, Error::Worker { .. }), "{error}");
        assert!(error.to_string().contains(part), "{error}");
        drop(runner);
        assert!(scratch.is_clean());
    }
}

fn main() -> Result<()> {
    if std::env::args().nth(1).as_deref() == Some("worker") {
        let registry = Registry::default().list::<Count>().list::<Digits>();
        return work(&registry.list::<Slow>().list::<Skewed>());
    }
    // Its memory is measured, so that it comes alone; the others wait most of the time.
    a_key_larger_than_the_memory_is_reduced_within_it();
    std::thread::scope(|scope| {
        scope.spawn(jobs_run_one_after_the_other);
        scope.spawn(tasks_of_workers_that_die_or_hang_are_run_again);
        scope.spawn(workers_that_die_while_they_have_no_task_cost_nothing);
        scope.spawn(of_a_straggler_the_first_attempt_to_finish_counts);
        scope.spawn(second_attempts_that_fail_do_no_harm_to_the_first);
        scope.spawn(work_that_takes_longer_than_the_deadline_is_no_hang);
        scope.spawn(what_fails_again_and_again_stops_the_job_and_is_named);
        scope.spawn(workers_that_are_none_are_errors);
    });
    Ok(())
}
