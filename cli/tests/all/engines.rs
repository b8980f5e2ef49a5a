//! Engines on the command line, on a machine without a GPU.

use std::path::PathBuf;
use std::process::{Command, Output};

use crate::folder::one_line;

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

/// Checks that a run is an error because no GPU can be used.
fn lacks_a_gpu(run: &Output) {
    one_line(run, 1, &[]);
    let error = String::from_utf8_lossy(&run.stderr);
    let (without, no_device) = (error.contains("--features cuda"), error.contains("no GPU"));
    assert!(without || no_device, "{error}");
}

/// The two outputs of a run, which must succeed.
fn outputs(run: Output) -> (String, String) {
    assert!(run.status.success(), "{run:?}");
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(run.stdout), text(run.stderr))
}

#[test]
fn the_gpu_is_an_error_that_says_why() {
    lacks_a_gpu(&weigh(&["--engine", "gpu"]));
}

#[test]
fn auto_takes_the_cpu() {
    let (_, log) = outputs(weigh(&["-v"]));
    assert!(log.contains("engine cpu"), "{log}");
}

#[test]
fn options_of_ppd_go_with_ppd() {
    for (arguments, said) in [
        (
            &["--unknown", "one"][..],
            "--unknown one needs --method ppd",
        ),
        (
            &["--dictionary", "x.dictionary"],
            "--dictionary needs --method ppd",
        ),
        (&["--method", "ppd"], "needs --dictionary"),
        (&["--method", "pp", "--engine", "cpu"], "add --engine gpu"),
    ] {
        one_line(&weigh(arguments), 2, &[said]);
    }
}

#[test]
fn devices_says_why_there_is_none() {
    let (text, _) = outputs(tokapi(&["devices"]));
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
    outputs(tokapi(&["index", &cranfield(), "-o", &index]));
    let queries = cranfield().replace("docs.jsonl.zst", "queries.tsv");
    let run = folder.path().join("a.run").display().to_string();
    for ask in [
        &["wing flow"][..],
        &["--queries", &queries, "--run", &run],
        &[],
    ] {
        let search = ["search", &index, "--engine", "gpu"];
        lacks_a_gpu(&tokapi(&[&search, ask].concat()));
    }
    assert!(!folder.path().join("a.run").exists());
    let count = ["search", &index, "wing", "--count", "--engine", "gpu"];
    one_line(&tokapi(&count), 2, &["use --engine cpu"]);
}

#[test]
fn search_takes_the_cpu_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let index = path("index");
    outputs(tokapi(&["index", &cranfield(), "-o", &index]));
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
    let (_, log) = outputs(tokapi(&[&ask[..], &[&auto]].concat()));
    assert!(log.contains("engine cpu"), "{log}");
    outputs(tokapi(&[&ask[..], &[&cpu, "--engine", "cpu"]].concat()));
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
