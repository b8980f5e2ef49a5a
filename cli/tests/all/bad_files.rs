//! Files that are damaged, of another kind, missing or very large, and pipes.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use crate::folder::{Folder, TOKAPI, around, counts, one_line, rounds, shell};

#[test]
fn files_of_other_kinds_are_named_and_not_taken_as_text() {
    let folder = Folder::new();
    fs::create_dir(folder.path("in")).unwrap();
    folder.put("in/good.txt", "one two");
    let made =
        "tar czf in/docs.tar.gz good.jsonl; printf 'WARC/1.0\\r\\n\\r\\nx' | gzip > in/a.warc.gz";
    folder.put("good.jsonl", around("jsonl", b""));
    assert!(shell(&folder, made).status.success());
    folder.put("in/page.html", "<p>words</p>");
    folder.put("in/feed", "<?xml version=\"1.0\"?><a/>");
    folder.put("in/wide.txt", b"\xff\xfea\0b\0");
    folder.put("in/paper.pdf", b"%PDF-1.4\n\xe2\xe3");
    let others = [
        ("in/docs.tar.gz", "tar archive"),
        ("in/a.warc.gz", "WARC"),
        ("in/page.html", "HTML"),
        ("in/feed", "XML"),
        ("in/wide.txt", "UTF-16"),
        ("in/paper.pdf", "PDF"),
    ];
    for (name, part) in others {
        folder.refuses(&[name], 1, &[name, "looks like", part]);
    }
    assert_eq!(folder.skips("in"), (1, 6));
    // Unless the format is named.
    let (summary, _) = folder.weighs(&["in/page.html", "--format", "text"]);
    assert_eq!(counts(&summary), (1, 0));
}

#[test]
fn damaged_compression_keeps_the_documents_before_it() {
    let folder = Folder::new();
    for name in ["docs.jsonl.gz", "docs.tsv.zst"] {
        folder.generate(name, "1500");
        let whole = fs::read(folder.path(name)).unwrap();
        // Damage in the middle may pass for text until the checksum tells, which every gzip stream
        // has and these Zstandard frames have not.
        if name.ends_with(".gz") {
            let mut flipped = whole.clone();
            flipped[whole.len() / 2..][..64].fill(0xa5);
            folder.put(name, flipped);
            folder.refuses(&[name], 1, &[name]);
            let (summary, _) = folder.weighs(&[name, "--on-error", "skip"]);
            assert!(counts(&summary).1 > 0, "{summary}");
        }
        for (damaged, keeps_some) in [
            (&whole[..whole.len() - 1], true),
            (&whole[..whole.len() / 2], true),
            (&whole[..12], false),
            (&[&whole[..4], &b"garbage follows"[..]].concat()[..], false),
        ] {
            folder.put(name, damaged);
            folder.refuses(&[name], 1, &[name, "byte", "damaged or cut off", "again"]);
            let (summary, output) = folder.weighs(&[name, "--on-error", "skip"]);
            let (documents, skipped) = counts(&summary);
            assert_eq!(skipped, 1);
            assert_eq!(documents > 0, keeps_some, "{documents} documents of {name}");
            if keeps_some {
                // The same seed: a shorter collection is the beginning of a longer one.
                let clean = name.replace("docs", "clean");
                folder.generate(&clean, &documents.to_string());
                let same = output == folder.weighs(&[&clean]).1;
                assert!(same, "{name}: other weights");
            }
        }
    }
}

