//! `tokapi mapreduce --runner processes`: the bytes of `--runner threads`, whatever happens to the
//! workers; one line where that cannot be; and nothing left behind.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use crate::folder::{Folder, Random, one_line, rounds, shell};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// Workers killed or stopped.
const KILLS: u64 = 6;

/// Deaths that no task's failures can add up to what stops a job from.
const KILLS_A_RUN: u64 = 3;

/// All jobs with their inputs; what they write is `out/o`, a folder where the job is `bm25-local`.
const JOBS: [(&str, &str); 11] = [
    ("bm25", "docs.jsonl"),
    ("bm25-local", "docs.jsonl"),
    ("wordcount", "docs.jsonl"),
    ("wordcount", "docs.jsonl --no-combiner"),
    ("average-length", "docs.jsonl"),
    ("cooccurrence", "few.tsv"),
    ("inverted-index", "docs.jsonl"),
    ("sort", "docs.jsonl"),
    ("duplicates", "copies.tsv"),
    ("pagerank", "edges"),
    ("bm25-global", "lists"),
];

/// Inputs of all jobs: generated documents, random edges and copies.
fn inputs(documents: &str) -> Folder {
    let folder = Folder::new();
    folder.generate("docs.jsonl", documents);
    folder.generate("few.tsv", "10");
    let mut random = Random(7);
    let edges: String = (0..3000)
        .map(|_| format!("n{} n{}\n", random.below(300), random.below(300)))
        .collect();
    folder.put("edges", edges);
    // Some are the same, some nearly.
    let copies: String = (0..3000)
        .map(|id| {
            let text = format!("w{} ", random.below(900)).repeat(40);
            format!("{id}\t{text}{}\n", random.below(2))
        })
        .collect();
    folder.put("copies.tsv", copies);
    let local = "mapreduce bm25-local docs.jsonl -o lists --chunk-size 100kB";
    assert!(folder.run(&words(local)).status.success());
    folder
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

fn start(folder: &Folder, arguments: &str) -> Child {
    crate::folder::start(folder, &words(arguments))
}

/// Names and bytes of the files that a job has written; the one of a job that writes one has no
/// name.
type Written = Vec<(String, Vec<u8>)>;

/// What is written where all goes well.
fn output(folder: &Folder, arguments: &str) -> Written {
    let ended = start(folder, arguments).wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{arguments}: {told}");
    taken(folder)
}

/// The output, which is all that is there.
fn taken(folder: &Folder) -> Written {
    assert_eq!(folder.written(), ["o"]);
    let output = folder.path("out/o");
    if output.is_file() {
        let bytes = fs::read(&output).unwrap();
        fs::remove_file(&output).unwrap();
        return vec![(String::new(), bytes)];
    }
    let names = folder.names("out/o").into_iter();
    let files = names.map(|name| (name.clone(), fs::read(output.join(&name)).unwrap()));
    let files = files.collect();
    fs::remove_dir_all(&output).unwrap();
    files
}

/// The processes that `parent` has started.
fn workers(parent: u32) -> Vec<Pid> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // The name, in parentheses, may hold anything; the state and the parent follow.
        let behind = stat.rsplit_once(") ").map_or("", |(_, behind)| behind);
        if behind.split(' ').nth(1) == Some(&parent.to_string()) {
            let pid = entry.file_name().to_string_lossy().parse().unwrap();
            found.push(Pid::from_raw(pid));
        }
    }
    found
}

#[test]
fn jobs_write_what_they_write_on_threads() {
    let folder = inputs("400");
    let cranfield = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/cranfield/docs.jsonl.zst");
    let cranfield = cranfield.display();
    let more = [(
        "bm25",
        format!("{cranfield} --stemmer english --on-error skip"),
    )];
    let jobs = JOBS.map(|(job, input)| (job, input.to_owned()));
    for (job, input) in jobs.into_iter().chain(more) {
        let job = format!("mapreduce {job} {input} -o out/o --chunk-size 50kB");
        let expected = output(&folder, &job);
        assert!(expected.iter().all(|(_, bytes)| !bytes.is_empty()), "{job}");
        for how in ["--workers 1", "--workers 3 --partitions 5 --memory 300MB"] {
            let found = output(&folder, &format!("{job} --runner processes {how}"));
            assert!(found == expected, "{job} {how}");
        }
    }
}

