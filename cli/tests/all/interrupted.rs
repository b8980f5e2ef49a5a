//! Jobs that are killed, and go on: the output is that of an undisturbed run.
#![cfg(unix)]

use std::fs;
use std::time::{Duration, Instant};

use crate::folder::{Folder, Killer, Random, one_line, rounds, shell, start};

/// Kills of a job, each at a random moment of the time that it takes.
const KILLS: u64 = 7;

/// Runs a job over and over, killed each time at a random moment, until it was killed often, also with scratch to
/// resume from. The output of every whole run must be that of an undisturbed one.
fn kill_again_and_again(folder: &Folder, args: &[&str], output: &str) {
    let began = Instant::now();
    let whole = folder.run(args);
    assert!(whole.status.success(), "{whole:?}");
    let latest = began.elapsed();
    let expected = fs::read(folder.path(output)).unwrap();
    fs::remove_file(folder.path(output)).unwrap();
    let mut killer = Killer {
        random: Random(1),
        latest,
        kills: 0,
    };
    let mut with_scratch = false;
    while !killer.is_done(rounds(KILLS), with_scratch) {
        let (_, ended) = killer.run(folder, &[args, &["--resume"]].concat());
        let error = String::from_utf8_lossy(&ended.stderr);
        assert!(
            ended.status.success() || ended.status.code().is_none(),
            "{error}"
        );
        let written = folder.written();
        with_scratch |= written.iter().any(|name| name.starts_with("tokapi-"));
        // A job that gets to its end, killed or not, has its output whole.
        if folder.path(output).exists() {
            assert!(fs::read(folder.path(output)).unwrap() == expected);
            fs::remove_file(folder.path(output)).unwrap();
        }
    }
    let last = folder.run(&[args, &["--resume"]].concat());
    assert!(last.status.success(), "{last:?}");
    assert!(fs::read(folder.path(output)).unwrap() == expected);
}

#[test]
fn weigh_goes_on_after_a_kill() {
    let folder = Folder::new();
    folder.generate("docs.jsonl", "1000");
    for (output, more) in [
        ("out/w.parquet", &["--order", "term"][..]),
        ("out/w.tsv", &["--order", "document", "--top", "20"]),
    ] {
        let args = [
            "weigh",
            "docs.jsonl",
            "-o",
            output,
            "--spill",
            "--chunk-size",
            "200kB",
        ];
        let args = [&args[..], more].concat();
        kill_again_and_again(&folder, &args, output);
        fs::remove_file(folder.path(output)).unwrap();
        // Neither scratch nor what was half written is left.
        assert_eq!(folder.written(), [""; 0]);
    }
}

#[test]
fn sort_goes_on_after_a_kill() {
    let folder = Folder::new();
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        state.to_le_bytes()
    };
    folder.put(
        "keys.u32",
        (0..1_000_000).flat_map(|_| next()).collect::<Vec<u8>>(),
    );
    let output = "out/sorted.u32";
    let args = [
        "sort",
        "keys.u32",
        "-o",
        output,
        "--spill",
        "--chunk-size",
        "200kB",
    ];
    kill_again_and_again(&folder, &args, output);
    assert_eq!(folder.written(), ["sorted.u32"]);
}

/// Leaves an interrupted job, with chunks of 100 kB of `docs.jsonl`, to `out/w.parquet`.
fn interrupted(folder: &Folder) {
    let args = [
        "weigh",
        "docs.jsonl",
        "-o",
        "out/w.parquet",
        "--spill",
        "--chunk-size",
        "100kB",
    ];
    for _ in 0..100 {
        let mut child = start(folder, &args);
        let began = Instant::now();
        let journal = loop {
            std::thread::sleep(Duration::from_millis(1));
            let journal = folder
                .written()
                .iter()
                .find(|name| name.starts_with("tokapi-"))
                .and_then(|name| {
                    fs::read_to_string(folder.path(&format!("out/{name}/journal"))).ok()
                });
            let runs = journal
                .as_ref()
                .map_or(0, |text| text.matches("\"run\"").count());
            if runs >= 2 || began.elapsed() > Duration::from_secs(60) {
                break journal;
            }
        };
        child.kill().unwrap();
        child.wait().unwrap();
        let complete = journal.is_none_or(|text| text.contains("complete"));
        if !complete && !folder.path("out/w.parquet").exists() {
            return;
        }
        let _ = fs::remove_file(folder.path("out/w.parquet"));
    }
    panic!("the job was never interrupted in time");
}

