//! Every document scored: the definition of a search.

use super::terms::Terms;
use super::top::Top;
use tokapi_storage::error::Result;

pub(crate) fn search(terms: &mut Terms<'_>, top: &mut Top) -> Result<()> {
    if terms.misses_one() {
        return Ok(());
    }
    for document in 0..terms.weigher.part().documents() {
        let (mut score, mut matched) = (0.0, terms.filters_alone);
        let mut misses = false;
        for term in &mut terms.scored {
            match term.cursor.seek(document)? == Some(document) {
                true => {
                    matched = true;
                    score += term.weight_here(&terms.weigher, document)?;
                }
                false => misses |= term.must,
            }
        }
        let score = score as f32;
        if matched && !misses && top.takes(document, score) && terms.filters.admits(document)? {
            top.push(document, score);
        }
    }
    Ok(())
}
