//! Engines on the command line, on a machine without a GPU.

use std::path::PathBuf;
use std::process::{Command, Output};

fn tokapi(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tokapi"))
        .args(arguments)
        // No device is seen, also where there is one.
        .env("CUDA_VISIBLE_DEVICES", "")
        .output()
        .unwrap()
}

fn cranfield() -> String {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../data/cranfield/docs.jsonl.zst");
    data.display().to_string()
}

fn weigh(arguments: &[&str]) -> Output {
    let input = cranfield();
    let mut all = vec!["weigh", &input, "--to", "none"];
    all.extend(arguments);
    tokapi(&all)
}

/// The one line that an error is.
fn error(output: &Output, status: i32) -> String {
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(status), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}

#[test]
fn the_gpu_is_an_error_that_says_why() {
    let text = error(&weigh(&["--engine", "gpu"]), 1);
    let (without, no_device) = (text.contains("--features cuda"), text.contains("no GPU"));
    assert!(without || no_device, "{text}");
}

#[test]
fn auto_takes_the_cpu() {
    let done = weigh(&["-v"]);
    assert!(done.status.success());
    let text = String::from_utf8(done.stderr).unwrap();
    assert!(text.contains("engine cpu"), "{text}");
}

#[test]
fn options_of_ppd_go_with_ppd() {
    let text = error(&weigh(&["--unknown", "one"]), 2);
    assert!(text.contains("--unknown one needs --method ppd"));
    let text = error(&weigh(&["--dictionary", "x.dictionary"]), 2);
    assert!(text.contains("--dictionary needs --method ppd"));
    let text = error(&weigh(&["--method", "ppd"]), 2);
    assert!(text.contains("needs --dictionary"));
    let text = error(&weigh(&["--method", "pp", "--engine", "cpu"]), 2);
    assert!(text.contains("add --engine gpu"));
}

#[test]
fn devices_says_why_there_is_none() {
    let done = tokapi(&["devices"]);
    assert!(done.status.success());
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(text.starts_with("no GPU: "), "{text}");
    let done = tokapi(&["devices", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(json["devices"], serde_json::json!([]));
    assert!(json["why_none"].is_string());
}

#[test]
fn search_by_a_gpu_is_an_error_that_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let index = folder.path().join("index").display().to_string();
    assert!(
        tokapi(&["index", &cranfield(), "-o", &index])
            .status
            .success()
    );
    let queries = cranfield().replace("docs.jsonl.zst", "queries.tsv");
    let run = folder.path().join("a.run").display().to_string();
    for ask in [
        &["wing flow"][..],
        &["--queries", &queries, "--run", &run],
        &[],
    ] {
        let text = error(
            &tokapi(&[&["search", &index, "--engine", "gpu"], ask].concat()),
            1,
        );
        let (without, no_device) = (text.contains("--features cuda"), text.contains("no GPU"));
        assert!(without || no_device, "{text}");
    }
    assert!(!folder.path().join("a.run").exists());
    let count = ["search", &index, "wing", "--count", "--engine", "gpu"];
    let text = error(&tokapi(&count), 2);
    assert!(text.contains("use --engine cpu"), "{text}");
}

#[test]
fn search_takes_the_cpu_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let index = path("index");
    assert!(
        tokapi(&["index", &cranfield(), "-o", &index])
            .status
            .success()
    );
    // More than are answered at a time.
    let queries = path("queries.tsv");
    let lines: Vec<String> = (0..20_000)
        .map(|number| format!("{number}\twing flow {}\n", number % 7))
        .collect();
    std::fs::write(&queries, lines.concat()).unwrap();
    let (auto, cpu) = (path("auto.run"), path("cpu.run"));
    let ask = [
        "search",
        &index,
        "--queries",
        &queries,
        "-k",
        "3",
        "-v",
        "--run",
    ];
    let done = tokapi(&[&ask[..], &[&auto]].concat());
    let text = String::from_utf8(done.stderr).unwrap();
    assert!(
        done.status.success() && text.contains("engine cpu"),
        "{text}"
    );
    let done = tokapi(&[&ask[..], &[&cpu, "--engine", "cpu"]].concat());
    assert!(done.status.success());
    let run = std::fs::read_to_string(auto).unwrap();
    assert_eq!(run, std::fs::read_to_string(cpu).unwrap());
    let mut of: Vec<&str> = run
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert_eq!(of.len(), 60_000);
    of.dedup();
    assert!(
        of.iter()
            .enumerate()
            .all(|(number, id)| *id == number.to_string())
    );
    // Standard output has the same.
    let done = tokapi(&["search", &index, "--queries", &queries, "-k", "3"]);
    assert_eq!(String::from_utf8(done.stdout).unwrap(), run);
}
