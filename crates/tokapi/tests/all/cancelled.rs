//! A change that is cancelled leaves the index as it was, and no files behind.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::files::files;
use tokapi::Analyzer;
use tokapi::mapreduce::{Documents, Threads};
use tokapi::sort::{Cpu, KeyType, Sort, SortOptions, sort_file};
use tokapi::{AddOptions, ImportOptions, IndexBuilder, IndexWriter, Missing, Reorder, Reordering};
use tokapi::{Bm25, Corpus, CorpusOptions, Error, Index, Memory, Progress, Result};
use tokapi::{BuildOptions, OnError, Order, Output, Storage, Stored, Target};
use tokapi_mapreduce::jobs::{InvertedIndex, WordCount};

/// Writes documents, whose ids begin with `prefix`, to a file.
fn write_documents(path: &Path, prefix: char, count: usize) {
    let document = |number: usize| {
        let words: Vec<String> = (0..60)
            .map(|word| format!("w{}", number * (word + 7) % 911))
            .collect();
        let (text, even) = (words.join(" "), number.is_multiple_of(2));
        format!("{{\"id\":\"{prefix}{number}\",\"contents\":\"{text}\",\"even\":\"{even}\"}}\n")
    };
    std::fs::write(path, (0..count).map(document).collect::<String>()).unwrap();
}

fn corpus(path: &Path) -> Corpus {
    Corpus::open(&[path], CorpusOptions::default()).unwrap()
}

/// Runs `work` again and again, cancelled ever later, until it comes to its end; every time before, nothing in
/// `folder` has changed.
fn cancel_ever_later<T>(folder: &Path, mut work: impl FnMut(&Progress) -> Result<T>) {
    let before = files(folder);
    let mut cancelled = 0;
    for delay in (0..).map(|step| Duration::from_micros(step * step * 150)) {
        let progress = Progress::new();
        let result = std::thread::scope(|scope| {
            if delay.is_zero() {
                progress.cancel();
            }
            let cancelling = progress.clone();
            let thread = scope.spawn(move || {
                std::thread::park_timeout(delay);
                cancelling.cancel();
            });
            let result = work(&progress);
            thread.thread().unpark();
            result
        });
        match result {
            Ok(_) => break,
            Err(Error::Cancelled) => cancelled += 1,
            Err(error) => panic!("{error}"),
        }
        let now = files(folder);
        assert!(now.keys().eq(before.keys()), "{:?}", now.keys());
        assert!(now == before);
    }
    assert!(cancelled > 0);
}

#[test]
fn nothing_is_left_of_a_change_that_is_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    write_documents(&path("docs.jsonl"), 'a', 4000);
    write_documents(&path("more.jsonl"), 'b', 3000);
    let builder = |name: &str, progress: &Progress| {
        IndexBuilder::new(path(name))
            .store(true)
            .field("even")
            .positions(true)
            .threads(2)
            .progress(progress.clone())
    };
    let (docs, analyzer) = (path("docs.jsonl"), Analyzer::default());
    cancel_ever_later(folder.path(), |progress| {
        let builder = builder("index", progress).reorder(Reorder::Graph);
        builder.build(corpus(&docs))
    });
    cancel_ever_later(folder.path(), |progress| {
        let builder = builder("impacts", progress).impacts(Bm25::default());
        builder.build(corpus(&docs))
    });
    // On scratch from the beginning.
    cancel_ever_later(folder.path(), |progress| {
        let memory = Memory::new(500_000_000)?.holding(0);
        let builder = builder("spilled", progress).memory(memory);
        builder.build(corpus(&docs))
    });

    let writer = |progress: &Progress| {
        IndexWriter::open(&path("index"), 2).map(|writer| writer.with_progress(progress.clone()))
    };
    cancel_ever_later(folder.path(), |progress| {
        writer(progress)?.add(corpus(&path("more.jsonl")), &AddOptions::default())
    });
    let none = Progress::new();
    writer(&none)
        .unwrap()
        .delete(["a3", "b5"], Missing::Stop)
        .unwrap();
    cancel_ever_later(folder.path(), |progress| writer(progress)?.merge());
    for by in [Reorder::Id, Reorder::Graph] {
        cancel_ever_later(folder.path(), |progress| {
            let how = Reordering::new(by).threads(2).progress(progress.clone());
            writer(&none)?.reorder(&how)
        });
    }

    let index = Index::open(path("index")).unwrap();
    assert_eq!(index.statistics().documents, 6998);
    cancel_ever_later(folder.path(), |progress| index.check_with(progress));
    cancel_ever_later(folder.path(), |progress| {
        index.export_ciff(&path("index.ciff"), progress)
    });
    cancel_ever_later(folder.path(), |progress| {
        index.export_bm25s(&Bm25::default(), &path("bm25s"), progress)
    });
    cancel_ever_later(folder.path(), |progress| {
        let options = ImportOptions::default().progress(progress.clone());
        Index::import_ciff(&path("index.ciff"), &analyzer, &path("imported"), options)
    });
    Index::open(path("imported")).unwrap().check().unwrap();

    // A compressed file is unpacked first.
    let bytes = zstd::encode_all(&*std::fs::read(path("index.ciff")).unwrap(), 1).unwrap();
    std::fs::write(path("index.ciff.zst"), bytes).unwrap();
    cancel_ever_later(folder.path(), |progress| {
        let options = ImportOptions::default().progress(progress.clone());
        Index::import_ciff(
            &path("index.ciff.zst"),
            &analyzer,
            &path("unpacked"),
            options,
        )
    });
    cancel_ever_later(folder.path(), |progress| {
        let ids = (0..3000).map(|number| format!("b{number}"));
        writer(progress)?.delete(ids, Missing::Ignore)
    });
}

