//! Feeds documents from another thread, shows the progress, cancels on demand, and searches.

use std::path::Path;
use std::thread;
use std::time::Duration;

use tokapi::{Corpus, CorpusOptions, Document, Index, IndexBuilder, Query, SearchOptions};

/// Indexes documents, no more than about `limit` of them, and searches the index.
pub fn run(path: &Path, limit: u64) -> tokapi::Result<Vec<String>> {
    let (sender, corpus) = Corpus::channel(CorpusOptions::default());
    let progress = corpus.progress();
    thread::spawn(move || {
        for number in 0..20_000 {
            let document = Document::new(format!("d{number}"), format!("wing number {number}"));
            if sender.send(document).is_err() {
                break; // the build has ended
            }
        }
    });
    let builder = IndexBuilder::new(path);
    let building = thread::spawn(move || builder.build(corpus));
    while !building.is_finished() {
        let now = progress.snapshot();
        eprint!("\r{:?}: {} documents", now.stage, now.documents);
        if now.documents > limit {
            progress.cancel(); // the build ends with Error::Cancelled
        }
        thread::sleep(Duration::from_millis(10));
    }
    building.join().expect("the library does not panic")?;

    let index = Index::open(path)?;
    let query = Query::all(index.analyzer().terms("wing 777"));
    let hits = index.search(&query, &SearchOptions::default())?;
    hits.iter()
        .map(|hit| Ok(index.id(hit.document)?.into_owned()))
        .collect()
}

fn main() -> tokapi::Result<()> {
    println!("\n{:?}", run(Path::new("stream.index"), u64::MAX)?);
    Ok(())
}
