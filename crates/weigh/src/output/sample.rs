//! Shared parts of the writers' tests: unusual small collections, pools, and files read back.

use std::io::{Read, Write};
use std::path::Path;

use super::{Output, Target};
use crate::collection::{BuildOptions, Collection};
use crate::formula::Bm25;
use tokapi_storage::whole::Staged;
use tokapi_text::corpus::{Corpus, CorpusOptions};

/// Documents whose ids need escaping, some without terms, the terms in no order.
pub(super) const ODD: [(&str, &str); 7] = [
    ("plain", "the cat the dog"),
    ("tab\there", "dog"),
    ("none", ""),
    ("line\nbreak\r", "cat cat cat the"),
    ("quote\"back\\slash", "zebra"),
    ("ünï\u{1}\u{2028}", "été the dog"),
    ("none again", "..."),
];

/// The collection of `documents`, pairs of id and text.
pub(super) fn collection(documents: &[(&str, &str)], options: CorpusOptions) -> Collection {
    collection_on(1, documents, options)
}

/// The same collection, built and later written by `threads` threads.
pub(super) fn collection_on(
    threads: usize,
    documents: &[(&str, &str)],
    options: CorpusOptions,
) -> Collection {
    let mut file = tempfile::Builder::new()
        .suffix(".jsonl")
        .tempfile()
        .unwrap();
    for (id, text) in documents {
        writeln!(file, "{}", serde_json::json!({"id": id, "text": text})).unwrap();
    }
    let corpus = Corpus::open(&[file.path().to_str().unwrap()], options).unwrap();
    let options = BuildOptions::default().threads(threads);
    Collection::build(corpus, &options).unwrap()
}

/// `count` documents of some of 50 terms each, seeded, with lengths from 0 to 39.
pub(super) fn many(count: usize) -> Vec<(String, String)> {
    let mut state = 1_u64;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
        (state >> 33) % below
    };
    let mut text = || {
        (0..next(40))
            .map(|_| format!("t{} ", next(50)))
            .collect::<String>()
    };
    (0..count)
        .map(|number| (format!("d{number}"), text()))
        .collect()
}

/// Writes `documents` to `name` with several numbers of threads and two chunk sizes. Returns the bytes, which must be
/// the same each time.
pub(super) fn written_each_way(
    name: &str,
    target: Target,
    documents: &[(String, String)],
) -> Vec<u8> {
    let documents: Vec<(&str, &str)> = documents.iter().map(|(a, b)| (&a[..], &b[..])).collect();
    let mut all: Vec<Vec<u8>> = Vec::new();
    for (threads, chunk_bytes) in [(1, 1 << 20), (2, 1 << 20), (16, 1 << 20), (2, 5000)] {
        let dir = tempfile::tempdir().unwrap();
        let options = CorpusOptions::default().chunk_bytes(Some(chunk_bytes));
        let path = dir.path().join(name);
        let output = Output::new(path.clone(), target);
        let collection = collection_on(threads, &documents, options);
        output.write(collection, &Bm25::default()).unwrap();
        all.push(std::fs::read(&path).unwrap());
    }
    assert!(all.iter().all(|bytes| *bytes == all[0]), "{name}");
    all.swap_remove(0)
}

/// The bytes of a file after its commit.
pub(super) fn committed(staged: Staged) -> Vec<u8> {
    let path = staged.path().to_path_buf();
    staged.commit().unwrap();
    std::fs::read(path).unwrap()
}

/// The content of `bytes`, decompressed as the name of `path` tells.
pub(super) fn unpacked(path: &Path, bytes: &[u8]) -> Vec<u8> {
    let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
    let mut text = Vec::new();
    match extension.to_str().unwrap() {
        "gz" => flate2::bufread::MultiGzDecoder::new(bytes).read_to_end(&mut text),
        "zst" => zstd::Decoder::new(bytes).unwrap().read_to_end(&mut text),
        _ => return bytes.to_vec(),
    }
    .unwrap();
    text
}
