//! Work that is cancelled ends soon, and leaves nothing behind.

use std::fs;
use std::path::Path;
use std::time::Duration;

use tokapi_storage::error::Error;
use tokapi_storage::memory::Memory;
use tokapi_storage::progress::{Progress, Stage};
use tokapi_text::corpus::{Corpus, CorpusOptions, Document};
use tokapi_weigh::collection::{BuildOptions, Collection, Storage, Stored};
use tokapi_weigh::formula::{Bm25, Prune};
use tokapi_weigh::output::{Order, Output, Target};

fn document(n: usize) -> Document {
    Document::new(format!("id{n}"), format!("term{} word{n}", n % 7))
}

fn corpus(documents: usize) -> Corpus {
    let options = CorpusOptions::default().chunk_bytes(1000);
    Corpus::from_documents((0..documents).map(document), options)
}

fn storage(folder: &Path, held_bytes: u64) -> Storage {
    Storage::new(Memory::new(1 << 30).unwrap().holding(held_bytes).merging(2))
        .output(folder.join("w"))
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().count() == 0
}

#[test]
fn a_build_leaves_no_scratch() {
    for held_bytes in [0, u64::MAX] {
        let folder = tempfile::tempdir().unwrap();
        let progress = Progress::new();
        let canceller = progress.clone();
        let endless = (0..).map(move |n| {
            if n == 5000 {
                canceller.cancel();
            }
            document(n)
        });
        let options = CorpusOptions::default().chunk_bytes(1000);
        let corpus = Corpus::from_documents(endless, options).with_progress(progress.clone());
        let storage = storage(folder.path(), held_bytes);
        let built = Stored::build(corpus, &BuildOptions::default(), &storage);
        assert!(matches!(built.err(), Some(Error::Cancelled)));
        assert!(is_empty(folder.path()));
        assert!(progress.snapshot().documents < 6000);
    }
}

#[test]
fn a_channel_without_documents_is_left_soon() {
    let (sender, corpus) = Corpus::channel(CorpusOptions::default());
    let progress = corpus.progress();
    let building = std::thread::spawn(|| Collection::build(corpus, &BuildOptions::default()));
    sender.send(document(0)).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    // Without this, it would wait for documents for ever.
    progress.cancel();
    let built = building.join().unwrap();
    assert!(matches!(built.err(), Some(Error::Cancelled)));
    assert!(matches!(sender.send(document(1)), Err(Error::Cancelled)));
}

#[test]
fn outputs_leave_neither_files_nor_scratch() {
    let targets = [
        (Target::Parquet, Order::Term),
        (Target::Tsv, Order::Document),
        (Target::Npz, Order::Term),
        (Target::Vectors, Order::Term),
    ];
    for (target, order) in targets {
        for held_bytes in [0, u64::MAX] {
            let folder = tempfile::tempdir().unwrap();
            let storage = storage(folder.path(), held_bytes);
            let stored = Stored::build(corpus(3000), &BuildOptions::default(), &storage).unwrap();
            assert_eq!(is_empty(folder.path()), held_bytes > 0);
            stored.progress().cancel();
            let output = Output::new(folder.path().join("w"), target)
                .tables(true)
                .order(order);
            let written = output.write(stored, &Bm25::default());
            assert!(matches!(written, Err(Error::Cancelled)), "{target:?}");
            assert!(is_empty(folder.path()), "{target:?}");
        }
    }
}

#[test]
fn every_pass_is_left() {
    for held_bytes in [0, u64::MAX] {
        let folder = tempfile::tempdir().unwrap();
        let storage = storage(folder.path(), held_bytes);
        let build = || Stored::build(corpus(3000), &BuildOptions::default(), &storage).unwrap();
        let is_cancelled = |error: Option<Error>| matches!(error, Some(Error::Cancelled));
        let mut stored = build();
        stored.progress().cancel();
        let prune = Prune::default().top(1);
        assert!(is_cancelled(stored.prune(&Bm25::default(), &prune).err()));
        assert!(is_cancelled(stored.weigh_only(&Bm25::default()).err()));
        assert!(is_empty(folder.path()));
    }
}

#[test]
fn stages_are_counted_to_their_ends() {
    for held_bytes in [0, u64::MAX] {
        let folder = tempfile::tempdir().unwrap();
        let storage = storage(folder.path(), held_bytes);
        let stored = Stored::build(corpus(3000), &BuildOptions::default(), &storage).unwrap();
        let progress = stored.progress().clone();
        let now = progress.snapshot();
        assert_eq!((now.stage, now.documents), (Stage::Reading, 3000));
        let postings = stored.postings_count();
        let output = Output::new(folder.path().join("w"), Target::Tsv).tables(true);
        output.write(stored, &Bm25::default()).unwrap();
        let now = progress.snapshot();
        assert_eq!(
            (now.stage, now.done, now.total),
            (Stage::Writing, postings, postings)
        );
    }
}
