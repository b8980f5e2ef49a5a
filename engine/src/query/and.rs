//! Documents with all of some terms: those of the rarest term, block by block, sought in the others.

use super::terms::Terms;
use super::top::{Top, at_most};
use crate::error::Result;
use crate::index::BLOCK;

/// The terms that must occur, the rarest first.
fn by_length(terms: &Terms<'_>) -> Vec<usize> {
    let mut order: Vec<usize> = (0..terms.scored.len())
        .filter(|&number| terms.scored[number].must)
        .collect();
    order.sort_by_key(|&number| terms.scored[number].cursor.df);
    order
}

/// The number of documents that match.
pub(crate) fn count(terms: &mut Terms<'_>) -> Result<u64> {
    if terms.misses_one() {
        return Ok(0);
    }
    let order = by_length(terms);
    let (lead, others) = (order[0], &order[1..]);
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
    let order = by_length(terms);
    let (lead, others) = (order[0], &order[1..]);
    // The terms that need not occur, and what all but the first can add.
    let optional: Vec<usize> = (0..terms.scored.len())
        .filter(|&number| !terms.scored[number].must)
        .collect();
    let beside: f64 = terms
        .scored
        .iter()
        .enumerate()
        .map(|(number, term)| if number == lead { 0.0 } else { term.bound })
        .sum();
    let mut parts = vec![0.0; terms.scored.len()];
    let mut weights = [0.0; BLOCK];
    let mut here = [0; BLOCK];
    for block in 0..terms.scored[lead].cursor.block_count() {
        let Terms {
            weigher, scored, ..
        } = &mut *terms;
        let term = &mut scored[lead];
        let bound = term.block_bound(weigher, block) + beside;
        if at_most(bound) <= f64::from(top.threshold()) {
            continue;
        }
        term.cursor.go_to_block(block);
        let (idf, times) = (term.idf, term.times);
        let (documents, tfs) = term.cursor.postings()?;
        let count = documents.len();
        here[..count].copy_from_slice(documents);
        weigher.weigh(idf, documents, tfs, &mut weights[..count])?;
        'documents: for place in 0..count {
            let document = here[place];
            let weight = f64::from(weights[place]) * times;
            if at_most(weight + beside) <= f64::from(top.threshold()) {
                continue;
            }
            let Terms {
                weigher, scored, ..
            } = &mut *terms;
            for &other in others {
                if scored[other].cursor.seek(document)? != Some(document) {
                    continue 'documents;
                }
            }
            parts[lead] = weight;
            for &other in others {
                parts[other] = scored[other].weight_here(weigher, document)?;
            }
            for &other in &optional {
                parts[other] = scored[other].add(weigher, document)?;
            }
            let score: f64 = parts.iter().sum();
            if score as f32 > top.threshold() && !terms.is_excluded(document)? {
                top.push(document, score as f32);
            }
        }
    }
    Ok(())
}
