//! The runner `gpu` gives the bytes of the runner `threads`, whatever the job, the sort and the memory of the
//! device. On the build of the kernels for the host, or, with the feature `cuda`, on a GPU.

use std::sync::Arc;

use tokapi::OnError;
use tokapi::mapreduce::{Documents, Lines, Partitions, Portable, Report, Runner, Threads};
use tokapi::{Analyzer, AnalyzerOptions, Cut, StopWords};
use tokapi::{Bm25, Corpus, CorpusOptions, Error};
use tokapi_kernels::Algorithm;
use tokapi_mapreduce::TextJob;
use tokapi_mapreduce::jobs::{
    AverageLength, Cooccurrence, Duplicates, InvertedIndex, PageRank, SortLines, WeighOnePass,
    WordCount, open_global, write_local,
};
use tokapi_mapreduce::{GpuRunner, Items, ListJob};

use crate::BUILD;

use super::framework::Shared;
use super::input::{CHUNKS, corpora, documents, random_text};
use crate::random::Random;

fn threads() -> Threads {
    Threads {
        threads: 2,
        ..Threads::default()
    }
}

/// By every sort; without combiners, hashed partitions, and little memory on the device and here.
fn runners() -> [GpuRunner; 4] {
    let gpu = GpuRunner::new(BUILD, threads());
    [
        gpu.clone(),
        GpuRunner {
            sort: Algorithm::Merge,
            threads: Threads {
                combine: false,
                ..threads()
            },
            ..gpu.clone()
        },
        GpuRunner {
            sort: Algorithm::Bitonic,
            threads: Threads {
                partitions: Partitions::Hashed(5),
                ..threads()
            },
            ..gpu.clone()
        },
        GpuRunner {
            memory_bytes: Some(2 << 20),
            threads: Threads {
                memory_bytes: 1 << 16,
                ..threads()
            },
            ..gpu
        },
    ]
}

fn text<J: TextJob>(runner: &impl Runner, mut job: J, input: J::Input) -> (Vec<u8>, Report) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    let (staged, report) = runner.text(&mut job, input, &path).unwrap();
    staged.commit().unwrap();
    (std::fs::read(path).unwrap(), report)
}

/// Both write the same, having emitted as many pairs.
fn compare<J: TextJob>(job: impl Fn() -> J, input: impl Fn() -> J::Input) {
    for gpu in runners() {
        // Hashed partitions are in another order.
        let (expected, on_threads) = text(&gpu.threads, job(), input());
        let (found, report) = text(&gpu, job(), input());
        assert!(found == expected, "{} {gpu:?}", J::NAME);
        assert!(!found.is_empty());
        assert_eq!(report.keys, on_threads.keys);
        assert_eq!(report.splits, on_threads.splits);
        assert_eq!(report.skipped.count, on_threads.skipped.count);
        assert!(report.emitted_pairs >= report.shuffled_pairs);
    }
}

/// Every corpus in chunks of every size, but no more than `most_bytes` of it.
fn corpora_of(most_bytes: u64) -> Vec<impl Fn() -> Corpus> {
    let mut all = Vec::new();
    for chunk_bytes in CHUNKS {
        for which in 0..2 {
            all.push(move || {
                let mut corpus = corpora(chunk_bytes).into_iter().nth(which).unwrap();
                corpus.limit(most_bytes);
                corpus
            });
        }
    }
    all
}

#[test]
fn jobs_over_documents() {
    for corpus in corpora_of(100_000) {
        let input = || documents(corpus());
        compare(|| WordCount, input);
        compare(|| AverageLength, input);
        compare(|| WeighOnePass::new(Bm25::default(), OnError::Stop), input);
        compare(|| InvertedIndex::new(OnError::Stop), input);
    }
    for corpus in corpora_of(5_000) {
        compare(|| Cooccurrence, || documents(corpus()));
    }
}

