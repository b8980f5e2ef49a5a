//! Bad places to write to: one line that says what and where; never a part of an output under its
//! final name.

use std::fs;
use std::process::{Command, Stdio};

use crate::folder::{Folder, TOKAPI, around, one_line, shell};

#[test]
fn places_that_cannot_be_written() {
    let folder = Folder::new();
    folder.put("docs.tsv", around("tsv", b""));
    fs::create_dir(folder.path("dir.parquet")).unwrap();
    for (output, status, part) in [
        (
            "none/w.parquet",
            1,
            "none/w.parquet: cannot write: the folder none does not exist",
        ),
        (
            "dir.parquet",
            1,
            "dir.parquet: cannot write: it is a folder",
        ),
        ("docs.tsv/w.parquet", 1, "docs.tsv/w.parquet: cannot write"),
        ("w.unknown", 2, "or name the format (--to)"),
        ("-", 2, "standard output has no name: add --to tsv"),
    ] {
        let run = folder.run(&["weigh", "docs.tsv", "-o", output]);
        one_line(&run, status, &[part]);
    }
    let run = folder.run(&["weigh", "docs.tsv", "-o", "-", "--to", "parquet"]);
    one_line(&run, 2, &["cannot go to standard output; name a file"]);
    let names = fs::read_dir(folder.0.path()).unwrap().count();
    assert_eq!(names, 3, "out, docs.tsv and dir.parquet");
}

#[test]
fn an_output_never_replaces_an_input() {
    let folder = Folder::new();
    folder.put("docs.tsv", around("tsv", b""));
    let weights = folder.weighs(&["docs.tsv"]).1;
    fs::create_dir(folder.path("in")).unwrap();
    folder.put("in/w.parquet", &weights);
    folder.put("in/v.docs.parquet", &weights);
    for args in [
        &["in/w.parquet", "-o", "in/w.parquet"][..],
        &["in/w.parquet", "-o", "./out/../in/w.parquet"],
        &["in", "-o", "in/w.parquet"],
        &["in/v.docs.parquet", "-o", "in/v.parquet", "--tables"],
    ] {
        let args = [&["weigh", "--id-field=doc", "--text-field=term"], args].concat();
        let parts = ["in/", "overwrite this input", "name another"];
        one_line(&folder.run(&args), 2, &parts);
    }
    folder.put("in/d.terms.tsv", around("tsv", b""));
    let own = folder.run(&["weigh", "in/d.terms.tsv", "-o", "in/d.jsonl"]);
    one_line(&own, 2, &["in/d.terms.tsv", "overwrite this input"]);
    fs::remove_file(folder.path("in/d.terms.tsv")).unwrap();
    assert!(fs::read(folder.path("in/w.parquet")).unwrap() == weights);
    assert!(fs::read(folder.path("in/v.docs.parquet")).unwrap() == weights);
    assert_eq!(fs::read_dir(folder.path("in")).unwrap().count(), 2);
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_device_is_an_error() {
    let folder = Folder::new();
    folder.put("docs.tsv", around("tsv", b""));
    let run = folder.run(&["weigh", "docs.tsv", "-o", "/dev/full", "--to", "parquet"]);
    one_line(&run, 1, &["/dev/full: cannot write", "No space left"]);
    let run = shell(&folder, "$0 stats docs.tsv > /dev/full");
    one_line(&run, 1, &["-: cannot write", "No space left"]);
    // Where the error itself cannot be told the status still tells it, and success is success.
    let run = shell(&folder, "$0 stats none.tsv 2> /dev/full");
    assert_eq!(run.status.code(), Some(1));
    let run = shell(&folder, "$0 weigh docs.tsv -o out/w.parquet 2> /dev/full");
    assert_eq!(run.status.code(), Some(0));
    assert_eq!(folder.written(), ["w.parquet"]);
}

/// A limit on the size of files makes writing fail in the middle as a full disk does; ignoring
/// the signal that comes with it leaves the error.
#[test]
#[cfg(unix)]
fn a_full_disk_leaves_what_was_there_before() {
    let folder = Folder::new();
    folder.generate("many.tsv", "200");
    let limited = |args: &str| shell(&folder, &format!("trap '' XFSZ; ulimit -f 8; $0 {args}"));
    for args in [
        "weigh many.tsv -o out/w.parquet",
        "generate -o out/w.parquet --size 1MB",
    ] {
        one_line(
            &limited(args),
            1,
            &["out/w.parquet: cannot write", "too large"],
        );
        assert_eq!(folder.written(), [""; 0], "{args}");
    }
    // The weights fit and the table of terms does not: none of them appears.
    let run = limited("weigh many.tsv --min-weight 1e9 -o out/w.parquet --tables");
    one_line(&run, 1, &["out/w.terms.parquet: cannot write", "too large"]);
    assert_eq!(folder.written(), [""; 0]);
    folder.put("out/w.parquet", "earlier weights");
    one_line(
        &limited("weigh many.tsv -o out/w.parquet"),
        1,
        &["too large"],
    );
    assert_eq!(folder.written(), ["w.parquet"]);
    let kept = fs::read(folder.path("out/w.parquet")).unwrap();
    assert_eq!(kept, b"earlier weights");
}

/// A run that has begun to write its output.
fn writing(folder: &Folder) -> std::process::Child {
    folder.generate("many.terms", "20000");
    let mut child = Command::new(TOKAPI)
        .args(["weigh", "many.terms", "-o", "out/w.parquet"])
        .current_dir(folder.0.path())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let is_begun = || {
        let entries = fs::read_dir(folder.path("out")).unwrap();
        let sizes = entries.filter_map(|entry| entry.ok()?.metadata().ok());
        sizes.map(|metadata| metadata.len()).sum::<u64>() > 1000
    };
    while !is_begun() {
        assert_eq!(child.try_wait().unwrap(), None, "ended before it wrote");
        std::thread::sleep(std::time::Duration::from_micros(200));
    }
    child
}

#[test]
fn killed_while_writing_leaves_no_output_under_its_name() {
    let folder = Folder::new();
    let mut child = writing(&folder);
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success());
    assert!(!folder.path("out/w.parquet").exists());
}