#[test]
fn damaged_parquet_is_an_error_of_one_line() {
    let folder = Folder::new();
    folder.generate("docs.parquet", "40");
    let whole = fs::read(folder.path("docs.parquet")).unwrap();
    for length in [
        0,
        3,
        4,
        11,
        whole.len() / 2,
        whole.len() - 9,
        whole.len() - 1,
    ] {
        folder.put("cut.parquet", &whole[..length]);
        folder.refuses(
            &["cut.parquet"],
            1,
            &["cut.parquet", "not a whole Parquet file"],
        );
    }
    // Footer and page headers: where the decoder believes what it reads.
    let mut failures = 0;
    let flips = 15 * rounds(1) as usize;
    for number in 0..flips {
        let number = 7 * number % 150;
        let place = match number % 3 {
            0 => number,
            _ => whole.len() - 8 - number * 3,
        };
        let mut damaged = whole.clone();
        damaged[place] ^= 0x55;
        folder.put("flipped.parquet", damaged);
        let run = folder.run(&["stats", "flipped.parquet"]);
        if !run.status.success() {
            failures += 1;
            one_line(&run, 1, &["flipped.parquet"]);
        }
    }
    assert!(failures > flips / 8, "{failures} of {flips}");
    let (summary, _) = folder.weighs(&["cut.parquet", "docs.parquet", "--on-error", "skip"]);
    assert_eq!(counts(&summary), (40, 1));
}

#[test]
fn parquet_columns_that_are_missing_are_named_with_those_that_are_there() {
    let folder = Folder::new();
    folder.put("docs.tsv", around("tsv", b""));
    folder.put("weights.parquet", folder.weighs(&["docs.tsv"]).1);
    folder.refuses(
        &["weights.parquet"],
        1,
        &["no column `id`", "term, doc, tf, weight"],
    );
    folder.refuses(
        &["weights.parquet", "--id-field", "doc"],
        1,
        &["no column `contents` or `text`"],
    );
    folder.refuses(
        &["weights.parquet", "--id-field=weight", "--text-field=term"],
        1,
        &[
            "weights.parquet",
            "`weight`",
            "neither strings nor integers",
        ],
    );
}

#[test]
fn inputs_that_are_not_there() {
    let folder = Folder::new();
    folder.put("docs.tsv", "a\tx\n");
    let missing = ["none.jsonl", "there is no such file; check the name"];
    folder.refuses(&["docs.tsv", "none.jsonl"], 1, &missing);
    folder.refuses(&["none.jsonl", "--on-error", "skip"], 1, &missing);
    folder.refuses(&["*.none"], 2, &["*.none", "no file matches"]);
    let missing = ["none.txt", "there is no such file"];
    folder.refuses(&["docs.tsv", "--stop-words", "none.txt"], 1, &missing);
    folder.put("latin.txt", b"caf\xe9");
    let latin = ["latin.txt", "UTF-8"];
    folder.refuses(&["docs.tsv", "--stop-words", "latin.txt"], 1, &latin);
}

#[cfg(unix)]
#[test]
fn a_file_that_cannot_be_read_is_skipped_within_a_folder() {
    let folder = Folder::new();
    fs::create_dir(folder.path("in")).unwrap();
    folder.put("in/a.tsv", "a\tone two two\n");
    folder.put("in/c.tsv", "b\ttwo three\n");
    folder.put("clean.tsv", around("tsv", b""));
    std::os::unix::fs::symlink("nowhere", folder.path("in/b")).unwrap();
    folder.put("in/d", b"\x01\t\0words\tand\nbytes \0\n");
    folder.refuses(&["in"], 1, &["in/b", "there is no such file"]);
    let (summary, output) = folder.weighs(&["in", "--on-error", "skip"]);
    assert_eq!(counts(&summary), (2, 2));
    assert!(output == folder.weighs(&["clean.tsv"]).1);
    fs::remove_file(folder.path("in/b")).unwrap();
    folder.refuses(&["in"], 1, &["in/d", "binary"]);
    // A named link to nothing is an error in any case.
    std::os::unix::fs::symlink("nowhere", folder.path("link")).unwrap();
    folder.refuses(
        &["link", "--on-error", "skip"],
        1,
        &["link", "there is no such file"],
    );
    let index = [
        "index",
        "in",
        "-o",
        "out/index",
        "--store",
        "--on-error",
        "skip",
    ];
    let run = folder.run(&index);
    assert!(run.status.success(), "{run:?}");
}

