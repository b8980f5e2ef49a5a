//! Measures of effectiveness of a run, as trec_eval defines them.
//!
//! Documents are ranked by descending score, and equal scores by descending id. Scores are read in
//! single precision, as in trec_eval; the ranks in the file are ignored. A document is relevant if
//! its judgment is above 0; the judgment is also its gain. A document without a judgment is not
//! relevant.

mod files;

pub use files::{Judgments, Run};

use std::collections::BTreeMap;

/// The measures of one query, or their means.
///
/// [`Evaluation`] has an example.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub struct Measures {
    /// Normalized discounted cumulative gain of the first 10 (`ndcg_cut_10`).
    pub ndcg_10: f64,
    /// Average precision (`map`).
    pub ap: f64,
    /// Precision of the first 10 (`P_10`).
    pub p_10: f64,
    /// Recall of the first 100 (`recall_100`).
    pub r_100: f64,
    /// The reciprocal rank of the first relevant document (`recip_rank`).
    pub rr: f64,
}

impl Measures {
    /// Every measure with its usual name.
    pub fn named(&self) -> [(&'static str, f64); 5] {
        [
            ("nDCG@10", self.ndcg_10),
            ("AP", self.ap),
            ("P@10", self.p_10),
            ("R@100", self.r_100),
            ("RR", self.rr),
        ]
    }

    /// The measures of one query, from its documents, the best first, and its judgments.
    fn of_ranking(ranking: &[&str], judged: &BTreeMap<String, i64>) -> Self {
        let gain = |document: &&str| judged.get(*document).map_or(0, |&gain| gain.max(0));
        let mut ideal: Vec<i64> = judged.values().copied().filter(|&gain| gain > 0).collect();
        ideal.sort_unstable_by(|a, b| b.cmp(a));
        let relevant = ideal.len();
        if relevant == 0 {
            return Measures::default();
        }
        let gains: Vec<i64> = ranking.iter().map(gain).collect();
        let found = |first: usize| gains.iter().take(first).filter(|&&gain| gain > 0).count();
        let (mut seen, mut precisions) = (0, 0.0);
        for (rank, _) in (1..).zip(&gains).filter(|(_, gain)| **gain > 0) {
            seen += 1;
            precisions += f64::from(seen) / f64::from(rank);
        }
        let first = gains.iter().position(|&gain| gain > 0);
        Measures {
            ndcg_10: dcg(&gains, 10) / dcg(&ideal, 10),
            ap: precisions / relevant as f64,
            p_10: found(10) as f64 / 10.0,
            r_100: found(100) as f64 / relevant as f64,
            rr: first.map_or(0.0, |place| 1.0 / (place + 1) as f64),
        }
    }

    fn mean<'a>(all: impl Iterator<Item = &'a Measures>, count: usize) -> Self {
        let mut sum = Measures::default();
        for measures in all {
            sum.ndcg_10 += measures.ndcg_10;
            sum.ap += measures.ap;
            sum.p_10 += measures.p_10;
            sum.r_100 += measures.r_100;
            sum.rr += measures.rr;
        }
        let mean = |sum: f64| sum / count.max(1) as f64;
        Measures {
            ndcg_10: mean(sum.ndcg_10),
            ap: mean(sum.ap),
            p_10: mean(sum.p_10),
            r_100: mean(sum.r_100),
            rr: mean(sum.rr),
        }
    }
}

/// The discounted cumulative gain of the first `first`.
fn dcg(gains: &[i64], first: usize) -> f64 {
    let discounted = |(place, &gain): (usize, &i64)| gain as f64 / ((place + 2) as f64).log2();
    gains.iter().take(first).enumerate().map(discounted).sum()
}

/// The effectiveness of a run.
///
/// ```
/// # use tokapi_index::eval::{Evaluation, Judgments, Run};
/// # fn main() -> tokapi_storage::error::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let (run, qrels) = (folder.path().join("run"), folder.path().join("qrels"));
/// std::fs::write(&run, "q1 Q0 d2 1 3.5 tag\nq1 Q0 d1 2 3.0 tag\n").unwrap();
/// std::fs::write(&qrels, "q1 0 d1 1\n").unwrap();
/// let evaluation = Evaluation::new(&Run::read(&run)?, &Judgments::read(&qrels)?, false);
/// assert_eq!((evaluation.mean.rr, evaluation.mean.p_10), (0.5, 0.1));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Evaluation {
    /// The queries counted, with their measures.
    pub queries: BTreeMap<String, Measures>,
    /// Their means.
    pub mean: Measures,
}

