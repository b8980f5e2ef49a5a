//! The best documents for one term: its blocks, those that promise most first.

use super::terms::Terms;
use super::top::Top;
use crate::error::Result;
use crate::index::BLOCK;

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
    // The best documents are rarely two in a block.
    let some = top.k().saturating_add(6);
    if some < count {
        first.select_nth_unstable_by(some, |&a, &b| bounds[b].total_cmp(&bounds[a]));
        first.truncate(some);
    }
    first.sort_unstable_by(|&a, &b| bounds[b].total_cmp(&bounds[a]));
    for &block in &first {
        if bounds[block] >= top.least() {
            take_block(block, terms, top)?;
        }
    }
    first.sort_unstable();
    let mut done = first.into_iter().peekable();
    for (block, &bound) in bounds.iter().enumerate() {
        if done.next_if_eq(&block).is_none() && bound >= top.least() {
            take_block(block, terms, top)?;
        }
    }
    Ok(())
}

fn take_block(block: usize, terms: &mut Terms<'_>, top: &mut Top) -> Result<()> {
    terms.filters.rewind();
    let term = &mut terms.scored[0];
    term.cursor.go_to_block(block);
    let (idf, times) = (term.idf, term.times);
    let (documents, tfs) = term.cursor.postings()?;
    let mut weights = [0.0; BLOCK];
    let weights = &mut weights[..documents.len()];
    terms.weigher.weigh_postings(idf, documents, tfs, weights)?;
    for (&document, &weight) in documents.iter().zip(&*weights) {
        let score = (0.0 + f64::from(weight) * times) as f32;
        if score >= top.threshold()
            && top.takes(document, score)
            && terms.filters.admits(document)?
        {
            top.push(document, score);
        }
    }
    Ok(())
}
