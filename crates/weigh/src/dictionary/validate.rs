//! Validation of arrays from outside: every reference from one array to another is in range.
//!
//! A checksum detects accidents. This check detects everything by which a walk could leave an array or never end, so
//! neither the lookup here nor the one in C++ has to check. Costs one pass over the nodes and leaves.

use super::arrays::{Arrays, LONG_TAIL, LONG_TAIL_PLACE};
use super::layout::Header;

/// The most labels of a node: every byte, and the end of a term.
const MOST_LABELS: u64 = 257;

/// Checks that all references are in range.
pub(super) fn validate(arrays: &Arrays<'_>, header: &Header) -> Result<(), String> {
    let valid = nodes_are_right(arrays, header)
        && leaves_are_right(arrays, header)
        && shortcuts_are_right(arrays);
    match valid {
        true => Ok(()),
        false => Err("the dictionary is damaged: its arrays contradict each other".into()),
    }
}

fn nodes_are_right(arrays: &Arrays<'_>, header: &Header) -> bool {
    let empty_term_alone = (header.nodes, header.labels) == (1, 0);
    let (mut label_end, mut child_end) = (0, 1);
    for number in 0..header.nodes {
        let node = arrays.node(number);
        let right = (node.label_start, node.child_start) == (label_end, child_end)
            && node.label_start <= node.label_end
            && node.child_start <= node.child_end
            && node.label_end <= header.labels
            && node.label_count() <= MOST_LABELS
            && (node.label_count() > 0 || empty_term_alone)
            && node.child_count() <= node.label_count()
            // The end of a term is a leaf.
            && (node.child_count() < node.label_count() || !arrays.repeats_label(&node))
            // An earlier node leads here, so every path comes from the root.
            && number < child_end;
        if !right {
            return false;
        }
        (label_end, child_end) = (node.label_end, node.child_end);
    }
    header.nodes == 0 || (label_end, child_end) == (header.labels, header.nodes)
}

fn leaves_are_right(arrays: &Arrays<'_>, header: &Header) -> bool {
    let (mut id, mut at) = (0, 0);
    for number in 0..header.leaves().unwrap_or_default() {
        let leaf = arrays.leaf(number);
        // An offset has 64 bits and may have any value.
        let start = leaf.base.checked_add(leaf.start);
        if leaf.first_id != id || leaf.term_count == 0 || start != Some(at) {
            return false;
        }
        id += leaf.term_count;
        for _ in 0..leaf.term_count {
            match tail_end(arrays, at) {
                Some(end) => at = end,
                None => return false,
            }
        }
    }
    id == header.terms
}

/// The end of the tail at an offset, if the tail is within the array.
fn tail_end(arrays: &Arrays<'_>, at: u64) -> Option<u64> {
    let at = usize::try_from(at).ok()?;
    let length = *arrays.tails.get(at)?;
    let is_long = length == LONG_TAIL;
    let stored = if is_long {
        LONG_TAIL_PLACE
    } else {
        length.into()
    };
    let end = at + 1 + stored;
    if end > arrays.tails.len() {
        return None;
    }
    if is_long {
        let (start, length) = arrays.long_tail(at + 1);
        start
            .checked_add(length)
            .filter(|end| *end <= arrays.tails.len() as u64)?;
    }
    Some(end as u64)
}

fn shortcuts_are_right(arrays: &Arrays<'_>) -> bool {
    let most = arrays.node_count.saturating_sub(1);
    arrays.shortcuts.iter().all(|&node| u64::from(node) <= most)
}
