//! The best documents for one term: its blocks in descending order of their bounds.

use super::terms::Terms;
use super::top::Top;
use crate::part::block::BLOCK;
use tokapi_storage::error::Result;

/// Documents that the filters test at a time. Measured on 916,000 documents, mean of 50 terms, the
/// best thousand under a filter of half of the documents: 310 us with 32 at a time, 563 us one by
/// one, 290 us with whole blocks, 180 us without the filter. Whole blocks test many documents that
/// no longer reach the threshold in their turn: the best ten with a tenth of the documents
/// filtered out take 18 us, with 32 at a time 15 us.
const SOME: usize = 32;

pub(crate) fn search(terms: &mut Terms<'_>, top: &mut Top) -> Result<()> {
    if terms.misses_one() {
        return Ok(());
    }
    let term = &mut terms.scored[0];
    term.bound_blocks(&terms.weigher);
    let count = term.cursor.block_count();
    let bounds: Vec<f64> = (0..count)
        .map(|block| term.block_bound(&terms.weigher, block))
        .collect();
    let mut first: Vec<usize> = (0..count).collect();
    // Two of the best documents are rarely in the same block.
    let some = top.k().saturating_add(6);
    if some < count {
        first.select_nth_unstable_by(some, |&a, &b| bounds[b].total_cmp(&bounds[a]));
        first.truncate(some);
    }
    first.sort_unstable_by(|&a, &b| bounds[b].total_cmp(&bounds[a]));
    let mut left = Vec::with_capacity(SOME);
    for &block in &first {
        if bounds[block] >= top.least() {
            terms.filters.rewind();
            take_block(block, terms, top, &mut left)?;
        }
    }
    terms.filters.rewind();
    first.sort_unstable();
    let mut done = first.into_iter().peekable();
    for (block, &bound) in bounds.iter().enumerate() {
        if done.next_if_eq(&block).is_none() && bound >= top.least() {
            take_block(block, terms, top, &mut left)?;
        }
    }
    Ok(())
}

/// Takes the best documents of a block after the filter has tested them; `left` is a reusable
/// buffer.
fn take_block(
    block: usize,
    terms: &mut Terms<'_>,
    top: &mut Top,
    left: &mut Vec<u32>,
) -> Result<()> {
    let term = &mut terms.scored[0];
    term.cursor.go_to_block(block);
    let (idf, times) = (term.idf, term.times);
    let (documents, tfs) = term.cursor.postings()?;
    let mut weights = [0.0; BLOCK];
    let weights = &mut weights[..documents.len()];
    terms.weigher.weigh_postings(idf, documents, tfs, weights)?;
    let score = |weight: f32| (0.0 + f64::from(weight) * times) as f32;
    if terms.filters.is_empty() {
        for (&document, &weight) in documents.iter().zip(&*weights) {
            let score = score(weight);
            if score >= top.threshold() && top.takes(document, score) {
                top.push(document, score);
            }
        }
        return Ok(());
    }
    for (documents, weights) in documents.chunks(SOME).zip(weights.chunks(SOME)) {
        let mut hopeful = [(0, 0.0); SOME];
        let mut count = 0;
        for (&document, &weight) in documents.iter().zip(weights) {
            let score = score(weight);
            if score >= top.threshold() && top.takes(document, score) {
                hopeful[count] = (document, score);
                count += 1;
            }
        }
        if count == 0 {
            continue;
        }
        left.clear();
        left.extend(hopeful[..count].iter().map(|&(document, _)| document));
        terms.filters.retain(left)?;
        let mut left = left.iter().peekable();
        for &(document, score) in &hopeful[..count] {
            if left.next_if_eq(&&document).is_some()
                && top.takes(document, score)
                && terms.filters.admits_phrases(document)?
            {
                top.push(document, score);
            }
        }
    }
    Ok(())
}