#[test]
fn nothing_is_left_of_weights_that_are_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let docs = folder.path().join("docs.jsonl");
    write_documents(&docs, 'a', 4000);
    for held_bytes in [0, u64::MAX] {
        for (target, order) in [
            (Target::Parquet, Order::Term),
            (Target::Tsv, Order::Document),
            (Target::Npz, Order::Term),
            (Target::Vectors, Order::Term),
        ] {
            let output = folder.path().join(format!("{target:?} {held_bytes}"));
            cancel_ever_later(folder.path(), |progress| {
                let memory = Memory::new(1 << 30)?.holding(held_bytes).merging(2);
                let storage = Storage::new(memory).output(output.clone());
                let options = CorpusOptions::default().chunk_bytes(100_000);
                let corpus = Corpus::open(&[&docs], options)?.with_progress(progress.clone());
                let stored = Stored::build(corpus, &BuildOptions::default(), &storage)?;
                let output = Output::new(&output, target).tables(true).order(order);
                output.write(stored, &Bm25::default())
            });
        }
    }
}

#[test]
fn nothing_is_left_of_a_sort_that_is_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let words = (0..400_000u32).flat_map(|n| n.wrapping_mul(0x9e37_79b9).to_le_bytes());
    std::fs::write(path("words"), words.collect::<Vec<u8>>()).unwrap();
    for pairs in [false, true] {
        for spill in [false, true] {
            let output = path(&format!("sorted {pairs} {spill}"));
            cancel_ever_later(folder.path(), |progress| {
                let options = SortOptions::new(KeyType::U32, Memory::new(1 << 30)?)
                    .pairs(pairs)
                    .spill(spill)
                    .chunk_bytes(spill.then_some(200_000))
                    .progress(progress.clone());
                let engine = || Ok(Box::new(Cpu::new()) as Box<dyn Sort>);
                sort_file(&path("words"), &output, &options, &engine)
            });
        }
    }
}

#[test]
fn nothing_is_left_of_a_job_that_is_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let docs = folder.path().join("docs.jsonl");
    write_documents(&docs, 'a', 400);
    let documents = || Documents::new(corpus(&docs), Arc::new(Analyzer::default()), 2);
    for memory_bytes in [64 << 10, 64 << 20] {
        let runner = |progress: &Progress| Threads {
            threads: 2,
            memory_bytes,
            scratch: folder.path().into(),
            progress: progress.clone(),
            ..Threads::default()
        };
        let output = folder.path().join(format!("counts {memory_bytes}"));
        cancel_ever_later(folder.path(), |progress| {
            let (staged, _) =
                runner(progress).write(&mut WordCount, documents(), &output, |_, _| ())?;
            staged.rename()
        });
        let output = folder.path().join(format!("lists {memory_bytes}"));
        cancel_ever_later(folder.path(), |progress| {
            let mut job = InvertedIndex::new(OnError::Stop);
            let (staged, _) = runner(progress).write(&mut job, documents(), &output, |_, _| ())?;
            staged.rename()
        });
    }
}