#[test]
fn standard_input_that_ends_early_or_holds_parquet() {
    let folder = Folder::new();
    folder.generate("docs.parquet", "3");
    let parquet = fs::read(folder.path("docs.parquet")).unwrap();
    let from_stdin = |bytes: &[u8]| {
        let mut child = Command::new(TOKAPI)
            .args(["stats", "--json", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(bytes).unwrap();
        child.wait_with_output().unwrap()
    };
    let summary = serde_json::from_slice(&from_stdin(&parquet).stdout).unwrap();
    assert_eq!(counts(&summary), (3, 0));
    let cut = from_stdin(&parquet[..99]);
    one_line(&cut, 1, &["-: not a whole Parquet file"]);
    let cut = from_stdin(b"{\"id\":\"a\",\"cont");
    one_line(&cut, 1, &["-, line 1", "broken JSON"]);
}

#[test]
fn a_term_of_ten_megabytes() {
    let folder = Folder::new();
    let term = "x".repeat(10_000_000);
    let tsv = format!("a\tshort {term} {term}y\nb\t{term} last\n");
    folder.put("docs.tsv", tsv);
    let terms = format!("short\n{term}\n{term}y\n\n{term}\nlast\n");
    folder.put("docs.terms", terms);
    for name in ["docs.tsv", "docs.terms"] {
        for analyzer in ["plain", "python", "unicode"] {
            let (summary, output) = folder.weighs(&[name, "--analyzer", analyzer]);
            assert_eq!(summary["tokens"], 5, "{name}");
            assert_eq!(summary["terms"], 4, "{name}");
            // The weights have the long terms whole: each is a document's text there.
            folder.put("w.parquet", output);
            let columns = ["--id-field=term", "--text-field=term"];
            let read = [&["w.parquet", "--on-error=skip"], &columns[..]].concat();
            let (read, _) = folder.weighs(&read);
            assert_eq!(counts(&read), (4, 1), "{name}");
            assert_eq!(read["terms"], 4, "{name}");
        }
    }
    let (summary, _) = folder.weighs(&["docs.tsv", "--max-length", "100"]);
    assert_eq!(summary["tokens"], 2);
}

#[test]
fn a_document_of_a_gigabyte() {
    let folder = Folder::new();
    // 64 bytes, 12 words.
    let line = "one gigabyte is a million times the eight words of this text ..\n";
    let block = line.repeat(1 << 14);
    let mut file = fs::File::create(folder.path("docs.txt")).unwrap();
    for _ in 0..1 << 10 {
        file.write_all(block.as_bytes()).unwrap();
    }
    drop(file);
    let (summary, _) = folder.weighs(&["docs.txt"]);
    assert_eq!(summary["bytes"], 1u64 << 30);
    assert_eq!(counts(&summary), (1, 0));
    assert_eq!(summary["tokens"], 12u64 << 24);
    assert_eq!(summary["terms"], 12);
    let peak = summary["peak_memory_bytes"].as_u64().unwrap();
    assert!(peak < 6_000_000_000, "{peak} bytes of memory");
}

#[test]
fn many_bad_lines_are_read_once() {
    let folder = Folder::new();
    folder.put("docs.tsv", "no tab\n".repeat(1_000_000));
    folder.put("crlf.terms", "a\r\n\r\n".repeat(1_000_000));
    // Reading them again for each would take many minutes.
    let run = folder.run(&["stats", "docs.tsv", "--on-error", "skip", "--json"]);
    let summary = String::from_utf8(run.stdout).unwrap();
    assert!(summary.contains("\"skipped\":1000000"), "{summary}");
    let run = folder.run(&["stats", "crlf.terms", "--json"]);
    let summary = String::from_utf8(run.stdout).unwrap();
    assert!(summary.contains("\"documents\":1000000"), "{summary}");
}

#[cfg(unix)]
#[test]
fn a_pipe_that_brings_little_at_first_is_read_all_the_same() {
    let folder = Folder::new();
    let slowly = r#"(printf 'd'; sleep 0.2; printf '1\tone two\nd2\ttwo\n') | "$0" stats --json -"#;
    let run = shell(&folder, slowly);
    let summary = String::from_utf8(run.stdout).unwrap();
    assert!(summary.contains("\"documents\":2"), "{summary}");
}
