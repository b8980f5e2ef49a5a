//! A collection kept on the device has the weights of one that was weighed on the CPU, to the last
//! bit.

use std::path::Path;
use std::sync::Arc;

use crate::HOST;
use crate::files::data;
use proptest::prelude::*;
use tokapi::Dictionary;
use tokapi::Format;
use tokapi::Formula;
use tokapi::Weights;
use tokapi::{Analyzer, Cut};
use tokapi::{Bm25, BuildOptions, Collection, Corpus, CorpusOptions};
use tokapi_kernels::Text;
use tokapi_text::generate;
use tokapi_text::generate::{Extent, Options, RANKS, Vocabulary};
use tokapi_weigh::gpu::{GpuOptions, Method, Resident};

/// Documents one after the other, a line break after each, and where each begins.
fn laid_out(documents: &[String]) -> (Vec<u8>, Vec<u64>) {
    let (mut text, mut starts) = (Vec::new(), Vec::new());
    for document in documents {
        starts.push(text.len() as u64);
        text.extend_from_slice(document.as_bytes());
        text.push(b'\n');
    }
    (text, starts)
}

fn on_cpu(documents: &[String], bm25: &Bm25) -> Weights {
    let lines = documents.iter().enumerate();
    let tsv: String = lines
        .map(|(number, text)| format!("{number}\t{text}\n"))
        .collect();
    let options = CorpusOptions::default().format(Some(Format::Tsv));
    let corpus = Corpus::from_bytes("documents", tsv, options);
    Collection::build(
        corpus,
        &BuildOptions::default().analyzer(Analyzer::from(Cut::Plain)),
    )
    .and_then(|collection| collection.weigh(bm25))
    .unwrap()
}

fn check(engine: &mut Resident, documents: &[String], chunk_bytes: u64, bm25: &Bm25) {
    let (text, starts) = laid_out(documents);
    let found = engine
        .weigh(Text::new(&text, &starts), chunk_bytes, bm25)
        .unwrap();
    let expected = on_cpu(documents, bm25);
    assert_eq!(found.statistics, expected.statistics);
    assert_eq!(found.lexicon.lengths, expected.documents.lengths);
    assert_eq!(found.len(), expected.len());
    for (term, &id) in found.lexicon.order.iter().enumerate() {
        assert_eq!(found.term(id), expected.lexicon.terms.get(term));
        let df = u64::from(found.lexicon.df[id as usize]);
        assert_eq!(df, expected.lexicon.df[term]);
    }
    let right = (0..expected.lexicon.terms.len()).flat_map(|term| {
        let range = expected.range(term);
        range.map(|posting| {
            (
                expected.posting_documents[posting],
                expected.weights[posting],
            )
        })
    });
    for ((term, document, weight), right) in found.iter().zip(right) {
        assert_eq!(
            (document, weight.to_bits()),
            (right.0, right.1.to_bits()),
            "{} {bm25:?}",
            String::from_utf8_lossy(term)
        );
    }
}

/// Engines of every method; the dictionary of `ppd` has some of the terms.
fn engines() -> Vec<Resident> {
    let dictionary = Dictionary::build(["a", "b", "ab", "abc", "ca", "x12", "x2", "never"]);
    let dictionary = Some(Arc::new(dictionary.unwrap()));
    [Method::Hash, Method::Pp, Method::Ppd, Method::Mars]
        .map(|method| {
            let options = GpuOptions::default()
                .host(HOST)
                .method(method)
                .dictionary(dictionary.clone());
            Resident::new(&options, &Analyzer::from(Cut::Plain)).unwrap()
        })
        .into()
}

#[test]
fn cranfield_on_every_method_and_formula() {
    let docs = data("cranfield/docs.jsonl.zst");
    let mut corpus = Corpus::open(&[docs], CorpusOptions::default()).unwrap();
    let mut documents = Vec::new();
    while let Some((chunk, _)) = corpus.next_chunk().unwrap() {
        for document in 0..chunk.len() {
            let text = String::from_utf8(chunk.text(document).to_vec()).unwrap();
            documents.push(text.replace(['\n', '\t'], " "));
        }
    }
    for mut engine in engines() {
        for (formula, chunk_bytes) in Formula::ALL
            .into_iter()
            .zip([1, 1000, 20_000, 1 << 30].into_iter().cycle())
        {
            let bm25 = Bm25::default().formula(formula).k1(0.9).b(0.4);
            check(&mut engine, &documents, chunk_bytes, &bm25);
        }
    }
}

