//! Laws of an index in pieces: shards with the statistics of all give the scores of one index, and pages give its
//! ranking.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;

use crate::random::{Random, query, shapes, text};
use tokapi::{Bm25, BuildOptions, Collection, Corpus, CorpusOptions, Error, Format, Formula};
use tokapi::{Hit, Index, Query, QueryStatistics, SearchOptions};
use tokapi_index::query::Algorithm;

fn build(folder: &Path, name: &str, lines: &str) -> Index {
    let options = CorpusOptions::default().format(Some(Format::Tsv));
    let corpus = Corpus::from_bytes(name, lines.to_owned(), options);
    let collection = Collection::build(corpus, &BuildOptions::default()).unwrap();
    Index::build(collection, folder.join(name)).unwrap();
    Index::open(folder.join(name)).unwrap()
}

/// Adds up the statistics of all shards.
fn summed(shards: &[Index], query: &Query) -> QueryStatistics {
    let mut sum = QueryStatistics::default();
    for shard in shards {
        sum.add(&shard.query_statistics(query).unwrap());
    }
    sum
}

fn random_options(random: &mut Random) -> SearchOptions {
    let bm25 = Bm25::default()
        .formula(Formula::ALL[random.below(7)])
        .k1([0.0, 0.9, 5.0][random.below(3)])
        .b([0.0, 0.4, 1.0][random.below(3)]);
    let algorithm = [Algorithm::Auto, Algorithm::Exhaustive][random.below(2)];
    SearchOptions::default()
        .k([1, 3, 10, 100, 10_000][random.below(5)])
        .bm25(bm25)
        .algorithm(algorithm)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn shards_with_the_statistics_of_all_answer_as_one_index(shape in shapes(), count in 1..6usize) {
        let folder = tempfile::tempdir().unwrap();
        let lines = text(&shape);
        let whole = build(folder.path(), "whole", &lines);
        let mut random = Random(shape.seed | 1);
        let mut of_shard = vec![String::new(); count];
        for line in lines.lines() {
            let shard = &mut of_shard[random.below(count)];
            shard.push_str(line);
            shard.push('\n');
        }
        let numbered = (0..).zip(&of_shard);
        let shards: Vec<Index> = numbered
            .map(|(number, lines): (usize, _)| build(folder.path(), &format!("shard{number}"), lines))
            .collect();
        let number = |index: &Index, hit: &Hit| -> u64 {
            index.id(hit.document).unwrap()[1..].parse().unwrap()
        };
        for _ in 0..8 {
            let query = query(&mut random, shape.terms + 1);
            let options = random_options(&mut random);
            let expected = whole.search(&query, &options).unwrap();
            let statistics = Some(Arc::new(summed(&shards, &query)));
            let by_all = options.clone().statistics(statistics);
            let mut merged: Vec<(u64, f32)> = Vec::new();
            let mut explained = HashMap::new();
            for shard in &shards {
                for hit in shard.search(&query, &by_all).unwrap() {
                    let number = number(shard, &hit);
                    merged.push((number, hit.score));
                    explained.insert(number, shard.explain(&query, &by_all, hit.document).unwrap());
                }
            }
            merged.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            merged.truncate(options.k);
            let expected: Vec<(u64, f32)> = expected.iter().map(|hit| (number(&whole, hit), hit.score)).collect();
            prop_assert_eq!(&merged, &expected, "{:?} {:?}", &query, &options);
            if let Some((number, _)) = expected.first() {
                let of_whole = whole.explain(&query, &options, *number).unwrap();
                prop_assert_eq!(&explained[number], &of_whole);
            }
        }
    }

    #[test]
    fn pages_are_the_ranking_cut(shape in shapes(), size in 1..40usize) {
        let folder = tempfile::tempdir().unwrap();
        let index = build(folder.path(), "index", &text(&shape));
        let mut random = Random(shape.seed | 1);
        for _ in 0..4 {
            let query = query(&mut random, shape.terms + 1);
            let options = random_options(&mut random).k(10 * size);
            let all = index.search(&query, &options).unwrap();
            let mut paged: Vec<Hit> = Vec::new();
            for _ in 0..10 {
                let after = paged.last().map(Hit::rank);
                let page = index.search(&query, &options.clone().k(size).after(after)).unwrap();
                prop_assert!(page.len() <= size);
                paged.extend(page);
            }
            prop_assert_eq!(paged, all, "{:?}", &query);
        }
    }
}

#[test]
fn statistics_of_fewer_documents_than_the_index_has_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let index = build(folder.path(), "index", "a\tred hen\nb\tred fox\n");
    let query = Query::any(["red", "hen"]);
    let search = |statistics: QueryStatistics| {
        let options = SearchOptions::default().statistics(Some(Arc::new(statistics)));
        index.search(&query, &options)
    };
    let own = index.query_statistics(&query).unwrap();
    assert_eq!(
        search(own.clone()).unwrap(),
        index.search(&query, &SearchOptions::default()).unwrap()
    );
    let few_documents = own.clone().documents(1, 4);
    let few_with_term = own.clone().df("red", 1);
    let without_term = QueryStatistics::default().documents(2, 4).df("red", 2);
    for (wrong, named) in [
        (few_documents, "1 documents and 4 terms"),
        (few_with_term, "1 documents with the term \"red\""),
        (without_term, "0 documents with the term \"hen\""),
    ] {
        let error = search(wrong).unwrap_err();
        assert!(matches!(error, Error::Usage(_)), "{error}");
        assert!(error.to_string().contains(named), "{error}");
    }
}