#[test]
fn standard_input_and_names_that_are_no_text_are_read() {
    let folder = Folder::new();
    folder.put("a.tsv", "a\tto be\n");
    let job = "$0 mapreduce bm25 $(printf 'n\\377.tsv') - -o out/o --format tsv";
    for runner in ["threads", "processes"] {
        let put = "cp a.tsv $(printf 'n\\377.tsv'); printf 'b\\tbe\\n'";
        let run = shell(&folder, &format!("{put} | {job} --runner {runner}"));
        let told = String::from_utf8_lossy(&run.stderr);
        assert!(run.status.success(), "{told}");
        let (_, written) = taken(&folder).swap_remove(0);
        let written = String::from_utf8(written).unwrap();
        let terms = written
            .lines()
            .map(|line| line.split('\t').take(2).collect());
        let terms: Vec<Vec<&str>> = terms.collect();
        assert_eq!(terms, [["be", "a"], ["be", "b"], ["to", "a"]], "{runner}");
    }
}

#[test]
fn input_that_is_long_in_coming_ends_no_worker() {
    let folder = Folder::new();
    let job = "mapreduce sort - -o out/o --chunk-size 4B --runner processes --workers 3";
    let script = format!("(echo b; echo c; sleep 6; echo a) | $0 {job} --task-deadline 5 --json");
    let run = shell(&folder, &script);
    let told = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{told}");
    assert_eq!(taken(&folder), [(String::new(), b"a\nb\nc\n".to_vec())]);
    let summary: Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!(summary["reruns"], 0);
    assert!(summary["splits"].as_u64() > Some(1), "{summary}");
}

/// What processes have had in memory at the most.
fn peak_bytes(process: Pid) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = peak.and_then(|peak| peak.split_whitespace().next()?.parse::<u64>().ok());
    // One that has just ended tells nothing.
    kilobytes.unwrap_or(0) << 10
}

