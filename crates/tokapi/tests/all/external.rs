//! Laws of collections on scratch: where a collection is kept never changes a byte of the output.

use std::collections::BTreeMap;
use std::path::Path;

use crate::files::data;
use proptest::prelude::*;
use tokapi::OnError;
use tokapi::Prune;
use tokapi::ScratchOptions;
use tokapi::{Bm25, BuildOptions, Corpus, CorpusOptions, Memory};
use tokapi::{Engine, Storage, Stored};
use tokapi::{Order, Output};
use tokapi_weigh::gpu::GpuOptions;

/// How a collection is read and kept.
#[derive(Debug, Clone)]
struct Way {
    threads: usize,
    chunk_bytes: usize,
    gpu: bool,
    overlap: bool,
    held_bytes: u64,
    merged_runs: usize,
    disks: usize,
}

const IN_MEMORY: Way = Way {
    threads: 1,
    chunk_bytes: 1 << 20,
    gpu: false,
    overlap: true,
    held_bytes: u64::MAX,
    merged_runs: 100,
    disks: 0,
};

fn build(input: &Path, folder: &Path, way: &Way) -> Stored {
    let corpus = CorpusOptions::default()
        .chunk_bytes(Some(way.chunk_bytes))
        .on_error(OnError::Skip);
    let corpus = Corpus::open(&[input], corpus).unwrap();
    let options = BuildOptions::default()
        .engine(match way.gpu {
            true => Engine::Gpu(GpuOptions::default().host(true)),
            false => Engine::Cpu,
        })
        .threads(way.threads)
        .no_overlap(!way.overlap);
    let folders: Vec<_> = (0..way.disks)
        .map(|disk| folder.join(format!("disk{disk}")))
        .collect();
    for folder in &folders {
        std::fs::create_dir_all(folder).unwrap();
    }
    let storage = Storage::new(
        Memory::new(1 << 30)
            .unwrap()
            .holding(way.held_bytes)
            .merging(way.merged_runs),
    )
    .scratch(ScratchOptions::default().folders(folders))
    .output(folder.join("w"));
    Stored::build(corpus, &options, &storage).unwrap()
}

/// Everything that is written, by name, the tables beside it too.
fn written(
    input: &Path,
    way: &Way,
    name: &str,
    order: Order,
    prune: &Prune,
) -> BTreeMap<String, Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let bm25 = Bm25::default();
    let mut stored = build(input, folder.path(), way);
    let empty = stored.statistics().documents == 0;
    let spilled = stored.is_on_scratch();
    assert!(spilled == (way.held_bytes == 0) || empty);
    stored.prune(&bm25, prune).unwrap();
    let path = folder.path().join(name);
    let output = Output::of_name(path).unwrap().tables(true).order(order);
    let counts = [
        stored.postings_count(),
        stored.bytes(),
        stored.skipped().count,
    ];
    let written = output.write(stored, &bm25).unwrap();
    let mut files: BTreeMap<String, Vec<u8>> = written
        .files
        .iter()
        .map(|file| {
            let name = file.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read(file).unwrap())
        })
        .collect();
    files.insert(
        "counts".into(),
        format!("{counts:?} {}", written.terms).into(),
    );
    // Nothing is left on any disk.
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let entry = entry.unwrap().path();
        let empty = entry.is_dir() && std::fs::read_dir(&entry).unwrap().count() == 0;
        assert!(empty || written.files.contains(&entry), "{entry:?}");
    }
    files
}

fn ways() -> impl Strategy<Value = Way> {
    (
        1..4usize,
        20..3000usize,
        any::<bool>(),
        any::<bool>(),
        2..6usize,
        0..3usize,
    )
        .prop_map(
            |(threads, chunk_bytes, gpu, overlap, merged_runs, disks)| Way {
                threads,
                chunk_bytes,
                gpu,
                overlap,
                held_bytes: 0,
                merged_runs,
                disks,
            },
        )
}

/// Documents of words from a small vocabulary; some ids occur twice, some documents have none.
fn documents() -> impl Strategy<Value = String> {
    let word =
        (0..60u32).prop_map(|n| "abcdefghij"[..1 + (n % 7) as usize].repeat(1 + (n / 20) as usize));
    let text = prop::collection::vec(word, 0..30).prop_map(|words| words.join(" "));
    let document = (0..200u32, text);
    prop::collection::vec(document, 0..80).prop_map(|documents| {
        let lines = documents.iter().map(|(id, text)| match id % 9 {
            0 => format!("{{\"id\": \"\", \"text\": \"{text}\"}}\n"),
            _ => format!("{{\"id\": \"d{id}\", \"text\": \"{text}\"}}\n"),
        });
        lines.collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn bytes_are_those_of_memory(
        text in documents(),
        way in ways(),
        name in prop::sample::select(vec!["w.parquet", "w.tsv", "w.tsv.gz", "w.npz", "w.jsonl.zst"]),
        by_document in any::<bool>(),
        top in prop::option::of(0..6usize),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let input = folder.path().join("docs.jsonl");
        std::fs::write(&input, text).unwrap();
        let order = if by_document { Order::Document } else { Order::Term };
        let prune = Prune::default().top(top);
        let expected = written(&input, &IN_MEMORY, name, order, &prune);
        let found = written(&input, &way, name, order, &prune);
        prop_assert!(found == expected, "{:?}", found.keys());
    }
}

#[test]
fn a_term_of_many_blocks_and_many_row_groups() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("docs.terms");
    let mut text = String::new();
    for document in 0..1_200_000 {
        text += match document % 5 {
            0 => "a\nthe\n\n",
            1 => "the\nthe\nzoo\n\n",
            _ => "the\n\n",
        };
    }
    std::fs::write(&input, text).unwrap();
    let all = Prune::default();
    for order in [Order::Term, Order::Document] {
        let expected = written(&input, &IN_MEMORY, "w.parquet", order, &all);
        for (chunk_bytes, merged_runs) in [(3 << 20, 100), (700_000, 3)] {
            let way = Way {
                threads: 2,
                chunk_bytes,
                held_bytes: 0,
                merged_runs,
                ..IN_MEMORY
            };
            let found = written(&input, &way, "w.parquet", order, &all);
            assert!(found == expected, "{way:?}");
        }
    }
}

#[test]
fn statistics_and_first_documents_are_those_of_memory() {
    let input = data("cranfield/docs.jsonl.zst");
    let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let memory = build(&input, a.path(), &IN_MEMORY);
    let way = Way {
        chunk_bytes: 50_000,
        held_bytes: 0,
        merged_runs: 3,
        ..IN_MEMORY
    };
    let scratch = build(&input, b.path(), &way);
    assert_eq!(memory.statistics(), scratch.statistics());
    assert_eq!(memory.bytes(), scratch.bytes());
    let bm25 = Bm25::default();
    assert_eq!(
        memory.first_documents(&bm25, 30).unwrap(),
        scratch.first_documents(&bm25, 30).unwrap()
    );
    assert_eq!(
        memory.count_terms().unwrap(),
        scratch.count_terms().unwrap()
    );
    assert_eq!(std::fs::read_dir(b.path()).unwrap().count(), 0);
}
