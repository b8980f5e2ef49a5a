//! Inputs of the tests: Cranfield, and random text; runners of all kinds.

use std::path::PathBuf;
use std::sync::Arc;

use crate::random::Random;
use tokapi::Analyzer;
use tokapi::mapreduce::{Documents, Partitions, Threads};
use tokapi::{Corpus, CorpusOptions};

/// Where Cranfield stands.
pub fn cranfield() -> PathBuf {
    // Cargo sets it when tests run, too: they may run elsewhere than they were built.
    let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    PathBuf::from(folder).join("../../data/cranfield/docs.jsonl.zst")
}

/// A text as `id<TAB>text` lines, random but always the same: few words often, many rarely.
pub fn random_text(seed: u64, documents: usize) -> String {
    let mut random = Random(seed);
    let mut text = String::new();
    for document in 0..documents {
        text += &format!("d{document}\t");
        for _ in 0..random.below(30) {
            let most = 1 << random.below(12);
            text += &format!("w{} ", random.below(most));
        }
        text.push('\n');
    }
    text
}

fn options(chunk_bytes: usize) -> CorpusOptions {
    CorpusOptions::default().chunk_bytes(Some(chunk_bytes))
}

/// A corpus of both, one after the other.
pub fn corpora(chunk_bytes: usize) -> [Corpus; 2] {
    [
        Corpus::from_bytes("random.tsv", random_text(7, 500), options(chunk_bytes)),
        Corpus::open(&[cranfield()], options(chunk_bytes)).unwrap(),
    ]
}

pub fn documents(corpus: Corpus) -> Documents {
    Documents::new(corpus, Arc::new(Analyzer::default()), 2)
}

/// The id and the terms of every document: the definition.
pub fn plain(mut corpus: Corpus) -> Vec<(String, Vec<String>)> {
    let analyzer = Analyzer::default();
    let mut documents = Vec::new();
    while let Some((chunk, _)) = corpus.next_chunk().unwrap() {
        for index in 0..chunk.len() {
            let text = String::from_utf8(chunk.text(index).to_vec()).unwrap();
            let id = String::from_utf8(chunk.id(index).to_vec()).unwrap();
            documents.push((id, analyzer.terms(&text).collect()));
        }
    }
    documents
}

/// Runners with which a job gives the same: threads, memory that makes every few pairs a run,
/// with and without combiner.
pub fn runners() -> Vec<Threads> {
    let mut runners = Vec::new();
    for (threads, memory_bytes, partitions, combine) in [
        (1, 1 << 30, 1, true),
        (4, 1 << 30, 16, true),
        (3, 1 << 30, 5, false),
        (2, 100_000, 7, true),
        (2, 100_000, 7, false),
    ] {
        runners.push(Threads {
            threads,
            memory_bytes,
            partitions: Partitions::Ranges(partitions),
            combine,
            ..Threads::default()
        });
    }
    runners
}

/// The sizes of chunks that are tried with each runner.
pub const CHUNKS: [usize; 2] = [20_000, 1 << 24];
