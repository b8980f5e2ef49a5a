//! `tokapi tune` as a user meets it: it measures, says what is best, keeps it, and `weigh` uses it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn tokapi(store: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tokapi"))
        .args(["--threads", "2"])
        .args(arguments)
        .env("TOKAPI_TUNE", store)
        .current_dir(store.parent().unwrap())
        .output()
        .unwrap()
}

fn cranfield() -> String {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../data/cranfield/docs.jsonl.zst");
    data.canonicalize().unwrap().display().to_string()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn what_is_found_is_kept_and_used() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("tune.json");
    let input = cranfield();
    let weigh = |more: &[&str]| {
        let all = [&["weigh", &input, "-o", "w.parquet", "-v"], more].concat();
        let done = tokapi(&store, &all);
        assert!(done.status.success(), "{}", text(&done.stderr));
        text(&done.stderr)
    };
    assert!(weigh(&["--spill"]).contains("no chunk sizes were measured"));

    let tune = ["tune", &input, "--sample", "300KB", "--repeat", "1"];
    let done = tokapi(&store, &tune);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let said = text(&done.stdout);
    assert!(said.contains("predicted optimum"), "{said}");
    assert!(said.contains("weigh cpu, 2 threads"), "{said}");
    // Nothing is left of the files that were measured.
    assert_eq!(names(folder.path()), ["tune.json", "w.parquet"]);
    let kept: Value = serde_json::from_slice(&std::fs::read(&store).unwrap()).unwrap();
    assert!(kept.to_string().contains("weigh cpu"), "{kept}");

    const USED: &str = "best chunk size by the measurements of this machine";
    assert!(weigh(&["--spill"]).contains(USED));
    assert!(weigh(&["--spill", "--chunk-size", "auto"]).contains(USED));
    assert!(!weigh(&["--spill", "--chunk-size", "100KB"]).contains(USED));
    // What fits into memory needs no runs: they were measured for nothing.
    assert!(!weigh(&[]).contains(USED));

    std::fs::write(&store, "{").unwrap();
    assert!(weigh(&["--spill"]).contains("tune again"));
}

#[test]
fn a_sweep_is_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("tune.json");
    let input = cranfield();
    let (sample, svg) = (["--sample", "100KB", "--repeat", "1"], ["--svg", "s.svg"]);
    let all = [&["tune", &input, "--sweep", "--json"][..], &sample, &svg].concat();
    let done = tokapi(&store, &all);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let found: Value = serde_json::from_slice(&done.stdout).unwrap();
    let sizes = found["sizes"].as_array().unwrap();
    assert!(sizes.len() >= 12);
    let (least, most) = (&sizes[0]["chunk_bytes"], &sizes[12]["chunk_bytes"]);
    let best = found["optimum"]["chunk_bytes"].as_u64().unwrap();
    assert!((least.as_u64().unwrap()..=most.as_u64().unwrap()).contains(&best));
    for size in sizes {
        for what in ["measured", "predicted"] {
            for pass in ["local", "global"] {
                let pass = &size[what][pass];
                let slowest = ["input", "compute", "output"].map(|stage| pass[stage].as_f64());
                let slowest = slowest.map(Option::unwrap).into_iter().fold(0.0, f64::max);
                assert!(pass["total"].as_f64().unwrap() >= slowest, "{size}");
            }
            assert!(size[what]["total"].as_f64().unwrap() > 0.0, "{size}");
        }
    }
    let sweep = &found["sweep"];
    assert!(sweep["loss"].as_f64().unwrap() >= 0.0);
    assert!(sweep["mean_absolute_error"].as_f64().unwrap().is_finite());
    let drawn = std::fs::read_to_string(folder.path().join("s.svg")).unwrap();
    assert!(drawn.starts_with("<svg") && drawn.trim_end().ends_with("</svg>"));
    for word in [
        "local pass",
        "global pass",
        "predicted optimum",
        "measured optimum",
    ] {
        assert!(drawn.contains(word), "{word}");
    }
}

#[test]
fn what_cannot_be_measured_is_one_line_of_error() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("tune.json");
    std::fs::write(folder.path().join("empty.jsonl"), "").unwrap();
    for (arguments, why) in [
        (&["tune", "-"][..], "standard input"),
        (&["tune", "empty.jsonl"], "the input is empty"),
        (
            &["tune", "empty.jsonl", "--chunk-size", "1MB"],
            "drop --chunk-size",
        ),
    ] {
        let done = tokapi(&store, arguments);
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(said.contains(why), "{said}");
    }
    assert!(!store.exists());
}
