//! Feeds documents from another thread, shows the progress, cancels on demand, and searches.

use std::{path::Path, thread};
use tokapi::{Corpus, CorpusOptions, Document, Index, IndexBuilder, Query, SearchOptions};

/// Indexes 20,000 documents, unless there are more than `limit`, and searches them.
pub fn run(path: &Path, limit: u64) -> tokapi::Result<Vec<String>> {
    let (sender, corpus) = Corpus::channel(CorpusOptions::default());
    let progress = corpus.progress();
    thread::spawn(move || {
        for number in 0..20_000 {
            let document = Document::new(format!("d{number}"), format!("wing number {number}"));
            if sender.send(document).is_err() {
                break; // the build has ended
            }
            let now = progress.snapshot();
            eprint!("\r{:?}: {} documents", now.stage, now.documents);
            if number >= limit {
                progress.cancel(); // the build ends with Error::Cancelled
            }
        }
    });
    IndexBuilder::new(path).build(corpus)?;

    let index = Index::open(path)?;
    let query = Query::all(index.analyzer().terms("wing 777"));
    let hits = index.search(&query, &SearchOptions::default())?;
    let ids = hits
        .iter()
        .map(|hit| Ok(index.id(hit.document)?.into_owned()));
    ids.collect()
}

fn main() -> tokapi::Result<()> {
    println!("\n{:?}", run(Path::new("stream.index"), u64::MAX)?);
    Ok(())
}
