//! A memory budget is kept, by the figure of the operating system, what is mapped of files included: by the text that
//! takes the most, terms none of which occurs twice in documents of very different lengths, by every verb on an
//! index that is larger than the budget, and by MapReduce jobs over so many documents, or nodes of a graph, that their names alone are.

#![cfg(all(target_os = "linux", target_env = "gnu"))]

use std::fmt::Write;

use std::process::Child;

use crate::folder::{Folder, start};

#[test]
fn terms_that_never_repeat_stay_within_the_least_budget() {
    let folder = Folder::new();
    let lengths = [1, 10, 100, 1_000, 200_000];
    let mut text = String::new();
    let mut term = 0u32;
    for document in 0..160 {
        write!(text, "d{document}\t").unwrap();
        for _ in 0..lengths[document % lengths.len()] {
            // Multiplied by an odd number, no two are the same.
            write!(text, "{:x} ", term.wrapping_mul(2_654_435_761)).unwrap();
            term += 1;
        }
        text.push('\n');
    }
    folder.put("docs.tsv", text);
    for order in ["term", "document"] {
        let (summary, _) =
            folder.weighs(&["docs.tsv", "--memory", "300MB", "--spill", "--order", order]);
        assert_eq!(summary["terms"], term, "{order}");
        let peak = summary["peak_memory_bytes"].as_u64().unwrap();
        assert!(peak < 300_000_000, "by {order}: {peak} bytes of memory");
    }
}

/// Documents whose ids are long, so that few make a large index.
const DOCUMENTS: usize = 400_000;

fn id(document: usize) -> String {
    // Nothing that could be left out because it repeats.
    let mut id = format!("{document:08}");
    let mut word = document as u64 + 1;
    while id.len() < 1000 {
        word = word.wrapping_mul(6364136223846793005).wrapping_add(1);
        write!(id, "{word:016x}").unwrap();
    }
    id
}

/// Writes documents that say their number and something that all say. They are never in memory as a whole: what a
/// process has had before it becomes another counts as the other's.
fn documents(folder: &Folder, name: &str, numbers: std::ops::Range<usize>) {
    use std::io::Write as _;
    let file = std::fs::File::create(folder.path(name)).unwrap();
    let mut file = std::io::BufWriter::new(file);
    for document in numbers {
        writeln!(file, "{}\tw{document} common", id(document)).unwrap();
    }
    file.flush().unwrap();
}

/// Documents whose ids are short, so that what is held of each adds up.
const MANY_DOCUMENTS: usize = 1_500_000;

/// Runs a verb that must succeed, within the budget.
#[allow(clippy::zombie_processes, reason = "`wait` reaps the process")]
fn within(folder: &Folder, command: &str) {
    let mut args: Vec<&str> = command.split(' ').collect();
    args.extend(["--memory", "300MB"]);
    let mut child = start(folder, &args);
    let (status, peak) = wait(&child);
    let mut error = String::new();
    let mut stderr = child.stderr.take().unwrap();
    std::io::Read::read_to_string(&mut stderr, &mut error).unwrap();
    assert_eq!(status, 0, "{command}: {error}");
    assert!(peak < 300_000_000, "{command}: {peak} bytes of memory");
}

/// Waits for a process. Gives its status, and the most memory that it and the processes that it waited for have had.
fn wait(child: &Child) -> (libc::c_int, u64) {
    let (mut status, process) = (0, libc::pid_t::try_from(child.id()).unwrap());
    // SAFETY: a rusage of zeros is valid; both pointers are to values that live until the call returns.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::wait4(process, &mut status, 0, &mut usage), process);
        usage
    };
    (status, u64::try_from(usage.ru_maxrss).unwrap() * 1024)
}

