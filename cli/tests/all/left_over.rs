//! What killed processes leave: the next run with the same output removes it, and nothing that another one writes.
#![cfg(unix)]

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::folder::{Folder, TOKAPI};
use serde_json::Value;

fn start(folder: &Folder, args: &str) -> Child {
    Command::new(TOKAPI)
        .args(args.split(' '))
        .current_dir(folder.0.path())
        // What is measured here is of no use.
        .env("TOKAPI_TUNE", folder.path("tune.json"))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn temporary(folder: &Folder) -> Vec<String> {
    let mut names = folder.written();
    names.retain(|name| name.ends_with(".tmp"));
    names
}

/// Starts a verb, and waits until it has something temporary in `out` that was not there.
fn begun(folder: &Folder, args: &str) -> Option<Child> {
    let before = temporary(folder);
    let mut child = start(folder, args);
    let began = Instant::now();
    while temporary(folder).iter().all(|name| before.contains(name)) {
        if child.try_wait().unwrap().is_some() {
            return None;
        }
        assert!(began.elapsed() < Duration::from_secs(120), "{args}");
        std::thread::sleep(Duration::from_micros(100));
    }
    Some(child)
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn the_next_run_removes_what_a_killed_one_has_left() {
    let folder = Folder::new();
    folder.generate("docs.jsonl", "20000");
    folder.put("keys.u32", vec![7; 40 << 20]);
    for args in [
        "weigh docs.jsonl -o out/w.parquet",
        "weigh docs.jsonl -o out/w.npz",
        "index docs.jsonl -o out/index --store",
        "sort keys.u32 -o out/sorted.u32",
        "mapreduce inverted-index docs.jsonl -o out/lists",
        "generate -o out/more.jsonl --documents 20000",
        "dictionary build docs.jsonl -o out/dictionary",
        "tune docs.jsonl -o out/t.parquet --sample 4MB",
    ] {
        // A run that ends before the kill leaves nothing.
        let mut left = false;
        for _ in 0..200 {
            if let Some(child) = begun(&folder, args) {
                kill(child);
            }
            left |= !temporary(&folder).is_empty();
            if left {
                break;
            }
            for name in folder.written() {
                let path = folder.path("out").join(name);
                let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
            }
        }
        assert!(left, "{args}");
        let run = start(&folder, args).wait().unwrap();
        assert!(run.success(), "{args}: {run:?}");
        assert_eq!(temporary(&folder), [""; 0], "{args}");
        for name in folder.written() {
            let path = folder.path("out").join(name);
            let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
        }
    }
}

#[test]
fn what_another_process_writes_stays() {
    let folder = Folder::new();
    folder.put("docs.tsv", "a\tone\n");
    // It waits for its input, and has begun to write it to a file beside the output.
    let waiting = begun(&folder, "index - --format tsv -o out/index --store").unwrap();
    let began = Instant::now();
    let there = loop {
        // Before that it has tried whether there can be an index.
        let there = temporary(&folder);
        if there.len() == 1 && there[0].starts_with(".index-input.") {
            break there;
        }
        assert!(began.elapsed() < Duration::from_secs(120), "{there:?}");
        std::thread::sleep(Duration::from_millis(1));
    };
    for _ in 0..3 {
        let run = folder.run(&["index", "docs.tsv", "-o", "out/index", "--store"]);
        assert!(run.status.success(), "{run:?}");
        assert_eq!(temporary(&folder), there);
        fs::remove_dir_all(folder.path("out/index")).unwrap();
    }
    kill(waiting);
    assert_eq!(temporary(&folder), there);
    let run = folder.run(&["index", "docs.tsv", "-o", "out/index", "--store"]);
    assert!(run.status.success(), "{run:?}");
    assert_eq!(temporary(&folder), [""; 0]);
}

#[test]
fn info_tells_what_interrupted_changes_have_left() {
    let folder = Folder::new();
    folder.put("docs.tsv", "a\tone\nb\ttwo\n");
    let info = || {
        let run = folder.run(&["info", "out/index", "--json"]);
        assert!(run.status.success(), "{run:?}");
        let info: Value = serde_json::from_slice(&run.stdout).unwrap();
        let left = &info["left_over"];
        (
            left["count"].as_u64().unwrap(),
            left["bytes"].as_u64().unwrap(),
        )
    };
    let run = folder.run(&["index", "docs.tsv", "-o", "out/index"]);
    assert!(run.status.success(), "{run:?}");
    assert_eq!(info(), (0, 0));
    fs::create_dir(folder.path("out/index/part-7")).unwrap();
    folder.put("out/index/part-7/ids", "1234567");
    folder.put("out/index/part-1/deleted-8", "123");
    folder.put("out/index/.epoch.tokapi-ab12Cd.tmp", "12345");
    folder.put("out/index/notes", "of somebody");
    assert_eq!(info(), (3, 15));
    let run = folder.run(&["info", "out/index"]);
    let text = String::from_utf8_lossy(&run.stdout);
    assert!(
        text.contains("left over 3 files and folders of 15 bytes"),
        "{text}"
    );
    assert!(text.contains("the next change removes them"), "{text}");
    // What somebody is writing is not left over.
    let writer = tokapi::IndexWriter::open(&folder.path("out/index"), 1).unwrap();
    fs::create_dir(folder.path("out/index/part-9")).unwrap();
    assert_eq!(info(), (0, 0));
    drop(writer);
    assert_eq!(info(), (1, 0));
    let run = folder.run(&["delete", "out/index", "--id", "a"]);
    assert!(run.status.success(), "{run:?}");
    assert_eq!(info(), (0, 0));
    assert!(folder.path("out/index/notes").exists());
}