/// As many documents, of the usual lengths, as make `bytes`.
fn generated(bytes: u64) -> Vec<String> {
    let options = Options::new(Extent::Bytes(bytes), Format::Tsv)
        .seed(3)
        .vocabulary(Vocabulary::built_in(RANKS).unwrap())
        .threads(2);
    let mut tsv = Vec::new();
    generate::to_stream(
        &options,
        &mut tsv,
        Path::new("memory"),
        &tokapi::Progress::new(),
    )
    .unwrap();
    let lines = std::str::from_utf8(&tsv).unwrap().lines();
    lines
        .map(|line| line.split_once('\t').unwrap().1.to_owned())
        .collect()
}

#[test]
fn a_generated_collection_in_many_chunks() {
    let documents = generated(20_000_000);
    for mut engine in engines() {
        // The second time, all memory is there already.
        for _ in 0..2 {
            check(&mut engine, &documents, 1 << 20, &Bm25::default());
        }
    }
}

#[test]
fn the_device_finds_what_the_dictionary_has() {
    let documents = generated(1_000_000);
    let terms = || documents.iter().flat_map(|text| text.split_whitespace());
    let some = terms().filter(|term| term.len() % 3 > 0);
    let dictionary = Arc::new(Dictionary::build(some.map(str::as_bytes)).unwrap());
    let options = GpuOptions::default()
        .host(HOST)
        .method(Method::Ppd)
        .dictionary(Some(Arc::clone(&dictionary)));
    let mut engine = Resident::new(&options, &Analyzer::from(Cut::Plain)).unwrap();
    let (text, starts) = laid_out(&documents);
    let (ids, _) = engine.lookup(Text::new(&text, &starts), 1).unwrap();
    let expected: Vec<u32> = terms()
        .map(|term| dictionary.lookup(term.as_bytes()).unwrap_or(u32::MAX))
        .collect();
    assert_eq!(ids, expected);
}

#[test]
fn unknown_terms_may_count_as_one() {
    let dictionary = Dictionary::build(["known", "word"]).unwrap();
    let options = GpuOptions::default()
        .host(HOST)
        .method(Method::Ppd)
        .dictionary(Some(Arc::new(dictionary)))
        .unknown_one(true);
    let mut engine = Resident::new(&options, &Analyzer::from(Cut::Plain)).unwrap();
    let (text, starts) = laid_out(&[
        "known strange odd".into(),
        "word known".into(),
        "odd".into(),
    ]);
    let found = engine
        .weigh(Text::new(&text, &starts), 8, &Bm25::default())
        .unwrap();
    let terms: Vec<(&[u8], u32)> = found
        .iter()
        .map(|(term, document, _)| (term, document))
        .collect();
    let expected: Vec<(&[u8], u32)> = vec![
        (b"", 0),
        (b"", 2),
        (b"known", 0),
        (b"known", 1),
        (b"word", 1),
    ];
    assert_eq!(terms, expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn random_collections_on_every_method(
        documents in prop::collection::vec("(([a-c]{1,3}|x[0-9]{1,3}|[A-Z]{14,20}|é{8,9})?[ ,.]{0,2}){0,40}", 0..40),
        chunk_bytes in prop_oneof![Just(1u64), 1..200u64, Just(1 << 20)],
        formula in 0..Formula::ALL.len(),
        k1 in 0.0..3.0f64,
        b in 0.0..=1.0f64,
    ) {
        let bm25 = Bm25::default().formula(Formula::ALL[formula]).k1(k1).b(b);
        for mut engine in engines() {
            check(&mut engine, &documents, chunk_bytes, &bm25);
        }
    }
}
