//! Laws of whole collections: engine, threads and chunk size never change a result.

use std::path::Path;

use crate::files::data;
use proptest::prelude::*;
use tokapi::{Analyzer, Cut};
use tokapi::{Bm25, BuildOptions, Collection, Corpus, CorpusOptions};
use tokapi::{Engine, Weights};
use tokapi::{Formula, Prune};
use tokapi::{Output, Target};
use tokapi_weigh::gpu::{GpuOptions, Method};

fn build(path: &Path, chunk_bytes: usize, options: BuildOptions) -> Collection {
    let analyzer = Analyzer::from(Cut::Python);
    let corpus_options = CorpusOptions::default().chunk_bytes(Some(chunk_bytes));
    let corpus = Corpus::open(&[path.display().to_string()], corpus_options).unwrap();
    Collection::build(corpus, &options.clone().analyzer(&analyzer)).unwrap()
}

fn cpu(threads: usize) -> BuildOptions {
    BuildOptions::default().engine(Engine::Cpu).threads(threads)
}

fn reference() -> BuildOptions {
    BuildOptions::default().engine(Engine::Reference).threads(1)
}

/// The GPU's engine on the host's build of the kernels, some chunks of it checked.
fn gpu(method: Method, threads: usize) -> BuildOptions {
    BuildOptions::default()
        .engine(Engine::Gpu(GpuOptions::default().host(true).method(method)))
        .threads(threads)
        .verify(true)
}

/// The collection's weights, one formula's parameters away from the definition.
fn by_definition(weights: &Weights, bm25: &Bm25) -> Vec<f32> {
    let statistics = weights.statistics;
    let avdl = statistics.total_length as f64 / statistics.documents as f64;
    let mut all = Vec::new();
    for term in 0..weights.lexicon.terms.len() {
        for posting in weights.range(term) {
            let tf = f64::from(weights.frequencies.get(posting));
            let dl =
                f64::from(weights.documents.lengths[weights.posting_documents[posting] as usize]);
            let l = 1.0 - bm25.b + bm25.b * dl / avdl;
            let part = match bm25.formula {
                Formula::Lucene => tf / (tf + bm25.k1 * l),
                Formula::Robertson | Formula::Smoothed | Formula::Atire => {
                    (bm25.k1 + 1.0) * tf / (bm25.k1 * l + tf)
                }
                Formula::Bm25L => (bm25.k1 + 1.0) * (tf / l + 0.5) / (bm25.k1 + (tf / l + 0.5)),
                Formula::Bm25Plus => (bm25.k1 + 1.0) * tf / (bm25.k1 * l + tf) + 1.0,
                Formula::TfIdf => tf,
                other => panic!("{other} has no definition here"),
            };
            all.push((bm25.idf(statistics.documents, weights.lexicon.df[term]) * part) as f32);
        }
    }
    all
}

/// Rows, document by document, say what the weights say, term by term.
fn check_rows(collection: &Collection, bm25: &Bm25, weights: &Weights) {
    let rows = collection.rows(bm25).unwrap();
    let mut by_row = Vec::new();
    for part in 0..collection.part_count() {
        let rows = rows(part);
        for document in 0..rows.len() {
            for entry in rows.starts[document]..rows.starts[document + 1] {
                let document = (rows.first + document) as u32;
                by_row.push((
                    rows.term_id(entry),
                    document,
                    rows.frequencies[entry],
                    rows.weights[entry].to_bits(),
                ));
            }
        }
    }
    assert!(by_row.is_sorted_by_key(|&(term, document, ..)| (document, term)));
    by_row.sort_unstable();
    let by_term = (0..weights.lexicon.terms.len()).flat_map(|term| {
        weights.range(term).map(move |posting| {
            let tf = weights.frequencies.get(posting);
            (
                term as u32,
                weights.posting_documents[posting],
                tf,
                weights.weights[posting].to_bits(),
            )
        })
    });
    assert!(by_term.eq(by_row));
}

