//! The documents that have any of several terms, or that pass the filters: bitmaps, one window at
//! a time.

use super::filter::Filters;
use super::matches::Matches;
use super::terms::Terms;
use crate::part::cursor::Cursor;
use tokapi_storage::error::Result;

/// Documents in a window.
const WINDOW: usize = 1 << 16;

/// Passes the documents that have any of the terms to `matches`. Without terms, the filters alone
/// decide.
pub(crate) fn visit(terms: &mut Terms<'_>, matches: &mut impl Matches) -> Result<()> {
    if terms.misses_one() || (terms.scored.is_empty() && !terms.filters_alone) {
        return Ok(());
    }
    if let ([only], true) = (&terms.scored[..], terms.filters.is_empty())
        && matches.list(only.cursor.df)
    {
        return Ok(());
    }
    let filters = &terms.filters;
    if let ([only], [], true) = (&filters.within[..], &filters.not[..], terms.filters_alone)
        && !filters.has_phrases()
        && matches.list(only.df)
    {
        return Ok(());
    }
    let documents = terms.weigher.part().documents() as usize;
    let has_lists = !terms.filters.within.is_empty() || !terms.filters.not.is_empty();
    let words = documents.min(WINDOW).div_ceil(64);
    let mut some = vec![0u64; words];
    let mut other = vec![0u64; if has_lists { words } else { 0 }];
    for start in (0..documents).step_by(WINDOW) {
        // Fewer than 2^32.
        let (start, end) = (start as u32, documents.min(start + WINDOW) as u32);
        some.truncate((end - start).div_ceil(64) as usize);
        if terms.filters_alone {
            mark_all(end - start, &mut some);
        }
        for term in &mut terms.scored {
            mark(&mut term.cursor, start, end, &mut some)?;
        }
        for cursor in &mut terms.filters.within {
            mark(cursor, start, end, &mut other)?;
            for (some, other) in some.iter_mut().zip(&mut other) {
                *some &= std::mem::take(other);
            }
        }
        for cursor in &mut terms.filters.not {
            mark(cursor, start, end, &mut other)?;
        }
        if !terms.filters.not.is_empty() {
            for (some, none) in some.iter_mut().zip(&mut other) {
                *some &= !std::mem::take(none);
            }
        }
        if terms.filters.has_phrases() {
            keep_phrases(&terms.filters, start, &mut some)?;
        }
        matches.bits(start, &some);
        some.fill(0);
    }
    Ok(())
}

/// Keeps the bits of documents that have the required phrases.
fn keep_phrases(filters: &Filters<'_>, start: u32, bits: &mut [u64]) -> Result<()> {
    for (first, word) in (start..).step_by(64).zip(bits) {
        let mut left = *word;
        while left != 0 {
            if !filters.admits_phrases(first + left.trailing_zeros())? {
                *word &= !(left & left.wrapping_neg());
            }
            left &= left - 1;
        }
    }
    Ok(())
}

/// Sets the first `count` bits.
fn mark_all(count: u32, bits: &mut [u64]) {
    let (whole, rest) = ((count / 64) as usize, count % 64);
    bits[..whole].fill(u64::MAX);
    if rest > 0 {
        bits[whole] = (1 << rest) - 1;
    }
}

/// Sets the bit of every document of the list from `start` to `end`.
fn mark(cursor: &mut Cursor<'_>, start: u32, end: u32, bits: &mut [u64]) -> Result<()> {
    let mut block = cursor.block_of(start, cursor.block());
    while block < cursor.block_count() && cursor.first_possible(block) < end {
        cursor.go_to_block(block);
        match cursor.bitmap(block)? {
            Some((first, words)) if first >= start => {
                let place = ((first - start) / 64) as usize;
                for (into, word) in bits[place..].iter_mut().zip(words) {
                    *into |= u64::from_le_bytes(*word);
                }
            }
            _ => {
                cursor.decode()?;
                // The border of a window may cut the block.
                let documents = cursor.documents();
                let from = documents.partition_point(|&document| document < start);
                let to = documents.partition_point(|&document| document < end);
                for &document in &documents[from..to] {
                    let place = document.wrapping_sub(start) as usize;
                    // In a damaged list the documents may not ascend.
                    if let Some(word) = bits.get_mut(place / 64) {
                        *word |= 1 << (place % 64);
                    }
                }
            }
        }
        if cursor.last(block) >= end {
            break;
        }
        block += 1;
    }
    cursor.go_to_block(block.min(cursor.block_count() - 1));
    Ok(())
}
