//! Documents that have all of several terms. The blocks of the rarest term are read in order, and
//! its documents are looked up in the other lists.

use super::batch::Batch;
use super::matches::Matches;
use super::terms::{Term, Terms};
use super::top::Top;
use crate::part::block::BLOCK;
use crate::weighing::Weigher;
use tokapi_storage::error::Result;

/// Maximum number of blocks whose bounds are computed one by one. A longer range takes the bound
/// of the whole list.
const FEW_BLOCKS: usize = 4;

/// With at least this many terms besides the rarest, few documents remain, and scoring only these
/// is fastest.
const MANY_TERMS: usize = 3;

/// The terms that must occur, the rarest first.
fn by_length(terms: &Terms<'_>) -> Vec<usize> {
    let mut order: Vec<usize> = (0..terms.scored.len())
        .filter(|&number| terms.scored[number].must)
        .collect();
    order.sort_by_key(|&number| terms.scored[number].cursor.df);
    order
}

/// Passes the matching documents to `matches`.
pub(crate) fn visit(terms: &mut Terms<'_>, matches: &mut impl Matches) -> Result<()> {
    if terms.misses_one() {
        return Ok(());
    }
    let order = by_length(terms);
    let (lead, others) = (order[0], &order[1..]);
    if others.is_empty() && terms.filters.is_empty() && matches.list(terms.scored[lead].cursor.df) {
        return Ok(());
    }
    let mut documents = Vec::with_capacity(BLOCK);
    for block in 0..terms.scored[lead].cursor.block_count() {
        let cursor = &mut terms.scored[lead].cursor;
        cursor.go_to_block(block);
        cursor.decode()?;
        documents.clear();
        documents.extend_from_slice(cursor.documents());
        for &other in others {
            terms.scored[other].cursor.intersect(&mut documents)?;
        }
        terms.filters.retain(&mut documents)?;
        terms.filters.retain_phrases(&mut documents)?;
        matches.documents(&documents);
    }
    Ok(())
}

/// The best documents that match.
pub(crate) fn search(terms: &mut Terms<'_>, top: &mut Top) -> Result<()> {
    if terms.misses_one() {
        return Ok(());
    }
    let order = by_length(terms);
    let (lead, others) = (order[0], &order[1..]);
    let mut optional: Vec<usize> = (0..terms.scored.len())
        .filter(|&number| !terms.scored[number].must)
        .collect();
    let bound = |number: usize| terms.scored[number].bound;
    optional.sort_by(|&a, &b| bound(a).total_cmp(&bound(b)));
    let any: f64 = optional.iter().map(|&number| bound(number)).sum();
    let mut batch = Batch::new(terms.scored.len());
    // Upper bounds, from the last term to the first: the sum that the terms after each required
    // one can add in this block.
    let mut more = Vec::new();
    for block in 0..terms.scored[lead].cursor.block_count() {
        let (weigher, scored, filters) = terms.parts();
        let cursor = &scored[lead].cursor;
        let (first, last) = (cursor.first_possible(block), cursor.last(block));
        more.clear();
        more.push(any);
        for &number in others.iter().rev() {
            let cursor = &scored[number].cursor;
            let block = cursor.block_of(first, cursor.block());
            if block == cursor.block_count() {
                return Ok(());
            }
            cursor.prefetch(block);
            let bound = bound_between(&scored[number], weigher, first, last);
            more.push(more[more.len() - 1] + bound);
        }
        let bound = more[others.len()] + scored[lead].block_bound(weigher, block);
        if bound < top.least() {
            continue;
        }
        let term = &mut scored[lead];
        term.cursor.go_to_block(block);
        // Many documents fall short even with the bounds of the other terms.
        let by_weight = top.threshold() > f32::NEG_INFINITY && others.len() < MANY_TERMS;
        if by_weight {
            let factors = (term.idf, term.times);
            batch.begin_with(lead, factors, term.cursor.postings()?, weigher)?;
            batch.keep_above(top.least(), more[others.len()]);
        } else {
            term.cursor.decode()?;
            batch.begin_at(lead, block, term.cursor.documents());
            for &number in others {
                if batch.is_empty() {
                    break;
                }
                batch.find(number, &mut scored[number])?;
            }
            batch.look_up_lengths(weigher)?;
        }
        batch.keep_within(&mut filters.within)?;
        let missing = if by_weight { others } else { &order[..] };
        for (&number, &more) in missing.iter().rev().zip(&more).rev() {
            if batch.is_empty() {
                break;
            }
            if by_weight {
                batch.find(number, &mut scored[number])?;
            }
            batch.weigh(number, &mut scored[number], weigher)?;
            batch.keep_above(top.least(), more);
        }
        if batch.is_empty() {
            continue;
        }
        let mut more = any;
        for &number in optional.iter().rev() {
            batch.find(number, &mut scored[number])?;
            batch.weigh(number, &mut scored[number], weigher)?;
            more -= scored[number].bound;
            batch.keep_above(top.least(), more);
        }
        batch.finish(terms, top)?;
    }
    Ok(())
}

/// The most that a term adds to the score of documents from `first` to `last`.
pub(super) fn bound_between(term: &Term<'_>, weigher: &Weigher<'_>, first: u32, last: u32) -> f64 {
    let cursor = &term.cursor;
    let from = cursor.block_of(first, cursor.block());
    let far = from + FEW_BLOCKS;
    if far < cursor.block_count() && cursor.last(far) < last {
        return term.bound;
    }
    let mut bound = 0.0f64;
    for block in from..cursor.block_count() {
        bound = bound.max(term.block_bound(weigher, block));
        if cursor.last(block) >= last {
            break;
        }
    }
    bound
}
