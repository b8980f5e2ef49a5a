//! A change that is cancelled leaves the index as it was, and no files behind.

use std::path::Path;
use std::time::Duration;

use crate::files::files;
use tokapi::Analyzer;
use tokapi::{AddOptions, ImportOptions, IndexBuilder, IndexWriter, Missing, Reorder, Reordering};
use tokapi::{Bm25, Corpus, CorpusOptions, Error, Index, Memory, Progress, Result};

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
}
