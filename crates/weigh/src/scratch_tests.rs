//! Collections on scratch, tested from within: damage, and tables that are not in memory.

use std::fs;

use crate::collection::BuildOptions;
use crate::collection::external::{DocumentTable, External, repeated};
use crate::collection::{Documents, Storage, Stored, StoredIn};
use crate::formula::Bm25;
use crate::output::{Order, Output, Target};
use tokapi_storage::error::{Error, Result};
use tokapi_storage::memory::Memory;
use tokapi_storage::progress::Progress;
use tokapi_storage::scratch::ScratchOptions;
use tokapi_text::corpus::{Corpus, CorpusOptions};

fn external(folder: &std::path::Path, documents: &str) -> External {
    built(folder, documents, false)
}

fn built(folder: &std::path::Path, documents: &str, resume: bool) -> External {
    let corpus = CorpusOptions::default().chunk_bytes(Some(2000));
    let corpus = Corpus::from_bytes("docs.tsv", documents, corpus);
    let storage = Storage::new(Memory::new(1 << 30).unwrap().holding(0))
        .scratch(ScratchOptions::default().resume(resume))
        .output(folder.join("w.tsv"));
    let options = BuildOptions::default().threads(2);
    match Stored::build(corpus, &options, &storage)
        .unwrap()
        .into_place()
    {
        StoredIn::Scratch(external) => external,
        StoredIn::Memory(_) => panic!("nothing is held in memory"),
    }
}

/// Documents with ids, as TSV; document `n` has the id that `id` gives.
fn documents(count: usize, id: impl Fn(usize) -> usize) -> String {
    let text = |n: usize| format!("term{} word{} the the end{}", n % 7, n % 31, n);
    (0..count)
        .map(|n| format!("id{}\t{}\n", id(n), text(n)))
        .collect()
}

fn write(external: &External, folder: &std::path::Path, order: Order) -> Result<()> {
    let output = Output::new(folder.join("w.tsv"), Target::Tsv)
        .tables(true)
        .order(order);
    output.stage_external(external, &Bm25::default()).map(drop)
}

#[test]
fn flipped_bits_are_always_found() {
    let folder = tempfile::tempdir().unwrap();
    let external = external(folder.path(), &documents(300, |n| n));
    for order in [Order::Term, Order::Document] {
        write(&external, folder.path(), order).unwrap();
    }
    let mut state = 7_u64;
    let mut below = |limit: usize| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) as usize % limit
    };
    for trial in 0..1000 {
        let path = &external.runs[below(external.runs.len())].file.path;
        let good = fs::read(path).unwrap();
        let mut bad = good.clone();
        for _ in 0..1 + below(3) {
            let bit = below(8 * good.len());
            bad[bit / 8] ^= 1 << (bit % 8);
        }
        fs::write(path, &bad).unwrap();
        let order = [Order::Term, Order::Document][trial % 2];
        let opened = DocumentTable::open(&external.runs, u64::MAX, &Progress::new());
        let written = write(&external, folder.path(), order);
        let error = opened.map(drop).and(written).err();
        let found = matches!(error, Some(Error::Damaged { .. }));
        assert!(found || bad == good, "trial {trial}: {error:?}");
        fs::write(path, &good).unwrap();
    }
}

#[test]
fn merged_runs_are_gone_on_from_at_every_level() {
    let folder = tempfile::tempdir().unwrap();
    let text = documents(2000, |n| n);
    let mut external = external(folder.path(), &text);
    let written = |external: &External| {
        let staged = tempfile::tempdir().unwrap();
        let output = Output::new(staged.path().join("w.tsv"), Target::Tsv);
        let (files, _) = output.stage_external(external, &Bm25::default()).unwrap();
        files.into_iter().for_each(|file| file.commit().unwrap());
        fs::read(&output.path).unwrap()
    };
    let expected = written(&external);
    assert!(external.runs.len() > 9);
    // Each level merges the runs of the level before.
    for most in [9, 4, 2] {
        external.memory = external.memory.merging(most);
        external.reduce().unwrap();
        // As if the process were killed here.
        drop(external);
        external = built(folder.path(), &text, true);
        assert!(external.runs.len() <= most);
        assert!(written(&external) == expected, "{most}");
    }
}

#[test]
fn a_table_on_scratch_gives_the_same_documents() {
    let folder = tempfile::tempdir().unwrap();
    let external = external(folder.path(), &documents(500, |n| n * 7));
    let all = external.statistics.documents as usize;
    let memory = DocumentTable::open(&external.runs, u64::MAX, &Progress::new()).unwrap();
    let scratch = DocumentTable::open(&external.runs, 0, &Progress::new()).unwrap();
    for step in [1, 2, 97, 499] {
        let fetch = |table: &DocumentTable| -> Documents {
            table.fetch(all / step, (0..all).step_by(step)).unwrap()
        };
        assert_eq!(fetch(&memory), fetch(&scratch));
        assert_eq!(
            fetch(&memory).ids.get(1),
            format!("id{}", 7 * step).as_bytes()
        );
    }
}

#[test]
fn repeated_ids_are_found_in_any_number_of_passes() {
    let folder = tempfile::tempdir().unwrap();
    let external = external(folder.path(), &documents(400, |n| n));
    let table = DocumentTable::open(&external.runs, u64::MAX, &Progress::new()).unwrap();
    let other = tempfile::tempdir().unwrap();
    let text = documents(400, |n| if n % 10 == 9 { n - 9 } else { n });
    for memory_bytes in [1 << 20, 1600, 100, 1] {
        assert_eq!(
            repeated(&external.runs, &table, memory_bytes, &external.progress).unwrap(),
            []
        );
    }
    let corpus = Corpus::from_bytes("docs.tsv", text, CorpusOptions::default());
    let storage =
        Storage::new(Memory::new(1 << 30).unwrap().holding(0)).output(other.path().join("w.tsv"));
    let built = Stored::build(corpus, &BuildOptions::default(), &storage);
    let error = built.err().unwrap().to_string();
    let expected = "docs.tsv: document 10 of the input has the id `id0` of document 1";
    assert!(error.starts_with(expected), "{error}");
    // An error that would occur again leaves nothing.
    assert_eq!(fs::read_dir(other.path()).unwrap().count(), 0);
}
