//! What happens around the GPU engine: too little memory, a device that is lost or wrong.

use std::sync::Arc;

use tokapi::Engine;
use tokapi::Format;
use tokapi::{Analyzer, AnalyzerOptions, Cut, StopWords};
use tokapi::{Bm25, BuildOptions, Collection, Corpus, CorpusOptions, Error};
use tokapi_kernels::Build;
use tokapi_text::corpus::Chunk;
use tokapi_weigh::gpu::{GpuOptions, Lanes, Method};
use tokapi_weigh::invert::{CpuInverter, GpuInverter, Invert, Inverted, Verified};

fn analyzers() -> [Analyzer; 2] {
    let changing = AnalyzerOptions::default()
        .cut(Cut::Unicode)
        .stop_words(StopWords::English)
        .stemmer("english".to_owned());
    [Analyzer::default(), Analyzer::new(&changing).unwrap()]
}

fn documents() -> Vec<String> {
    let words =
        |n: usize| (0..n).map(move |word| format!("The running word{} Ünï ", word * n % 97));
    (0..200).map(|n| words(n % 40).collect()).collect()
}

#[test]
fn a_chunk_that_does_not_fit_is_cut() {
    let documents = documents();
    let chunk = || Chunk::from_documents(documents.iter().map(|text| ("id", text.as_str())));
    // Enough for some documents at a time, then for hardly one.
    for room in [20_000, 1_000, 0] {
        for analyzer in &analyzers() {
            let options = GpuOptions::default()
                .host(true)
                .memory_bytes(Some(Build::Host.peak_bytes(room, Method::Hash.into())));
            let lanes = Lanes::open(&options, analyzer, 4, 1 << 20).unwrap();
            let found = GpuInverter::new(analyzer, Arc::new(lanes)).invert(&mut chunk());
            let expected = CpuInverter::new(analyzer).invert(&mut chunk()).unwrap();
            assert!(found.unwrap() == expected, "{room}");
        }
    }
}

fn corpus() -> Corpus {
    let tsv: String = (0..3000)
        .map(|n| format!("{n}\tword{} common word{}\n", n % 7, n % 11))
        .collect();
    let options = CorpusOptions::default()
        .format(Some(Format::Tsv))
        .chunk_bytes(Some(4000));
    Corpus::from_bytes("documents", tsv, options)
}

fn lost_after(chunks: u64) -> Engine {
    Engine::Gpu(GpuOptions::default().host(true).fail_after(Some(chunks)))
}

#[test]
fn the_cpu_takes_over_where_the_device_is_lost() {
    let analyzer = Analyzer::default();
    let weigh = |engine, or_cpu| {
        let options = BuildOptions::default()
            .engine(engine)
            .threads(2)
            .or_cpu(or_cpu);
        Collection::build(corpus(), &options.clone().analyzer(&analyzer))
    };
    let expected = weigh(Engine::Cpu, false).unwrap();
    assert_eq!(expected.fallback(), None);
    let expected = expected.weigh(&Bm25::default()).unwrap();

    let found = weigh(lost_after(3), true).unwrap();
    let why = found.fallback().unwrap().to_owned();
    assert!(why.contains("the device was lost"), "{why}");
    assert!(found.weigh(&Bm25::default()).unwrap() == expected);

    let error = weigh(lost_after(3), false).err().unwrap();
    assert!(
        matches!(&error, Error::Device(why) if why.contains("lost")),
        "{error}"
    );
}

/// An engine that loses a posting.
struct Wrong<'a>(CpuInverter<'a>);

impl Invert for Wrong<'_> {
    fn invert(&mut self, chunk: &mut Chunk) -> tokapi::Result<Inverted> {
        let mut inverted = self.0.invert(chunk)?;
        inverted.postings.documents[0] += 1;
        Ok(inverted)
    }
}

#[test]
fn verification_finds_a_wrong_posting() {
    let analyzer = Analyzer::default();
    let chunk = || Chunk::from_documents([("1", "some terms"), ("2", "other")]);
    let right = Box::new(CpuInverter::new(&analyzer));
    let found = Verified::new(right, &analyzer).invert(&mut chunk());
    assert!(found.is_ok());
    let wrong = Box::new(Wrong(CpuInverter::new(&analyzer)));
    let error = Verified::new(wrong, &analyzer)
        .invert(&mut chunk())
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("the postings of `other` differ"), "{error}");
}

#[test]
fn ppd_needs_a_dictionary() {
    let options = GpuOptions::default().host(true).method(Method::Ppd);
    let error = options.check().unwrap_err().to_string();
    assert!(error.contains("tokapi dictionary build"), "{error}");
}
