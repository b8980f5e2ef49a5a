//! Jobs over text.

use std::collections::{BTreeMap, BTreeSet};

use tokapi::OnError;
use tokapi::mapreduce::{Lines, Threads};
use tokapi::{Corpus, CorpusOptions};
use tokapi_mapreduce::jobs::{
    AverageLength, Cooccurrence, Duplicates, InvertedIndex, SortLines, WordCount,
};

use super::input::{CHUNKS, corpora, documents, plain, random_text, runners};
use crate::random::Random;

/// Runs `check` with every corpus, a function that opens it again, every chunk size and runner.
fn everywhere(check: impl Fn(&dyn Fn() -> Corpus, &Threads)) {
    for chunk_bytes in CHUNKS {
        for which in 0..2 {
            let corpus = || {
                let mut corpus = corpora(chunk_bytes).into_iter().nth(which).unwrap();
                corpus.limit(200_000);
                corpus
            };
            for runner in runners() {
                check(&corpus, &runner);
            }
        }
    }
}

#[test]
fn words_are_counted_with_and_without_combiner() {
    everywhere(|corpus, runner| {
        let mut expected: BTreeMap<String, u64> = BTreeMap::new();
        for term in plain(corpus()).into_iter().flat_map(|(_, terms)| terms) {
            *expected.entry(term).or_default() += 1;
        }
        let own = |(term, count): (&str, u64)| (term.to_owned(), count);
        let (found, report) = runner
            .collect(&mut WordCount, documents(corpus()), own)
            .unwrap();
        assert!(found == expected.into_iter().collect::<Vec<_>>());
        assert_eq!(report.shuffled_pairs < report.emitted_pairs, runner.combine);
    });
}

#[test]
fn the_average_length() {
    everywhere(|corpus, runner| {
        let lengths: Vec<usize> = plain(corpus())
            .iter()
            .map(|(_, terms)| terms.len())
            .collect();
        let found = runner.collect(&mut AverageLength, documents(corpus()), |lengths| lengths);
        let found = found.unwrap().0;
        let sum: usize = lengths.iter().sum();
        assert_eq!(
            (found[0].documents, found[0].terms),
            (lengths.len() as u64, sum as u64)
        );
        assert_eq!(found[0].average(), sum as f64 / lengths.len() as f64);
    });
    let none = Corpus::from_bytes("a.tsv", "", CorpusOptions::default());
    let found = Threads::default().collect(&mut AverageLength, documents(none), |lengths| lengths);
    assert!(found.unwrap().0.is_empty());
}

#[test]
fn terms_that_occur_together() {
    everywhere(|corpus, runner| {
        let corpus = || {
            let mut corpus = corpus();
            corpus.limit(10_000);
            corpus
        };
        let mut dfs: BTreeMap<String, u64> = BTreeMap::new();
        let mut both: BTreeMap<(String, String), u64> = BTreeMap::new();
        for (_, terms) in plain(corpus()) {
            let terms: BTreeSet<String> = terms.into_iter().collect();
            for given in &terms {
                *dfs.entry(given.clone()).or_default() += 1;
                for term in terms.iter().filter(|&term| term != given) {
                    *both.entry((given.clone(), term.clone())).or_default() += 1;
                }
            }
        }
        let expected: Vec<(String, String, f64)> = both
            .into_iter()
            .map(|((given, term), count)| {
                let pr = count as f64 / dfs[&given] as f64;
                (given, term, pr)
            })
            .collect();
        let own = |(given, term, pr): (&str, &str, f64)| (given.to_owned(), term.to_owned(), pr);
        let found = runner.collect(&mut Cooccurrence, documents(corpus()), own);
        assert!(found.unwrap().0 == expected, "{runner:?}");
    });
}

