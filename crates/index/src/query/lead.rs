//! Queries with at most one required term: the rarest term leads.
//!
//! The documents of the rarest term are scored first. After that the threshold is mostly so high
//! that the other terms together cannot reach it (Turtle and Flood, IP&M 1995).

use super::batch::Batch;
use super::terms::Terms;
use super::top::Top;
use super::{single, windows};
use tokapi_storage::error::Result;

/// The rarest term leads if its list is at most 1/N of the documents; for a longer list windows
/// are faster. The first constant is for optional terms, the second for a required one. Measured
/// on 500 MB of text, the best 10 for one to six terms: 101, 95 and 97 us with N = 16, 4 and 1.
/// With one required term: 175, 167, 186 and 243 us with N = 64, 16, 4 and 1.
/// occur 175, 167, 186 and 243 us with 64, 16, 4 and 1.
const RARER: [u64; 2] = [4, 16];

/// The best documents for terms of which at most one must occur.
pub(crate) fn search(terms: &mut Terms<'_>, top: &mut Top) -> Result<()> {
    if terms.misses_one() {
        return Ok(());
    }
    while terms.scored.len() > 1
        && let Some(rarest) = rarest(terms)
    {
        lead(terms, rarest, top)?;
        // The documents of the leading term have been scored.
        let seen = terms.scored.remove(rarest);
        let others: f64 = terms.scored.iter().map(|term| term.bound).sum();
        if seen.must || others < top.least() {
            return Ok(());
        }
        terms.filters.not.push(seen.cursor);
        terms.rewind();
    }
    match terms.scored.len() {
        1 => single::search(terms, top),
        _ => windows::search(terms, top),
    }
}

/// The leading term.
fn rarest(terms: &Terms<'_>) -> Option<usize> {
    let documents = u64::from(terms.weigher.part().documents());
    let length = |&number: &usize| terms.scored[number].cursor.df;
    let rarest = (0..terms.scored.len()).min_by_key(length)?;
    let rarer = RARER[usize::from(terms.scored[rarest].must)];
    Some(rarest).filter(|rarest| length(rarest) <= documents / rarer)
}

/// The best of the documents that have term `lead`.
fn lead(terms: &mut Terms<'_>, lead: usize, top: &mut Top) -> Result<()> {
    let mut others: Vec<usize> = (0..terms.scored.len())
        .filter(|&number| number != lead)
        .collect();
    // Required terms come first, then the terms with the highest bounds.
    others.sort_by(|&a, &b| {
        let (a, b) = (&terms.scored[a], &terms.scored[b]);
        b.must.cmp(&a.must).then(b.bound.total_cmp(&a.bound))
    });
    let bounds = others.iter().map(|&number| terms.scored[number].bound);
    let all: f64 = bounds.sum();
    let mut batch = Batch::new(terms.scored.len());
    for block in 0..terms.scored[lead].cursor.block_count() {
        let (weigher, scored, filters) = terms.parts();
        let term = &mut scored[lead];
        if term.block_bound(weigher, block) + all < top.least() {
            continue;
        }
        term.cursor.go_to_block(block);
        let factors = (term.idf, term.times);
        batch.begin_with(lead, factors, term.cursor.postings()?, weigher)?;
        batch.keep_above(top.least(), all);
        batch.keep_within(&mut filters.within)?;
        let mut more = all;
        for &number in &others {
            if batch.is_empty() {
                break;
            }
            let term = &mut scored[number];
            batch.find(number, term)?;
            batch.weigh(number, term, weigher)?;
            more -= term.bound;
            batch.keep_above(top.least(), more);
        }
        batch.finish(terms, top)?;
    }
    Ok(())
}