#[test]
fn terms_are_those_of_the_analyzer() {
    let text = "1\tThe QUICK brown foxes' Äpfel naïve\n2\t\n3\tjumps jumped Jumping ßtraße the the\n4\ta\u{308}pfel ÄPFEL ≠\u{301} हिन्दी\n";
    let stemmed = AnalyzerOptions::default()
        .cut(Cut::Unicode)
        .stop_words(StopWords::English)
        .stemmer("english".to_owned());
    let by = |cut| AnalyzerOptions::default().cut(cut);
    for options in [
        stemmed,
        by(Cut::Unicode),
        by(Cut::Python),
        by(Cut::Whitespace),
    ] {
        let input = || {
            let corpus = Corpus::from_bytes("a.tsv", text, CorpusOptions::default());
            Documents::new(corpus, Arc::new(Analyzer::new(&options).unwrap()), 2)
        };
        compare(|| WordCount, input);
        compare(|| WeighOnePass::new(Bm25::default(), OnError::Stop), input);
    }
}

#[test]
fn both_passes() {
    for corpus in corpora_of(100_000) {
        for gpu in runners() {
            // One order of lines for both.
            let gpu = GpuRunner {
                threads: Threads {
                    partitions: Partitions::Ranges(3),
                    ..gpu.threads.clone()
                },
                ..gpu
            };
            let folder = tempfile::tempdir().unwrap();
            let [by_threads, by_gpu] = ["threads", "gpu"].map(|name| folder.path().join(name));
            write_local(
                &gpu.threads,
                documents(corpus()),
                OnError::Stop,
                &by_threads,
            )
            .unwrap();
            write_local(&gpu, documents(corpus()), OnError::Stop, &by_gpu).unwrap();
            for name in ["lists.tsv", "terms.tsv", "documents.tsv"] {
                let read = |folder: &std::path::Path| std::fs::read(folder.join(name)).unwrap();
                assert!(read(&by_threads) == read(&by_gpu), "{name} {gpu:?}");
            }
            let global = || open_global(&threads(), &by_gpu, Bm25::default()).unwrap();
            let expected = text(&gpu.threads, global().0, global().1).0;
            assert!(text(&gpu, global().0, global().1).0 == expected);
        }
    }
}

#[test]
fn what_is_no_posting_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let local = folder.path().join("local");
    let corpus = Corpus::from_bytes("a.tsv", "1\tto be\n2\tor\n", CorpusOptions::default());
    write_local(&threads(), documents(corpus), OnError::Stop, &local).unwrap();
    for (line, is_named) in [
        ("be\tone\t1", true),
        ("be\t0", true),
        ("not\t0\t1", false),
        ("be\t+0\t+1", true),
    ] {
        let gpu = GpuRunner::new(BUILD, threads());
        let (mut job, _) = open_global(&threads(), &local, Bm25::default()).unwrap();
        let found = gpu.text(
            &mut job,
            Lines::of_text(line, 1),
            &folder.path().join("out"),
        );
        match found {
            // As Rust reads numbers.
            Ok(_) => assert_eq!(line, "be\t+0\t+1"),
            Err(Error::Map { input, .. }) => assert_eq!(input.contains(line), is_named, "{input}"),
            Err(other) => panic!("{other}"),
        }
    }
}

#[test]
fn lines_are_sorted() {
    let mut random = Random(11);
    let mut line = || {
        let length = [0, 1, 7, 8, 9, 30, 600][random.below(7)];
        let text: String = (0..length)
            .map(|_| ['a', 'b', 'é'][random.below(3)])
            .collect();
        text + "\n"
    };
    let all: String = (0..2000).map(|_| line()).collect();
    compare(|| SortLines, || Lines::of_text(&all, 2));
}