#[test]
fn what_an_interrupted_job_left_is_neither_lost_nor_mixed_up() {
    let folder = Folder::new();
    folder.generate("docs.jsonl", "4000");
    interrupted(&folder);
    let job = ["weigh", "docs.jsonl", "-o", "out/w.parquet"];
    let run = |more: &[&str]| folder.run(&[&job[..], more].concat());
    one_line(&run(&[]), 2, &["interrupted", "--resume"]);
    one_line(
        &run(&["--resume", "--analyzer", "python"]),
        2,
        &["other analyzer"],
    );
    one_line(
        &run(&["--resume", "--chunk-size", "1MB"]),
        2,
        &["chunks of 100000 bytes"],
    );
    // The input grows by a line.
    shell(
        &folder,
        "cp -p docs.jsonl before; echo '{\"id\":\"x\",\"text\":\"y\"}' >> docs.jsonl",
    );
    one_line(&run(&["--resume"]), 2, &["other inputs"]);
    shell(&folder, "cp -p before docs.jsonl");
    // A run of another job, and one that is cut off.
    let scratch = folder.path("out").join(&folder.written()[0]);
    let run_0 = scratch.join("run-0");
    let good = fs::read(&run_0).unwrap();
    let mut foreign = good.clone();
    foreign[9] ^= 1;
    fs::write(&run_0, &foreign).unwrap();
    one_line(&run(&["--resume"]), 1, &["run-0", "another run"]);
    fs::write(&run_0, &good[..good.len() - 1]).unwrap();
    one_line(&run(&["--resume"]), 1, &["run-0", "bytes of"]);
    // A bit that flipped is found when the run is merged.
    let mut flipped = good.clone();
    flipped[good.len() / 2] ^= 16;
    fs::write(&run_0, &flipped).unwrap();
    one_line(&run(&["--resume"]), 1, &["run-0", "damaged"]);
    fs::write(&run_0, &good).unwrap();
    let resumed = run(&["--resume"]);
    assert!(resumed.status.success(), "{resumed:?}");
    let output = fs::read(folder.path("out/w.parquet")).unwrap();
    fs::remove_file(folder.path("out/w.parquet")).unwrap();
    assert_eq!(folder.written(), [""; 0]);
    assert!(run(&[]).status.success());
    assert!(fs::read(folder.path("out/w.parquet")).unwrap() == output);
}

#[test]
fn standard_input_cannot_be_resumed() {
    let folder = Folder::new();
    let run = shell(
        &folder,
        "echo a | \"$0\" weigh --format text - -o out/w.tsv --resume",
    );
    one_line(&run, 2, &["standard input"]);
}

#[test]
fn a_full_scratch_disk_leaves_what_was_done() {
    let folder = Folder::new();
    folder.generate("docs.jsonl", "4000");
    let job = "weigh docs.jsonl -o out/w.parquet --spill --chunk-size 1MB";
    // Files of more than 300 kB cannot be written.
    let script = format!("ulimit -f 300; trap '' XFSZ; \"$0\" {job}");
    let run = shell(&folder, &script);
    one_line(&run, 1, &["scratch file", "--resume"]);
    let resumed = shell(&folder, &format!("\"$0\" {job} --resume"));
    assert!(resumed.status.success(), "{resumed:?}");
    assert_eq!(folder.written(), ["w.parquet"]);
}