impl Evaluation {
    /// Evaluates a run. Queries without judgments are ignored. Queries without results count as 0
    /// if `all` is set (trec_eval's `-c`), and are ignored otherwise.
    pub fn new(run: &Run, judgments: &Judgments, all: bool) -> Self {
        let mut queries = BTreeMap::new();
        for (query, judged) in &judgments.queries {
            let measures = match run.queries.get(query) {
                Some(results) => Measures::of_ranking(&ranked(results), judged),
                None if all => Measures::default(),
                None => continue,
            };
            queries.insert(query.clone(), measures);
        }
        Evaluation {
            mean: Measures::mean(queries.values(), queries.len()),
            queries,
        }
    }
}

/// The documents of a query, the best first.
fn ranked(results: &BTreeMap<String, f32>) -> Vec<&str> {
    let mut ranked: Vec<(&str, f32)> = results
        .iter()
        .map(|(id, &score)| (&id[..], score))
        .collect();
    // trec_eval treats 0 and -0 as equal.
    let score = |(_, score): &(&str, f32)| score + 0.0;
    ranked.sort_by(|a, b| score(b).total_cmp(&score(a)).then_with(|| b.0.cmp(a.0)));
    ranked.into_iter().map(|(id, _)| id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(pairs: &[(&str, i64)]) -> BTreeMap<String, i64> {
        pairs
            .iter()
            .map(|&(id, gain)| (id.to_owned(), gain))
            .collect()
    }

    #[test]
    fn measures_by_hand() {
        let judged = judged(&[("a", 3), ("b", 1), ("c", 0), ("d", 2), ("e", -1)]);
        let measures = Measures::of_ranking(&["c", "a", "x", "b"], &judged);
        let dcg = 3.0 / 3f64.log2() + 1.0 / 5f64.log2();
        let ideal = 3.0 + 2.0 / 3f64.log2() + 1.0 / 2.0;
        assert_eq!(measures.ndcg_10, dcg / ideal);
        assert_eq!(measures.ap, (1.0 / 2.0 + 2.0 / 4.0) / 3.0);
        assert_eq!(measures.p_10, 0.2);
        assert_eq!(measures.r_100, 2.0 / 3.0);
        assert_eq!(measures.rr, 0.5);
    }

    #[test]
    fn only_so_many_ranks_count() {
        let ids: Vec<String> = (0..200).map(|n| format!("{n:03}")).collect();
        let ranking: Vec<&str> = ids.iter().map(|id| &id[..]).collect();
        let measures = Measures::of_ranking(&ranking, &judged(&[("010", 1), ("100", 1)]));
        assert_eq!(
            (measures.ndcg_10, measures.p_10, measures.r_100),
            (0.0, 0.0, 0.5)
        );
        assert_eq!(measures.rr, 1.0 / 11.0);
        assert_eq!(measures.ap, (1.0 / 11.0 + 2.0 / 101.0) / 2.0);
    }

    #[test]
    fn equal_scores_are_ranked_by_id_from_the_last() {
        let results = [("a", 1.0), ("c", 1.0), ("b", 2.0)];
        let results = results.map(|(id, score)| (id.to_owned(), score)).into();
        assert_eq!(ranked(&results), ["b", "c", "a"]);
        let zeros = [("a", 0.0), ("b", -0.0), ("c", -1.0)];
        let zeros = zeros.map(|(id, score)| (id.to_owned(), score)).into();
        assert_eq!(ranked(&zeros), ["b", "a", "c"]);
    }

    #[test]
    fn nothing_relevant_is_nothing() {
        assert_eq!(
            Measures::of_ranking(&["a"], &judged(&[("a", 0)])),
            Measures::default()
        );
    }
}
