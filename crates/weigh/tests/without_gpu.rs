//! A program without an engine for GPUs can ask for one: it gets an error, or the CPU.
#![cfg(not(feature = "cuda"))]

use tokapi_storage::error::Error;
use tokapi_text::corpus::{Corpus, CorpusOptions, Document};
use tokapi_weigh::collection::{BuildOptions, Collection, Engine};
use tokapi_weigh::gpu::GpuOptions;

fn build(or_cpu: bool) -> Result<Collection, Error> {
    let documents = [Document::new("1", "to be or not to be")];
    let corpus = Corpus::from_documents(documents, CorpusOptions::default());
    let engine = Engine::Gpu(GpuOptions::default());
    let options = BuildOptions::default().engine(engine).or_cpu(or_cpu);
    Collection::build(corpus, &options)
}

#[test]
fn the_error_names_the_way_out() {
    match build(false) {
        Err(Error::NoDevice(why)) => assert!(why.contains("use the CPU, or build"), "{why}"),
        other => panic!("{:?}", other.err()),
    }
}

#[test]
fn the_cpu_takes_over() {
    let collection = build(true).unwrap();
    assert!(collection.fallback().unwrap().contains("GPU"));
    assert_eq!(collection.postings_count(), 4);
}