#[test]
fn interrupted_while_writing_leaves_nothing() {
    use nix::sys::signal::{Signal, kill};
    crate::heed_signals();
    for (signal, status) in [
        (Signal::SIGINT, 130),
        (Signal::SIGTERM, 143),
        (Signal::SIGHUP, 129),
    ] {
        let folder = Folder::new();
        let mut child = writing(&folder);
        kill(nix::unistd::Pid::from_raw(child.id() as i32), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(status));
        assert_eq!(fs::read_dir(folder.path("out")).unwrap().count(), 0);
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = Folder::new();
    folder.put("docs.tsv", around("tsv", b""));
    for args in [&["stats", "docs.tsv"][..], &["completions", "bash"]] {
        let mut child = Command::new(TOKAPI)
            .args(args)
            .current_dir(folder.0.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let run = child.wait_with_output().unwrap();
        assert!(run.status.success(), "{args:?}: {run:?}");
        assert!(run.stderr.is_empty(), "{args:?}: {run:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_named_pipe_is_written_to() {
    let folder = Folder::new();
    folder.put("docs.tsv", around("tsv", b""));
    let run = shell(
        &folder,
        "mkfifo p && (\"$0\" weigh docs.tsv -o p --to tsv 2>/dev/null &) && cat p | wc -l",
    );
    let lines: u32 = String::from_utf8(run.stdout)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    assert!(lines > 0);
}

/// A row is a command that would overwrite a file it reads, or part of an index.
#[test]
fn no_verb_overwrites_what_it_reads_or_an_index() {
    let folder = Folder::new();
    folder.put("d.tsv", around("tsv", b""));
    folder.put("q.tsv", "1\tone\n");
    folder.put("stop.txt", "two\n");
    folder.put("st.terms.tsv", "two\n");
    folder.put("words.tsv", "one\t3\ntwo\t2\n");
    folder.put("n.u16", [1, 0, 0, 0]);
    folder.put("edges.tsv", "a\tb\n");
    for args in [
        &["index", "d.tsv", "-o", "ix"][..],
        &["dictionary", "build", "d.tsv", "-o", "d.dict"],
        &["mapreduce", "bm25-local", "d.tsv", "-o", "local"],
    ] {
        assert!(folder.run(args).status.success(), "{args:?}");
    }
    let ciff = folder.run(&["export", "ix", "--to", "ciff", "-o", "ix.ciff"]);
    assert!(ciff.status.success());
    let before = everything(&folder);
    for command in [
        "search ix --queries q.tsv --run q.tsv",
        "search ix --queries q.tsv --run ./out/../q.tsv",
        "search ix --queries q.tsv --run ix/epoch-1.json",
        "search ix --queries q.tsv --run ix/new.run",
        "weigh d.tsv -o stop.txt --to tsv --stop-words stop.txt",
        "weigh d.tsv -o st.npz --stop-words st.terms.tsv",
        "weigh d.tsv -o ix/epoch-1.json",
        "weigh d.tsv -o d.dict --to tsv --dictionary d.dict --engine gpu --method ppd",
        "weigh d.tsv -o d.tsv",
        "index d.tsv -o ix/inner",
        "index ix.ciff -o ix/inner",
        "index ix/epoch-1.json --format text -o ix --append",
        "export ix --to ciff -o ix/epoch-1.json",
        "export ix --to bm25s -o ix/folder",
        "sort n.u16 -o n.u16",
        "sort n.u16 -o ix/sorted.u16",
        "dictionary build d.tsv -o d.tsv",
        "dictionary build --terms stop.txt -o stop.txt",
        "dictionary build d.tsv -o stop.txt --stop-words stop.txt",
        "generate -o words.tsv --documents 2 --vocabulary words.tsv",
        "generate -o ix/epoch-1.json --format jsonl --documents 2",
        "mapreduce wordcount d.tsv -o d.tsv",
        "mapreduce wordcount d.tsv -o stop.txt --stop-words stop.txt",
        "mapreduce wordcount d.tsv -o ix/counts.tsv",
        "mapreduce bm25-local d.tsv -o ix/local",
        "mapreduce bm25-global local -o local/terms.tsv",
        "mapreduce pagerank edges.tsv -o edges.tsv",
        "tune d.tsv --svg d.tsv",
        "tune sort n.u16 -o n2.u16 --svg n.u16",
        "delete ix --ids ix/epoch-1.json",
        "man -o ix",
    ] {
        let args: Vec<&str> = command.split(' ').collect();
        let run = folder.run(&args);
        let said = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(2), "{command}: {said}");
        assert!(said.contains("name another"), "{command}: {said}");
        assert!(everything(&folder) == before, "{command} changed a file");
    }
}

/// Every file below the folder with its bytes, but for the lock of an index.
fn everything(folder: &Folder) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut left = vec![folder.0.path().to_path_buf()];
    let mut files = Vec::new();
    while let Some(path) = left.pop() {
        match fs::read_dir(&path) {
            Ok(entries) => left.extend(entries.map(|entry| entry.unwrap().path())),
            Err(_) if path.ends_with("lock") => {}
            Err(_) => files.push((path.clone(), fs::read(&path).unwrap())),
        }
    }
    files.sort();
    files
}
#[test]
fn a_missing_folder_is_found_before_the_input_is_read() {
    let folder = Folder::new();
    folder.put("docs.tsv", "a\tone two\n");
    let run = folder.run(&["index", "docs.tsv", "-o", "index"]);
    assert!(run.status.success(), "{run:?}");
    // Whoever reads it finds that.
    folder.put("bad.tsv", b"a\tone\n\xff\n");
    folder.put("bad.u32", b"123");
    for args in [
        "weigh bad.tsv -o none/w.parquet",
        "weigh bad.tsv -o none/w.npz",
        "index bad.tsv -o none/index",
        "index bad.tsv -o none/index --store --overwrite",
        "sort bad.u32 -o none/sorted",
        "mapreduce wordcount bad.tsv -o none/counts",
        "mapreduce pagerank bad.tsv -o none/ranks",
        "mapreduce duplicates bad.tsv -o none/found",
        "mapreduce bm25-local bad.tsv -o none/local",
        "mapreduce wordcount bad.tsv -o none/counts --runner processes",
        "generate -o none/docs.tsv --documents 5",
        "dictionary build bad.tsv -o none/terms",
        "export index --to ciff -o none/ciff",
        "export index --to bm25s -o none/bm25s",
        "search index --queries bad.tsv --run none/run",
        "tune bad.tsv -o none/w.parquet",
        "tune bad.tsv --svg none/tune.svg",
        "tune sort bad.u32 -o none/sorted",
    ] {
        let run = folder.run(&args.split(' ').collect::<Vec<_>>());
        one_line(&run, 1, &["none/", "the folder none does not exist"]);
        let error = String::from_utf8_lossy(&run.stderr).into_owned();
        assert!(!error.contains("tokapi-"), "{args}: {error}");
        assert!(!error.contains(".tune"), "{args}: {error}");
    }
}