#[test]
fn duplicates() {
    let text = random_text(5, 400);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for number in 0..60 {
        // The same under another id, and nearly the same.
        let (_, of) = lines[number * 3].split_once('\t').unwrap();
        let (same, near) = (of.to_owned(), format!("{of} more"));
        lines.push(format!("s{number}\t{same}"));
        lines.push(format!("n{number}\t{near}"));
    }
    lines.push("short\ttwo words".into());
    lines.push("shorter\tone".into());
    lines.push("again\tone".into());
    let text = lines.join("\n");
    let input = || {
        let corpus = Corpus::from_bytes("a.tsv", &*text, CorpusOptions::default());
        Ok(documents(corpus))
    };
    let job = Duplicates::default();
    let (expected, _) = job.run(&threads(), input).unwrap();
    assert!(
        expected.iter().any(|pair| pair.identical) && expected.iter().any(|pair| !pair.identical)
    );
    for gpu in runners() {
        assert!(job.run(&gpu, input).unwrap().0 == expected, "{gpu:?}");
    }
}

#[test]
fn ranks() {
    let mut random = Random(3);
    let mut edges = String::from("# a graph\n\n");
    for _ in 0..3000 {
        edges += &format!("n{}\u{a0} n{}\n", random.below(400), random.below(500));
    }
    let lines = || Lines::of_text(&edges, 2);
    let (expected, _) = PageRank::default().run(&threads(), lines()).unwrap();
    for gpu in runners() {
        let (found, _) = PageRank::default().run(&gpu, lines()).unwrap();
        assert!(found == expected, "{gpu:?}");
    }
    edges += "only-one\n";
    let lines = || Lines::of_text(&edges, 2);
    let mut gpu = GpuRunner::new(BUILD, threads());
    match PageRank::default().run(&gpu, lines()) {
        Err(Error::Map { input, .. }) => assert!(input.contains("only-one"), "{input}"),
        other => panic!("{other:?}"),
    }
    gpu.threads.skip_bad = true;
    let (found, report) = PageRank::default().run(&gpu, lines()).unwrap();
    assert!(found == expected);
    assert_eq!(report.skipped.count, 1);
}

#[test]
fn records_with_too_many_pairs_are_mapped_here_in_their_turn() {
    let long = "word ".repeat(10_000);
    let short = "to be word ";
    let text: String = (0..9)
        .map(|id| format!("{id}\t{}\n", if id % 4 == 2 { &long } else { short }))
        .collect();
    let input = || {
        documents(Corpus::from_bytes(
            "a.tsv",
            &*text,
            CorpusOptions::default(),
        ))
    };
    let gpu = GpuRunner {
        memory_bytes: Some(1 << 20),
        ..GpuRunner::new(BUILD, threads())
    };
    let weigh = || WeighOnePass::new(Bm25::default(), OnError::Stop);
    let (found, report) = self::text(&gpu, weigh(), input());
    assert!(found == self::text(&threads(), weigh(), input()).0);
    assert_eq!(report.emitted_pairs, 20_000 + 7 * 3);
}

#[test]
fn a_lost_device_is_told() {
    let input = documents(corpora(CHUNKS[0]).into_iter().next().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    let gpu = GpuRunner {
        fail_after: Some(0),
        ..GpuRunner::new(BUILD, threads())
    };
    let told = gpu.text(&mut WordCount, input, &path).err().unwrap();
    assert!(matches!(told, Error::Device(_)), "{told}");
    assert!(!path.exists());
}

/// It has no functions for a device.
impl Portable for Shared {
    const NAME: &'static str = "shared";
}

impl ListJob for Shared {
    type Owned = (u64, Vec<String>);

    fn own(output: (u64, Vec<String>)) -> (u64, Vec<String>) {
        output
    }
}

#[test]
fn a_job_without_functions_is_refused() {
    let gpu = GpuRunner::new(BUILD, threads());
    let told = gpu
        .list(&mut Shared, Items::new(vec![(1, "one".into())].into(), 1))
        .unwrap_err();
    assert!(told.to_string().contains("shared"), "{told}");
}
