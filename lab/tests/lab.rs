//! Benchmarks on a machine without a GPU.

use std::process::{Command, Output};

fn lab(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tokapi-lab"))
        .args(arguments)
        // No device is seen, also where there is one.
        .env("CUDA_VISIBLE_DEVICES", "")
        .output()
        .unwrap()
}

/// The one line that an error is.
fn error(output: &Output, status: i32) -> String {
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(status), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}

#[test]
fn sort_needs_a_gpu() {
    let text = error(&lab(&["sort", "--count", "1e3"]), 1);
    let (without, no_device) = (text.contains("--features cuda"), text.contains("no GPU"));
    assert!(without || no_device, "{text}");
    let wrong = lab(&["sort", "--count", "1e99"]);
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn weigh_measures_the_cpu() {
    let done = lab(&["weigh", "--size", "1MB", "--repeat", "1", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(json["results"][0]["engine"], "cpu");
    assert!(json["results"][0]["seconds"].as_f64().unwrap() > 0.0);
    let done = lab(&["weigh", "--size", "1MB", "--repeat", "1"]);
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(text.contains("GB/s"), "{text}");
}
