//! Documents with all of some terms: those of the rarest term, block by block, sought in the others.

use super::batch::Batch;
use super::terms::Terms;
use super::top::{Top, at_most};
use crate::error::Result;
use crate::index::BLOCK;

/// Blocks of a list whose bounds are asked for, rather than that of the whole list.
const FEW_BLOCKS: usize = 8;

/// The terms that must occur, the rarest first, and the others, those first that can add most.
fn in_order(terms: &Terms<'_>) -> (Vec<usize>, Vec<usize>) {
    let (mut must, mut optional): (Vec<usize>, Vec<usize>) =
        (0..terms.scored.len()).partition(|&number| terms.scored[number].must);
    must.sort_by_key(|&number| terms.scored[number].cursor.df);
    let bound = |number: usize| terms.scored[number].bound;
    optional.sort_by(|&a, &b| bound(b).total_cmp(&bound(a)));
    (must, optional)
}

/// The number of documents that match.
pub(crate) fn count(terms: &mut Terms<'_>) -> Result<u64> {
    if terms.misses_one() {
        return Ok(0);
    }
    let (must, _) = in_order(terms);
    let (lead, others) = (must[0], &must[1..]);
    if others.is_empty() && terms.not.is_empty() {
        return Ok(terms.scored[lead].cursor.df);
    }
    let mut sum = 0;
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
        for cursor in &mut terms.not {
            cursor.subtract(&mut documents)?;
        }
        sum += documents.len() as u64;
    }
    Ok(sum)
}

/// The best documents that match.
pub(crate) fn search(terms: &mut Terms<'_>, top: &mut Top) -> Result<()> {
    if terms.misses_one() {
        return Ok(());
    }
    let (must, optional) = in_order(terms);
    let (lead, others) = (must[0], &must[1..]);
    // What the terms that need not occur can add, from each of them on.
    let mut more: Vec<f64> = optional
        .iter()
        .rev()
        .scan(0.0, |sum, &number| {
            *sum += terms.scored[number].bound;
            Some(*sum)
        })
        .collect();
    more.reverse();
    more.push(0.0);
    let mut batch = Batch::new(terms.scored.len());
    let mut near = vec![0; terms.scored.len()];
    for block in 0..terms.scored[lead].cursor.block_count() {
        let Terms {
            weigher, scored, ..
        } = &mut *terms;
        let (first, last) = {
            let cursor = &scored[lead].cursor;
            (cursor.first_possible(block), cursor.last(block))
        };
        let mut beside = more[0];
        let mut none = false;
        for &number in others {
            let term = &mut scored[number];
            let from = term.cursor.block_of(first, near[number]);
            near[number] = from;
            none |= from == term.cursor.block_count();
            let mut bound = term.bound;
            if from + FEW_BLOCKS >= term.cursor.block_count()
                || term.cursor.last(from + FEW_BLOCKS) >= last
            {
                bound = 0.0;
                for block in from..term.cursor.block_count() {
                    bound = bound.max(term.block_bound(weigher, block));
                    if term.cursor.last(block) >= last {
                        break;
                    }
                }
            }
            beside += bound;
        }
        if none {
            break;
        }
        let term = &mut scored[lead];
        let bound = term.block_bound(weigher, block) + beside;
        if at_most(bound) < f64::from(top.threshold()) {
            continue;
        }
        term.cursor.go_to_block(block);
        let (documents, tfs) = term.cursor.postings()?;
        batch.begin(documents);
        batch.set_tfs(lead, tfs);
        for &other in others {
            batch.find(other, &mut scored[other], true)?;
        }
        batch.look_up_lengths(weigher)?;
        for &number in &must {
            batch.weigh(number, &scored[number], weigher);
        }
        for (place, &number) in optional.iter().enumerate() {
            batch.keep_above(top.threshold(), more[place]);
            batch.find(number, &mut scored[number], false)?;
            batch.weigh(number, &scored[number], weigher);
        }
        batch.finish(terms, top)?;
    }
    Ok(())
}
