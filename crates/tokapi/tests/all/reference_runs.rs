//! Scores summed from Tokapi's weights against the runs of bm25s on real collections: every
//! query, every document, within 1e-5.

use std::collections::HashMap;

use crate::files::{data, real, unpacked};
use tokapi::{Analyzer, Bm25, Cut};

fn agrees_with_run(collection: &str, pairs: usize) {
    let folder = data(collection);
    let analyzer = Analyzer::from(Cut::Python);
    let weights = real(collection, &analyzer).weigh(&Bm25::default()).unwrap();

    let mut of_term: HashMap<&[u8], HashMap<&[u8], f32>> = HashMap::new();
    for posting in weights.iter() {
        let documents = of_term.entry(posting.term).or_default();
        documents.insert(posting.document, posting.weight);
    }
    let queries = std::fs::read_to_string(folder.join("queries.tsv")).unwrap();
    let queries: HashMap<&str, &str> = queries
        .lines()
        .map(|line| line.split_once('\t').unwrap())
        .collect();
    let run = unpacked(&folder.join("bm25s-lucene.run.zst"));
    let mut checked = 0;
    for line in run.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let (query, document, expected) = (fields[0], fields[2], fields[4].parse::<f64>().unwrap());
        // A word that stands twice in a query counts twice.
        let score: f64 = analyzer
            .terms(queries[query])
            .filter_map(|term| {
                of_term
                    .get(term.as_bytes())?
                    .get(document.as_bytes())
                    .copied()
            })
            .map(f64::from)
            .sum();
        let difference = (score - expected).abs() / expected;
        assert!(
            difference < 1e-5,
            "query {query}, document {document}: {score} is not {expected}"
        );
        checked += 1;
    }
    assert_eq!(checked, pairs);
}

#[test]
fn cranfield() {
    agrees_with_run("cranfield", 22_500);
}

#[test]
fn scifact() {
    agrees_with_run("scifact", 30_000);
}
