//! The battery that every engine passes: the same integers as counting terms one by one.

use std::collections::BTreeMap;

use crate::HOST;
use proptest::prelude::*;
use std::sync::{Arc, LazyLock};
use tokapi::Dictionary;
use tokapi::{Analyzer, AnalyzerOptions, Cut, StopWords};
use tokapi_text::corpus::Chunk;
use tokapi_weigh::gpu::{GpuOptions, Lanes, Method, PairSort};
use tokapi_weigh::invert::{CpuInverter, GpuInverter, Invert, Inverted, ReferenceInverter};

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

/// Some of the terms of the battery, and others.
static DICTIONARY: LazyLock<Arc<Dictionary>> = LazyLock::new(|| {
    let mut terms: Vec<String> = (0..1500).map(|n| format!("t{}", 2 * n)).collect();
    terms.extend((0..300).map(|n| format!("v{n}")));
    terms.extend([1, 15, 64, 1000].map(|length| "q".repeat(length)));
    terms.extend(["a", "ab", "the", "b", "same", "école", "東京", "other"].map(String::from));
    Arc::new(Dictionary::build(terms).unwrap())
});

fn gpu<'a>(analyzer: &'a Analyzer, change: impl FnOnce(&mut GpuOptions)) -> Box<dyn Invert + 'a> {
    let mut options = GpuOptions::default().host(HOST);
    change(&mut options);
    let lanes = Lanes::open(&options, analyzer, 1, 1 << 20).unwrap();
    Box::new(GpuInverter::new(analyzer, Arc::new(lanes)))
}

fn mars(analyzer: &Analyzer, sort: PairSort) -> Box<dyn Invert + '_> {
    gpu(analyzer, |options| {
        options.method = Method::Mars;
        options.sort = sort;
    })
}

/// Every engine, made for `analyzer`, also with hashes that collide.
fn engines(analyzer: &Analyzer) -> Vec<(&'static str, Box<dyn Invert + '_>)> {
    let with_dictionary = |options: &mut GpuOptions| {
        options.method = Method::Ppd;
        options.dictionary = Some(Arc::clone(&DICTIONARY));
    };
    vec![
        ("gpu, hash", gpu(analyzer, |_| ())),
        (
            "gpu, two hashes",
            gpu(analyzer, |options| options.hash_mask = 1 << 63),
        ),
        (
            "gpu, pp",
            gpu(analyzer, |options| options.method = Method::Pp),
        ),
        ("gpu, mars, radix sort", mars(analyzer, PairSort::Radix)),
        ("gpu, mars, merge sort", mars(analyzer, PairSort::Merge)),
        ("gpu, mars, bitonic sort", mars(analyzer, PairSort::Bitonic)),
        ("gpu, ppd", gpu(analyzer, with_dictionary)),
        (
            "gpu, ppd, no dictionary to speak of",
            gpu(analyzer, |options| {
                options.method = Method::Ppd;
                options.dictionary = Some(Arc::new(Dictionary::build(["zz"; 0]).unwrap()));
            }),
        ),
        ("reference", Box::new(ReferenceInverter::new(analyzer))),
        ("cpu", Box::new(CpuInverter::new(analyzer))),
        (
            "cpu, two hashes",
            Box::new(CpuInverter::with_hash_mask(analyzer, 1 << 63)),
        ),
        (
            "cpu, one hash",
            Box::new(CpuInverter::with_hash_mask(analyzer, 0)),
        ),
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
            "marks and what is not seen".into(),
            vec![
                "e\u{301}cole हिन्दी ≠b =\u{338}b ❤\u{fe0f} \u{301} soft\u{ad}ly x‌y λόγος"
                    .repeat(40),
                "\u{fe0f}".into(),
                "E\u{301}COLE softly ΛΌΓΟΣ".into(),
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
    // Around the 256 threads of a block, and the 256 occurrences of a tile.
    for count in [255, 256, 257, 512, 513] {
        cases.push((
            format!("{count} terms"),
            vec![words(count, |n| format!("b{}", n % 100)), "b1".into()],
        ));
        cases.push((
            format!("{count} documents"),
            (0..count).map(|n| format!("b{} b1", n % 100)).collect(),
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
    let cut = |cut| AnalyzerOptions::default().cut(cut);
    let mut options = Cut::ALL.map(cut).to_vec();
    options.push(
        AnalyzerOptions::default()
            .cut(Cut::Unicode)
            .stop_words(StopWords::English)
            .stemmer("english".to_owned())
            .min_length(2)
            .max_length(20),
    );
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

/// What a checker of races can go through in a minute.
#[test]
fn tiny_documents_on_gpu_engines() {
    let documents = ["a b a", "", "b c a longer_than_sixteen_bytes1 é"].map(String::from);
    let analyzer = Analyzer::default();
    for (name, mut engine) in engines(&analyzer) {
        check(&mut *engine, &analyzer, &documents, name);
    }
}

/// What a checker of memory can go through in a minute.
#[test]
fn small_battery_on_gpu_engines() {
    for analyzer in &analyzers()[..2] {
        for (name, mut engine) in engines(analyzer) {
            for (case, documents) in battery() {
                let bytes: usize = documents.iter().map(String::len).sum();
                if name.starts_with("gpu") && bytes < 2500 && documents.len() < 100 {
                    let case = format!("{name}: {case}");
                    check(&mut *engine, analyzer, &documents, &case);
                }
            }
        }
    }
}

/// Sizes at which one thread, one block or one table is not enough.
#[test]
fn large_cases_equal_the_cpu() {
    let analyzer = Analyzer::default();
    let million = 1_000_000;
    let cases: Vec<(&str, Vec<String>)> = vec![
        (
            "a million documents of one term",
            (0..million).map(|n| format!("w{}", n % 1000)).collect(),
        ),
        (
            "a million terms, all equal",
            vec![words(million, |_| "same".into()), "same".into()],
        ),
        (
            "a million terms, all distinct",
            vec![words(million, |n| format!("d{n}"))],
        ),
        (
            "a million terms in one document",
            vec![
                "first".into(),
                words(million, |n| format!("v{}", n * n % 99_991)),
                "last".into(),
            ],
        ),
        (
            "many long terms",
            vec![words(20_000, |n| format!("{}{n}", "long".repeat(8)))],
        ),
    ];
    let mut cpu = CpuInverter::new(&analyzer);
    for (name, mut engine) in engines(&analyzer) {
        if !name.starts_with("gpu") || name.contains("two hashes") {
            continue;
        }
        for (case, documents) in &cases {
            let texts = || documents.iter().map(|text| ("id", text.as_str()));
            let found = engine.invert(&mut Chunk::from_documents(texts())).unwrap();
            let expected = cpu.invert(&mut Chunk::from_documents(texts())).unwrap();
            assert!(found == expected, "{name}: {case}");
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
