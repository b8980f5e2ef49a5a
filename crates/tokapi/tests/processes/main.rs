//! The runner `processes` in a program of one's own: this one is its own worker.

mod jobs;

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use jobs::{Count, Digits, Skewed, Slow, has_ended, signal, wait_for};
use tokapi::mapreduce::{
    Lines, Partitions, ProcessOptions, Processes, Registry, Report, Runner, Threads, WorkerCommand,
    work,
};
use tokapi::{Error, Progress, Result};
use tokapi_mapreduce::Items;

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
            deadline: Duration::from_secs(120),
            memory_bytes: 1 << 20,
            scratch,
            partitions: Partitions::Ranges(4),
            combine: true,
            skip_bad: false,
            progress: Progress::new(),
        }
    }

    fn runner(&self) -> Processes {
        Processes::new(this_program(), self.options())
    }

    /// With a short deadline, for workers that hang.
    fn hasty_runner(&self) -> Processes {
        let options = ProcessOptions {
            deadline: Duration::from_secs(1),
            ..self.options()
        };
        Processes::new(this_program(), options)
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

/// This program, which adds its number to the file `pids`.
fn noting_pids(pids: &Path) -> WorkerCommand {
    let WorkerCommand { program, .. } = this_program();
    let script = format!("echo $$ >> '{}'; exec \"$0\" worker", pids.display());
    WorkerCommand {
        program: "sh".into(),
        arguments: vec!["-c".into(), script.into(), program.into()],
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
        let runner = scratch.hasty_runner();
        let counts = scratch.count(&runner, &format!("a\n{line}\na\n")).unwrap();
        assert_eq!(counts, [("a".into(), 2), (line.into(), 1)]);
        drop(runner);
        assert!(scratch.is_clean());
    }
}

fn workers_that_die_while_they_have_no_task_cost_nothing() {
    let scratch = Scratch::new();
    let pids = scratch.0.path().join("pids");
    let runner = Processes::new(noting_pids(&pids), scratch.options());
    let numbers = Items::new((0..100_u64).collect::<Vec<_>>().into(), 1);
    runner.list(&mut Digits, numbers).unwrap();
    let pids = fs::read_to_string(pids).unwrap();
    assert_eq!(pids.lines().count(), 3);
    for pid in pids.lines() {
        assert!(signal("-KILL", pid));
    }
    for pid in pids.lines() {
        wait_for("the end of a worker", || has_ended(pid));
    }
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
            wait_for("the second attempt", || second.exists());
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
    let deadline = Duration::from_secs(2);
    let options = ProcessOptions {
        deadline,
        ..scratch.options()
    };
    let runner = Processes::new(this_program(), options);
    let numbers: Vec<u64> = (0..240).map(|n| n * 37 % 240).collect();
    let (sums, report) = runner
        .list(&mut Slow, Items::new(numbers.into(), 240))
        .unwrap();
    assert_eq!(sums[..3], [240 * 239 / 2, 1, 2]);
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
    let runner = scratch.hasty_runner();
    for (line, parts) in [
        ("aborts", ["memory", "4 times"]),
        ("hangs", ["memory", "silent"]),
        ("aborts when reduced", ["partition 1 of 1", "SIGABRT"]),
        ("panics", ["line 2 `panics`", "this line is no good"]),
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

fn a_cancelled_job_ends_its_workers_and_leaves_nothing_behind() {
    for line in ["hangs", "hangs once when reduced"] {
        let scratch = Scratch::new();
        let pids = scratch.0.path().join("pids");
        let progress = Progress::new();
        let options = ProcessOptions {
            deadline: Duration::from_secs(1000),
            progress: progress.clone(),
            ..scratch.options()
        };
        let runner = Processes::new(noting_pids(&pids), options);
        let outcome = std::thread::scope(|scope| {
            let counting = scope.spawn(|| scratch.count(&runner, &format!("a\n{line}\n")));
            sleep(Duration::from_millis(600));
            progress.cancel();
            counting.join().unwrap()
        });
        assert!(matches!(outcome, Err(Error::Cancelled)), "{outcome:?}");
        assert!(scratch.is_clean());
        for pid in fs::read_to_string(pids).unwrap().lines() {
            assert!(!signal("-CONT", pid), "worker {pid} is there");
        }
    }
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
        return work(registry.list::<Slow>().list::<Skewed>());
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
        scope.spawn(a_cancelled_job_ends_its_workers_and_leaves_nothing_behind);
        scope.spawn(workers_that_are_none_are_errors);
    });
    Ok(())
}