/// Runs a job that must succeed, with all its processes within 300 MB at any time.
fn within_least_budget(folder: &Folder, job: &str) {
    let mut child = start(folder, job);
    let this = Pid::from_raw(child.id() as i32);
    let mut peaks = BTreeMap::new();
    while child.try_wait().unwrap().is_none() {
        for process in workers(child.id()).into_iter().chain([this]) {
            let peak: &mut u64 = peaks.entry(process).or_default();
            *peak = peak_bytes(process).max(*peak);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(child.wait().unwrap().success(), "{job}");
    let peak: u64 = peaks.values().sum();
    assert!(peak < 300_000_000, "{job}: {peaks:?}");
}

#[test]
fn half_of_all_lines_the_same_and_more_than_the_memory_stay_within_it() {
    let folder = Folder::new();
    let lines = (0..40_000).map(|n| match n % 2 {
        0 => format!("{:x<10000}\n", ""),
        _ => format!("{n:010000}\n"),
    });
    folder.put("lines", lines.collect::<String>());
    for runner in ["threads", "processes --workers 3"] {
        let job = "mapreduce sort lines -o /dev/null --scratch out --memory 300MB --runner";
        within_least_budget(&folder, &format!("{job} {runner}"));
        assert_eq!(folder.written(), [""; 0]);
    }
}

#[test]
fn many_ids_stay_within_the_memory_of_all_processes_together() {
    use std::io::Write;
    let folder = Folder::new();
    let file = fs::File::create(folder.path("docs.tsv")).unwrap();
    let mut file = std::io::BufWriter::new(file);
    for document in 0..1_500_000 {
        let id = format!("https://example.org/some/long/path/{document:012}.html");
        writeln!(file, "{id}\tw1 common").unwrap();
    }
    file.into_inner().unwrap();
    let jobs = [
        "bm25 docs.tsv",
        "bm25-local docs.tsv",
        "bm25-global out/o-1",
        "duplicates docs.tsv",
    ];
    for (number, job) in jobs.into_iter().enumerate() {
        let job = format!("mapreduce {job} -o out/o-{number} --memory 300MB");
        within_least_budget(&folder, &format!("{job} --runner processes --workers 2"));
    }
    assert!(fs::read(folder.path("out/o-0")).unwrap() == fs::read(folder.path("out/o-2")).unwrap());
}

#[test]
fn workers_that_die_or_hang_change_nothing() {
    let kills = rounds(KILLS);
    let folder = inputs("800");
    let mut random = Random(kills);
    let jobs = JOBS.map(|(job, input)| {
        let job = format!("mapreduce {job} {input} -o out/o --chunk-size 100kB");
        let expected = output(&folder, &job);
        let job = format!("{job} --runner processes --workers 3 --task-deadline 10");
        let began = Instant::now();
        assert!(output(&folder, &job) == expected, "{job}");
        (job, expected, began.elapsed())
    });
    let (mut killed, mut turn) = (0, 0);
    while killed < kills {
        let (job, expected, usual) = &jobs[turn % jobs.len()];
        turn += 1;
        let child = start(&folder, job);
        for _ in 0..KILLS_A_RUN.min(kills - killed) {
            let pause = usual.mul_f64(random.below(1000) as f64 / 1000.0 / KILLS_A_RUN as f64);
            std::thread::sleep(pause);
            let workers = workers(child.id());
            if workers.is_empty() {
                continue;
            }
            let unlucky = workers[random.below(workers.len() as u64) as usize];
            let signal = match random.below(4) {
                0 => Signal::SIGSTOP,
                _ => Signal::SIGKILL,
            };
            // It may have ended meanwhile.
            killed += u64::from(kill(unlucky, signal).is_ok());
        }
        let ended = child.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{job}: {told}");
        assert!(taken(&folder) == *expected, "{job}");
    }
    eprintln!("{killed} workers killed or stopped in {turn} runs");
}

#[test]
fn bad_records_are_named_or_skipped() {
    let folder = Folder::new();
    folder.put("edges", "a b\nc\nb a\n");
    let job = "mapreduce pagerank edges -o out/o --runner processes";
    let run = folder.run(&words(job));
    one_line(
        &run,
        1,
        &["edges, line 2 `c`", "two names", "--on-error skip"],
    );
    assert_eq!(folder.written(), [""; 0]);
    let run = folder.run(&words(&format!("{job} --on-error skip")));
    let told = String::from_utf8_lossy(&run.stderr);
    assert!(
        run.status.success() && told.contains("line 2 `c`"),
        "{told}"
    );
    folder.put("bad.jsonl", "{\"id\":\"a\",\"contents\":\"x\"}\n{\"id\":\n");
    let job = "mapreduce wordcount bad.jsonl -o out/p --runner processes";
    one_line(
        &folder.run(&words(job)),
        1,
        &["bad.jsonl, line 2", "--on-error skip"],
    );
}

#[test]
fn errors_are_one_line_and_leave_nothing() {
    let folder = Folder::new();
    folder.generate("docs.tsv", "300");
    let run = folder.run(&words(
        "mapreduce wordcount none -o out/o --runner processes",
    ));
    one_line(&run, 1, &["none"]);
    let run = folder.run(&words("mapreduce wordcount docs.tsv -o out/o --workers 2"));
    one_line(&run, 2, &["--runner processes"]);
    // A limit on the size of files is to workers what a full disk is.
    let job = "mapreduce bm25 docs.tsv -o out/o --runner processes --workers 2";
    let run = shell(&folder, &format!("trap '' XFSZ; ulimit -f 8; $0 {job}"));
    one_line(&run, 1, &["scratch file", "too large"]);
    assert_eq!(folder.written(), [""; 0]);
}

#[test]
fn an_interrupted_job_leaves_neither_files_nor_processes() {
    crate::heed_signals();
    let folder = inputs("2000");
    let job = "mapreduce inverted-index docs.jsonl -o out/o --chunk-size 50kB --runner processes";
    let job = format!("{job} --workers 3");
    for (signal, cleans) in [
        (Signal::SIGINT, true),
        (Signal::SIGTERM, true),
        (Signal::SIGKILL, false),
    ] {
        let child = start(&folder, &job);
        let mut found = workers(child.id());
        while found.len() < 3 {
            std::thread::sleep(Duration::from_millis(1));
            found = workers(child.id());
        }
        kill(Pid::from_raw(child.id() as i32), signal).unwrap();
        let ended = child.wait_with_output().unwrap();
        assert!(!ended.status.success());
        let began = Instant::now();
        // Ended by the coordinator, or because its end of their pipes is closed.
        while found.iter().any(|&worker| kill(worker, None).is_ok()) {
            assert!(began.elapsed() < Duration::from_secs(60), "{signal}");
            std::thread::sleep(Duration::from_millis(5));
        }
        if cleans {
            assert_eq!(folder.written(), [""; 0], "{signal}");
        }
    }
    // What the killed one has left, the next removes.
    let run = folder.run(&job.split(' ').collect::<Vec<_>>());
    assert!(run.status.success(), "{run:?}");
    assert_eq!(folder.written(), ["o"]);
}
