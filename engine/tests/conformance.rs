//! The battery that every engine passes: the same integers as counting terms one by one.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tokapi::analyze::{Analyzer, AnalyzerOptions, Cut, StopWords};
use tokapi::corpus::Chunk;
use tokapi::invert::{Cpu, Invert, Inverted, Reference};

/// What inverting `documents` must give, counted one term at a time.
type Counts = BTreeMap<String, BTreeMap<u32, u32>>;

fn counts(analyzer: &Analyzer, documents: &[String]) -> (Counts, Vec<u32>) {
    let mut counts = Counts::new();
    let mut lengths = Vec::new();
    for (document, text) in (0..).zip(documents) {
        let terms: Vec<String> = analyzer.terms(text).collect();
        lengths.push(terms.len() as u32);
        for term in terms {
            *counts.entry(term).or_default().entry(document).or_default() += 1;
        }
    }
    (counts, lengths)
}

/// The same, read from an engine's result; checks the invariants of postings on the way.
fn counts_of(inverted: &Inverted) -> Counts {
    let postings = &inverted.postings;
    let terms: Vec<&[u8]> = postings.terms.iter().collect();
    assert!(terms.is_sorted_by(|a, b| a < b), "terms ascend");
    assert_eq!(postings.offsets.first(), Some(&0));
    assert_eq!(postings.offsets.last(), Some(&(postings.len() as u64)));
    let mut counts = Counts::new();
    for (term, name) in terms.iter().enumerate() {
        let range = postings.range(term);
        assert!(!range.is_empty(), "a term has a posting");
        assert!(
            postings.documents[range.clone()].is_sorted_by(|a, b| a < b),
            "documents ascend"
        );
        let of_term = range.map(|posting| {
            (
                postings.documents[posting],
                postings.frequencies.get(posting),
            )
        });
        counts.insert(String::from_utf8(name.to_vec()).unwrap(), of_term.collect());
    }
    counts
}

fn check(engine: &mut dyn Invert, analyzer: &Analyzer, documents: &[String], case: &str) {
    let mut chunk = Chunk::from_documents(documents.iter().map(|text| ("id", text.as_str())));
    let inverted = engine.invert(&mut chunk).unwrap();
    let (expected, lengths) = counts(analyzer, documents);
    assert_eq!(inverted.lengths, lengths, "{case}");
    assert!(counts_of(&inverted) == expected, "{case}: postings differ");
}

/// Every engine, made for `analyzer`, also with hashes that collide.
fn engines(analyzer: &Analyzer) -> Vec<(&'static str, Box<dyn Invert + '_>)> {
    vec![
        ("reference", Box::new(Reference::new(analyzer))),
        ("cpu", Box::new(Cpu::new(analyzer))),
        (
            "cpu, two hashes",
            Box::new(Cpu::with_hash_mask(analyzer, 1 << 63)),
        ),
        ("cpu, one hash", Box::new(Cpu::with_hash_mask(analyzer, 0))),
    ]
}

fn words(count: usize, word: impl Fn(usize) -> String) -> String {
    (0..count).map(word).collect::<Vec<_>>().join(" ")
}

/// Named lists of documents: the sizes and shapes at which engines go wrong.
fn battery() -> Vec<(String, Vec<String>)> {
    let mut cases: Vec<(String, Vec<String>)> = vec![
        ("no document".into(), vec![]),
        ("an empty document".into(), vec![String::new()]),
        (
            "empty documents between".into(),
            ["", "a b", "", "", "b", ""].map(String::from).to_vec(),
        ),
        (
            "only separators".into(),
            vec![" .,;\n\t".into(), "--".into()],
        ),
        ("one term".into(), vec!["term".into()]),
        (
            "all terms equal".into(),
            vec![words(5000, |_| "same".into()); 3],
        ),
        (
            "all terms distinct".into(),
            vec![words(3000, |n| format!("t{n}"))],
        ),
        (
            "many documents of one term".into(),
            (0..20_000).map(|n| format!("w{}", n % 7)).collect(),
        ),
        ("one document with nearly all terms".into(), {
            let mut documents = vec![String::from("x y"); 50];
            documents[25] = words(50_000, |n| format!("v{}", n % 1000));
            documents
        }),
        (
            "frequencies around a byte".into(),
            [254, 255, 256, 257, 70_000]
                .map(|n| words(n, |_| "f".into()))
                .to_vec(),
        ),
        (
            "beyond ASCII".into(),
            vec![
                "naïve ÉCOLE straße 東京 x²\u{301} ΑΣ İ 🙂 é".repeat(40),
                "école 東京".into(),
            ],
        ),
        (
            "prefixes of each other".into(),
            vec![
                words(40, |n| "a".repeat(n + 1)),
                words(40, |n| "ab".repeat(n + 1)),
            ],
        ),
    ];
    // Around the 15 bytes of an inline key, the 64 of a block, the 16 KiB of a segment.
    for length in [
        1, 14, 15, 16, 17, 63, 64, 65, 1000, 16_383, 16_384, 16_385, 65_536,
    ] {
        cases.push((
            format!("terms of {length} bytes"),
            vec![
                format!("{0} {0}x {0}", "q".repeat(length)),
                format!("y{}", "q".repeat(length)),
                "q".repeat(length),
            ],
        ));
    }
    // The text ends, and documents meet, at every place around the ends of blocks and segments.
    for size in [
        62, 63, 64, 65, 127, 128, 129, 16_382, 16_383, 16_384, 16_385, 32_768,
    ] {
        let text = "ab ".repeat(size).chars().take(size).collect::<String>();
        cases.push((format!("a text of {size} bytes"), vec![text.clone()]));
        cases.push((
            format!("documents that meet at {size} bytes"),
            vec![text, "ab cd".into(), "ab".into()],
        ));
    }
    cases
}

fn analyzers() -> Vec<Analyzer> {
    let cut = |cut| AnalyzerOptions {
        cut,
        ..Default::default()
    };
    let mut options = [Cut::Plain, Cut::Unicode, Cut::Whitespace]
        .map(cut)
        .to_vec();
    options.push(AnalyzerOptions {
        cut: Cut::Unicode,
        stop_words: StopWords::English,
        stemmer: Some("english".into()),
        min_length: Some(2),
        max_length: Some(20),
    });
    options
        .iter()
        .map(|options| Analyzer::new(options).unwrap())
        .collect()
}

#[test]
fn battery_on_every_engine() {
    for analyzer in &analyzers() {
        for (name, mut engine) in engines(analyzer) {
            for (case, documents) in battery() {
                // One engine takes all cases in turn, so what one leaves behind harms the next.
                if name == "cpu, one hash"
                    && documents.iter().map(String::len).sum::<usize>() > 20_000
                {
                    continue;
                }
                check(
                    &mut *engine,
                    analyzer,
                    &documents,
                    &format!("{name}: {case}"),
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn random_documents_on_every_engine(
        documents in prop::collection::vec("(([a-c]{1,3}|[A-Za-z]{1,20}|[é語²\u{301}_]{1,3}|the|running)?[ ,.\n]{0,2}){0,60}", 0..12),
    ) {
        for analyzer in &analyzers() {
            for (name, mut engine) in engines(analyzer) {
                check(&mut *engine, analyzer, &documents, name);
            }
        }
    }
}
