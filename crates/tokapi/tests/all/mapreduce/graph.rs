//! PageRank.

use std::collections::{BTreeMap, BTreeSet};

use tokapi::Error;
use tokapi::mapreduce::{Lines, Threads};
use tokapi_mapreduce::jobs::PageRank;

use super::input::runners;
use crate::random::Random;

/// Power iteration, in floats.
fn expected(edges: &[(String, String)], pagerank: &PageRank) -> Vec<(String, f64)> {
    let mut targets: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (from, to) in edges {
        targets.entry(from).or_default().insert(to);
        targets.entry(to).or_default();
    }
    let count = targets.len() as f64;
    let mut ranks: BTreeMap<&str, f64> = targets.keys().map(|&node| (node, 1.0 / count)).collect();
    for _ in 0..pagerank.iterations {
        let dangling: f64 = targets
            .iter()
            .filter(|(_, targets)| targets.is_empty())
            .map(|(node, _)| ranks[node])
            .sum();
        let base = (1.0 - pagerank.damping + pagerank.damping * dangling) / count;
        let mut next: BTreeMap<&str, f64> = targets.keys().map(|&node| (node, base)).collect();
        for (node, targets) in &targets {
            for target in targets {
                let share = pagerank.damping * ranks[node] / targets.len() as f64;
                *next.get_mut(target).unwrap() += share;
            }
        }
        ranks = next;
    }
    ranks
        .into_iter()
        .map(|(node, rank)| (node.to_owned(), rank))
        .collect()
}

fn random_edges(count: usize) -> Vec<(String, String)> {
    let mut random = Random(count as u64);
    let mut name = || {
        let most = 1 << random.below(8);
        format!("n{}", random.below(most))
    };
    (0..count).map(|_| (name(), name())).collect()
}

#[test]
fn ranks_equal_plain_power_iteration() {
    let pagerank = PageRank {
        iterations: 30,
        tolerance: 0.0,
        ..PageRank::default()
    };
    for count in [0, 1, 2, 50, 2000] {
        let edges = random_edges(count);
        let expected = expected(&edges, &pagerank);
        let lines: Vec<String> = edges
            .iter()
            .map(|(from, to)| format!("{from}\t{to}"))
            .collect();
        let text = format!("# a comment\n{}", lines.join("\n"));
        let mut first = None;
        for runner in runners() {
            let (ranks, _) = pagerank.run(&runner, Lines::of_text(&text, 2)).unwrap();
            assert_eq!(ranks.nodes.len(), expected.len());
            for ((name, rank), (of, by)) in ranks.nodes.iter().zip(&expected) {
                assert_eq!(&**name, of);
                assert!((rank - by).abs() < 1e-9, "{name}: {rank}, {by}");
            }
            assert_eq!(first.get_or_insert_with(|| ranks.clone()), &ranks);
        }
    }
}

#[test]
fn it_ends_when_nothing_changes_and_names_what_is_no_edge() {
    let ring = Lines::of_text("a b\nb c\nc a\na b", 1);
    let (ranks, _) = PageRank::default().run(&Threads::default(), ring).unwrap();
    assert_eq!(ranks.iterations, 1);
    for (wrong, names) in [("a", 1), ("a b c", 3)] {
        let lines = Lines::of_text(&format!("a b\n# c\n\n{wrong}\nb a\n"), 2);
        let error = PageRank::default().run(&Threads::default(), lines);
        let expected =
            format!("memory, line 4 `{wrong}`: an edge is two names on a line, not {names}");
        assert_eq!(error.unwrap_err().to_string(), expected);
    }
    let strange = PageRank {
        damping: 1.5,
        ..PageRank::default()
    };
    let error = strange.run(&Threads::default(), Lines::of_text("a b", 1));
    assert!(matches!(error, Err(Error::Usage(_))));
}

#[test]
fn the_first_node_may_link_to_thousands() {
    let star: String = (0..5000).map(|n| format!("a b{n}\n")).collect();
    let ranked = PageRank::default().run(&Threads::default(), Lines::of_text(&star, 1));
    let (ranks, _) = ranked.unwrap();
    assert_eq!(ranks.nodes.len(), 5001);
    let (hub, linked) = (ranks.nodes[0].1, ranks.nodes[1].1);
    assert!(hub < linked && ranks.nodes[2..].iter().all(|node| node.1 == linked));
}