#[test]
fn every_verb_on_an_index_larger_than_the_least_budget_stays_within_it() {
    let folder = Folder::new();
    documents(&folder, "docs.tsv", 0..DOCUMENTS);
    documents(&folder, "more.tsv", DOCUMENTS..DOCUMENTS + 1000);
    within(&folder, "stats docs.tsv");
    within(&folder, "index docs.tsv -o index --store --positions");
    std::fs::remove_file(folder.path("docs.tsv")).unwrap();
    within(&folder, "index more.tsv -o index --append");
    within(&folder, "check index");
    within(&folder, "export index --to ciff -o out/ciff");
    std::fs::remove_file(folder.path("out/ciff")).unwrap();
    within(&folder, "export index --to bm25s -o out/bm25s");
    std::fs::remove_dir_all(folder.path("out/bm25s")).unwrap();
    within(&folder, &format!("delete index --id {}", id(7)));
    within(&folder, "merge index");
    within(&folder, "merge index --reorder graph");
    within(&folder, "index more.tsv -o index --overwrite --impacts");
}

#[test]
fn an_order_that_does_not_fit_is_one_line() {
    let folder = Folder::new();
    documents(&folder, "docs.tsv", 0..DOCUMENTS / 2);
    within(&folder, "index docs.tsv -o index");
    let run = folder.run(&["merge", "index", "--reorder", "id", "--memory", "300MB"]);
    crate::folder::one_line(&run, 1, &["takes 2", "MB of memory", "larger budget"]);
}

/// Runs a job that must succeed, and must be within the budget by what it says itself.
fn job_within(folder: &Folder, command: &str) {
    let mut args: Vec<&str> = command.split(' ').collect();
    args.extend(["--memory", "300MB", "--json"]);
    let run = folder.run(&args);
    assert!(run.status.success(), "{command}: {run:?}");
    let summary: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    let peak = summary["peak_memory_bytes"].as_u64().unwrap();
    assert!(peak < 300_000_000, "{command}: {peak} bytes of memory");
}

#[test]
fn jobs_over_many_ids_stay_within_the_least_budget() {
    use std::io::Write as _;
    let folder = Folder::new();
    let file = std::fs::File::create(folder.path("docs.tsv")).unwrap();
    let mut file = std::io::BufWriter::new(file);
    for document in 0..MANY_DOCUMENTS {
        let id = format!("https://example.org/some/long/path/{document:012}.html");
        writeln!(file, "{id}\tw1 common").unwrap();
    }
    file.into_inner().unwrap();
    let same = |a: &str, b: &str| {
        let compared = std::process::Command::new("cmp")
            .args([folder.path(a), folder.path(b)])
            .status();
        assert!(compared.unwrap().success(), "{a} and {b} differ");
        std::fs::remove_file(folder.path(b)).unwrap();
    };
    job_within(&folder, "weigh docs.tsv -o out/weights.tsv");
    job_within(&folder, "mapreduce bm25 docs.tsv -o out/bm25.tsv");
    same("out/weights.tsv", "out/bm25.tsv");
    job_within(&folder, "mapreduce bm25-local docs.tsv -o lists");
    job_within(&folder, "mapreduce bm25-global lists -o out/bm25.tsv");
    same("out/weights.tsv", "out/bm25.tsv");
    within(
        &folder,
        "mapreduce inverted-index docs.tsv -o out/postings.tsv",
    );
    job_within(&folder, "mapreduce duplicates docs.tsv -o out/copies.tsv");
    assert_eq!(
        folder.written(),
        ["copies.tsv", "postings.tsv", "weights.tsv"]
    );
}

#[test]
fn ranks_of_many_nodes_stay_within_the_least_budget() {
    use std::io::Write as _;
    let folder = Folder::new();
    let file = std::fs::File::create(folder.path("edges")).unwrap();
    let mut file = std::io::BufWriter::new(file);
    // A ring: all ranks are the same, which is found at once.
    let name = |node: usize| format!("https://example.org/some/path/{:09}", node % MANY_DOCUMENTS);
    for node in 0..MANY_DOCUMENTS {
        writeln!(file, "{} {}", name(node), name(node + 1)).unwrap();
    }
    file.into_inner().unwrap();
    job_within(&folder, "mapreduce pagerank edges -o out/ranks.tsv");
    let ranks = std::fs::read_to_string(folder.path("out/ranks.tsv")).unwrap();
    assert_eq!(ranks.lines().count(), MANY_DOCUMENTS);
    let rank = |line: &str| line.split('\t').nth(1).map(str::to_owned);
    let mut all = ranks.lines().map(rank);
    let first = all.next().unwrap();
    assert!(all.all(|rank| rank == first), "{first:?}");
}
