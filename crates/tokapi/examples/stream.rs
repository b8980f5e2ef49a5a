//! Feeds documents from a channel, shows the progress, cancels one build, and searches another.

use std::thread;
use std::time::Duration;

use tokapi::{
    Corpus, CorpusOptions, Document, Error, Index, IndexBuilder, Progress, Query, SearchOptions,
};

/// Indexes `count` documents that another thread makes.
fn build(path: &std::path::Path, count: u32, progress: &Progress) -> tokapi::Result<()> {
    let (sender, corpus) = Corpus::channel(CorpusOptions::default());
    let feeder = thread::spawn(move || {
        for number in 0..count {
            let document = Document::new(format!("d{number}"), format!("wing number {number}"));
            if sender.send(document).is_err() {
                break; // the build has ended
            }
        }
    });
    let watched = progress.clone();
    let builder = IndexBuilder::new(path)
        .store(true)
        .progress(progress.clone());
    let building = thread::scope(|scope| {
        let building = scope.spawn(|| builder.build(corpus));
        while !building.is_finished() {
            let now = watched.snapshot();
            eprint!("\r{:?}: {} documents", now.stage, now.documents);
            thread::sleep(Duration::from_millis(10));
        }
        building.join().expect("the library does not panic")
    });
    feeder.join().expect("the feeder does not panic");
    building.map(drop)
}

fn main() -> tokapi::Result<()> {
    let path = std::env::temp_dir().join(format!("stream-{}", std::process::id()));
    let cancelled = Progress::new();
    cancelled.cancel();
    assert!(matches!(
        build(&path, 1_000, &cancelled),
        Err(Error::Cancelled)
    ));
    assert!(!path.exists());

    build(&path, 20_000, &Progress::new())?;
    let index = Index::open(&path)?;
    let query = Query::all(index.analyzer().terms("wing 777"));
    for hit in index.search(&query, &SearchOptions::default())? {
        println!("{} {:.3}", index.id(hit.document)?, hit.score);
    }
    std::fs::remove_dir_all(&path).expect("the index can be removed");
    Ok(())
}