#[test]
fn posting_lists_in_the_order_of_documents() {
    everywhere(|corpus, runner| {
        let mut expected: BTreeMap<(String, usize), (String, u32)> = BTreeMap::new();
        for (number, (id, terms)) in plain(corpus()).into_iter().enumerate() {
            for term in terms {
                let posting = expected.entry((term, number)).or_insert((id.clone(), 0));
                posting.1 += 1;
            }
        }
        let expected: Vec<(String, String, u32)> = expected
            .into_iter()
            .map(|((term, _), (id, tf))| (term, id, tf))
            .collect();
        let own = |(term, id, tf): (&str, &[u8], u32)| {
            (term.to_owned(), String::from_utf8(id.to_vec()).unwrap(), tf)
        };
        let mut job = InvertedIndex::new(OnError::Stop);
        let found = runner.collect(&mut job, documents(corpus()), own);
        assert!(found.unwrap().0 == expected, "{runner:?}");
    });
}

#[test]
fn lines_in_order() {
    let mut random = Random(3);
    for count in [0, 1, 10, 5000] {
        let mut lines: Vec<String> = (0..count)
            .map(|_| format!("{}\tx é", random.below(3000)))
            .collect();
        let text = lines.join("\r\n");
        lines.sort();
        for runner in runners() {
            let sorted = runner.collect(&mut SortLines, Lines::of_text(&text, 2), str::to_owned);
            let (sorted, report) = sorted.unwrap();
            assert_eq!(sorted, lines);
            if count == 5000 && report.spilled_bytes == 0 {
                assert!(report.skew() < 3.0, "{}", report.skew());
            }
        }
    }
}

#[test]
fn duplicates_identical_and_nearly_so() {
    let mut random = Random(5);
    let mut text = random_text(11, 300);
    let originals: Vec<String> = text
        .lines()
        .map(|line| line[line.find('\t').unwrap()..].into())
        .collect();
    for copy in 0..60 {
        let of = &originals[random.below(300)];
        let changed = if copy % 2 == 0 { "" } else { "other" };
        text += &format!("c{copy}{}{changed}\n", of.to_uppercase());
    }
    let corpus = |chunk_bytes| {
        let options = CorpusOptions::default().chunk_bytes(Some(chunk_bytes));
        Corpus::from_bytes("a.tsv", text.as_str(), options)
    };
    let all = plain(corpus(1 << 20));
    let mut identical = Vec::new();
    for (number, (id, terms)) in all.iter().enumerate() {
        if let Some((of, _)) = all[..number].iter().find(|(_, other)| other == terms) {
            identical.push((id.clone(), of.clone()));
        }
    }
    assert!(identical.len() >= 30);
    let mut first = None;
    for chunk_bytes in [500, 1 << 20] {
        for runner in runners() {
            let open = || Ok(documents(corpus(chunk_bytes)));
            let (found, _) = Duplicates::default().run(&runner, open).unwrap();
            let name = |id: &[u8]| String::from_utf8(id.to_vec()).unwrap();
            let same = found.iter().filter(|found| found.identical);
            let same: Vec<(String, String)> = same
                .map(|found| (name(&found.id), name(&found.of)))
                .collect();
            assert_eq!(same, identical);
            // Estimates of similarity are about right.
            for near in found.iter().filter(|found| !found.identical) {
                let exact = jaccard(&all, &name(&near.id), &name(&near.of));
                assert!(
                    (exact - near.similarity).abs() < 0.3,
                    "{near:?}, exactly {exact}"
                );
            }
            // Copies of which one term was added to many are found.
            let long = all.iter().filter(|(id, terms)| {
                let odd = id[1..].parse::<u32>().is_ok_and(|number| number % 2 == 1);
                id.starts_with('c') && odd && terms.len() > 20
            });
            for (id, _) in long {
                assert!(found.iter().any(|near| name(&near.id) == *id), "{id}");
            }
            assert_eq!(first.get_or_insert_with(|| found.clone()), &found);
        }
    }
}

/// The share of the three-term sequences of two documents that both have.
fn jaccard(all: &[(String, Vec<String>)], a: &str, b: &str) -> f64 {
    let shingles = |name: &str| -> BTreeSet<Vec<String>> {
        let (_, terms) = all.iter().find(|(id, _)| id == name).unwrap();
        terms
            .windows(3.min(terms.len()).max(1))
            .map(<[_]>::to_vec)
            .collect()
    };
    let (a, b) = (shingles(a), shingles(b));
    a.intersection(&b).count() as f64 / a.union(&b).count() as f64
}
