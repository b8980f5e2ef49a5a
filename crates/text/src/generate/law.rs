//! The frequency of the term at each rank.
//!
//! The built-in law is a broken power law in four constants. Three of them (`HEAD`, `BEND`, `BODY`) follow the counts of
//! the 333,213 most frequent words of the English web (Brants and Franz 2006, as published by Norvig) within 40 % at
//! every rank and within 18 % from rank 200 on; the fourth is the tail beyond that list. All four were then fitted by
//! least squares to the published collections: expected distinct terms within 0.13 % of each of the five, distinct
//! (term, document) pairs within 0.01 %. The head is a little heavier than the list's, which has no punctuation.

use super::sampler::{Cell, HOT};

/// Exponent of the first ranks.
const HEAD: f64 = 0.86;
/// The rank around which the law bends from [`HEAD`] to [`BODY`].
const BEND: f64 = 5050.0;
/// Exponent well after [`BEND`].
const BODY: f64 = 1.765;
/// The rank from which the tail's own exponent holds: the length of the list of the English web.
const TAIL_FROM: f64 = 333_213.0;
/// Exponent of the tail of the built-in vocabulary.
const TAIL: f64 = 1.447;
/// Exponent of the tail that extends a list of terms: fitted, as above, to the list of the English web.
const LIST_TAIL: f64 = 1.443;

/// The weights of ranks 1 to `ranks` of the built-in vocabulary: the first [`HOT`] one by one, the rest in cells.
pub(super) fn built_in(ranks: u32) -> (Vec<f64>, Vec<Cell>) {
    let hot = ranks.min(HOT as u32);
    let weights = (1..=hot).map(|rank| built_in_weight(f64::from(rank)));
    (weights.collect(), cells(hot, ranks, built_in_weight))
}

/// The weights of the terms of a list, then of made-up words up to `ranks`, which continue the list's last count.
///
/// `counts` never increase and are not empty. Of a list longer than `ranks`, only the first `ranks` are taken.
pub(super) fn listed(counts: &[u64], ranks: u32) -> (Vec<f64>, Vec<Cell>) {
    let listed = (counts.len()).min(ranks as usize);
    let counts = &counts[..listed];
    let last_count = counts[listed - 1] as f64;
    // No longer than `ranks`, which is a u32.
    let last_rank = listed as u32;
    let tail = |rank: f64| last_count * libm::pow(rank / f64::from(last_rank), -LIST_TAIL);

    let hot_listed = listed.min(HOT);
    let mut hot: Vec<f64> = counts[..hot_listed].iter().map(|&c| c as f64).collect();
    let mut cold = Vec::new();
    let mut first = hot_listed as u32;
    for run in counts[hot_listed..].chunk_by(|a, b| a == b) {
        let width = run.len() as u32;
        let weight = run[0] as f64 * f64::from(width);
        cold.push(Cell {
            first,
            width,
            weight,
        });
        first += width;
    }
    while hot.len() < HOT && first < ranks {
        first += 1;
        hot.push(tail(f64::from(first)));
    }
    cold.extend(cells(first, ranks, tail));
    (hot, cold)
}

fn built_in_weight(rank: f64) -> f64 {
    let bent = |rank: f64| libm::pow(rank, -HEAD) * libm::pow(1.0 + rank / BEND, HEAD - BODY);
    if rank <= TAIL_FROM {
        bent(rank)
    } else {
        bent(TAIL_FROM) * libm::pow(rank / TAIL_FROM, -TAIL)
    }
}

/// Ranks `after + 1` to `ranks`, in cells as wide as a 256th of their rank, within which the law falls by less than 1
/// %.
fn cells(after: u32, ranks: u32, weight: impl Fn(f64) -> f64) -> Vec<Cell> {
    let mut cells = Vec::new();
    let mut first = after;
    while first < ranks {
        let width = (first / 256).max(1).min(ranks - first);
        let middle = f64::from(first) + (f64::from(width) + 1.0) / 2.0;
        cells.push(Cell {
            first,
            width,
            weight: weight(middle) * f64::from(width),
        });
        first += width;
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covers(hot: &[f64], cold: &[Cell], ranks: u32) {
        let mut next = u32::try_from(hot.len()).unwrap();
        for cell in cold {
            assert_eq!(cell.first, next);
            next += cell.width;
        }
        assert_eq!(next, ranks);
        assert!(hot.iter().all(|w| *w > 0.0) && cold.iter().all(|c| c.weight > 0.0));
    }

    #[test]
    fn cells_hold_the_weight_of_their_ranks() {
        let ranks = 1_000_000;
        let (hot, cold) = built_in(ranks);
        covers(&hot, &cold, ranks);
        let all: f64 = (1..=ranks).map(|r| built_in_weight(f64::from(r))).sum();
        let grouped = hot.iter().sum::<f64>() + cold.iter().map(|c| c.weight).sum::<f64>();
        assert!((grouped / all - 1.0).abs() < 1e-5, "{grouped} {all}");
    }

    #[test]
    fn lists_are_cut_or_extended() {
        let counts: Vec<u64> = (1..=40_000u64).map(|r| 1_000_000 / r).collect();
        for ranks in [
            1, 2, 16_383, 16_384, 16_385, 39_999, 40_000, 40_001, 1_000_000,
        ] {
            let (hot, cold) = listed(&counts, ranks);
            covers(&hot, &cold, ranks);
            let (hot, cold) = listed(&counts[..3], ranks);
            covers(&hot, &cold, ranks);
        }
    }
}