fn write_tsv(documents: &[String], folder: &Path) -> std::path::PathBuf {
    let path = folder.join("documents.tsv");
    let lines: String = documents
        .iter()
        .enumerate()
        .map(|(n, text)| format!("d{n}\t{text}\n"))
        .collect();
    std::fs::write(&path, lines).unwrap();
    path
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn engine_threads_and_chunk_size_change_nothing(
        documents in prop::collection::vec("([a-d]{1,2} ){0,8}|([a-z]{1,18}[ .]){0,40}|(x ){0,300}|[é語² ]{0,9}", 0..60),
        chunk_bytes in 1usize..4000,
        threads in 1usize..5,
        formula in prop::sample::select(Formula::ALL.to_vec()),
        k1 in 0.0f64..3.0,
        b in 0.0f64..=1.0,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = write_tsv(&documents, folder.path());
        let bm25 = Bm25::default().formula(formula).k1(k1).b(b);
        let whole = build(&path, 1 << 24, reference()).weigh(&bm25).unwrap();
        prop_assert_eq!(whole.statistics.documents, documents.len() as u64);
        prop_assert_eq!(&whole.weights, &by_definition(&whole, &bm25));
        let chunked = build(&path, chunk_bytes, cpu(threads));
        let rows = build(&path, chunk_bytes, cpu(threads));
        let chunked = chunked.weigh(&bm25).unwrap();
        prop_assert_eq!(&chunked, &whole);
        let on_gpu = build(&path, chunk_bytes, gpu(Method::Hash, threads)).weigh(&bm25).unwrap();
        prop_assert_eq!(&on_gpu, &whole);
        let mut again = build(&path, chunk_bytes, cpu(1)).weigh(&Bm25::default()).unwrap();
        again.reweigh(&bm25).unwrap();
        prop_assert_eq!(&again, &whole);
        check_rows(&rows, &bm25, &chunked);
    }

    #[test]
    fn pruning_keeps_the_heaviest(
        documents in prop::collection::vec("([a-f]{1,2} ){0,30}", 1..30),
        chunk_bytes in 1usize..500,
        top in 0usize..12,
        min_weight in prop::option::of(-0.5f32..1.5),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = write_tsv(&documents, folder.path());
        let bm25 = Bm25::default();
        let whole = build(&path, 1 << 24, reference()).weigh(&bm25).unwrap();
        let mut pruned = build(&path, chunk_bytes, cpu(2));
        pruned.prune(&bm25, &Prune::default().top(top).min_weight(min_weight)).unwrap();
        let pruned = pruned.weigh(&bm25).unwrap();
        prop_assert_eq!(&pruned.lexicon, &whole.lexicon);
        // By the book: each document's entries by weight, ties by term; then cut and filter.
        let mut by_document = vec![Vec::new(); documents.len()];
        for term in 0..whole.lexicon.terms.len() {
            for posting in whole.range(term) {
                by_document[whole.posting_documents[posting] as usize].push((whole.weights[posting], term));
            }
        }
        let mut expected = Vec::new();
        for (document, entries) in by_document.iter_mut().enumerate() {
            entries.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            entries.truncate(top);
            let heavy = entries.iter().filter(|entry| min_weight.is_none_or(|min| entry.0 >= min));
            expected.extend(heavy.map(|&(weight, term)| (term, document as u32, weight.to_bits())));
        }
        expected.sort_unstable();
        let kept = (0..pruned.lexicon.terms.len()).flat_map(|term| {
            let pruned = &pruned;
            pruned.range(term).map(move |p| (term, pruned.posting_documents[p], pruned.weights[p].to_bits()))
        });
        prop_assert!(kept.eq(expected));
    }
}

#[test]
fn real_collections_equal_the_reference() {
    for name in ["cranfield", "scifact"] {
        let path = data(name).join("docs.jsonl.zst");
        let bm25 = Bm25::default();
        let expected = build(&path, 1 << 24, reference()).weigh(&bm25).unwrap();
        for (threads, chunk_bytes) in [(1, 1 << 24), (2, 100_000), (16, 5_000)] {
            let weights = build(&path, chunk_bytes, cpu(threads))
                .weigh(&bm25)
                .unwrap();
            assert!(
                weights == expected,
                "{name}: {threads} threads, chunks of {chunk_bytes} bytes"
            );
        }
        for method in [Method::Hash, Method::Pp] {
            let weights = build(&path, 200_000, gpu(method, 2)).weigh(&bm25).unwrap();
            assert!(weights == expected, "{name}: gpu, {method:?}");
        }
    }
}

#[test]
fn output_bytes_are_the_same_for_all_threads_and_chunks() {
    let path = data("cranfield/docs.jsonl.zst");
    let folder = tempfile::tempdir().unwrap();
    for name in [
        "w.parquet",
        "w.tsv",
        "w.tsv.gz",
        "w.tsv.zst",
        "w.npz",
        "w.jsonl",
        "w.jsonl.gz",
        "w.jsonl.zst",
    ] {
        let mut first: Option<Vec<Vec<u8>>> = None;
        for (threads, chunk_bytes) in [(1, 1 << 24), (2, 50_000), (16, 3_000)] {
            let output = folder.path().join(name);
            let target = Target::of_name(&output).unwrap();
            let output = Output::new(output, target).tables(true);
            let files = output
                .write(build(&path, chunk_bytes, cpu(threads)), &Bm25::default())
                .unwrap()
                .files;
            assert_eq!(files.len(), 3, "{name} and its two tables");
            let bytes: Vec<Vec<u8>> = files
                .iter()
                .map(|file| std::fs::read(file).unwrap())
                .collect();
            match &first {
                None => first = Some(bytes),
                Some(first) => assert!(*first == bytes, "{name}: {threads} threads"),
            }
        }
    }
}
