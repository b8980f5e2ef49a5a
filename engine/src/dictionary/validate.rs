//! Whether arrays that came from outside may be walked: every place that one array names is in the
//! array that it names a place of.
//!
//! A checksum tells accidents; this tells everything by which a walk could leave an array or not
//! end, so that neither the lookup here nor the one in C++ has to look. Costs one pass over the
//! nodes and leaves.

use super::arrays::{Arrays, BLOCK_LEAVES, LEAF_WORDS, LONG_TAIL};
use super::layout::Header;

/// The most labels of a node: every byte, and the end of a term.
const MOST_LABELS: u64 = 257;

/// Checks that all places are right.
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
    let empty_term_alone = (header.terms, header.nodes, header.labels) == (1, 1, 0);
    let (mut label_end, mut child_end) = (0, 1);
    for number in 0..header.nodes {
        let node = arrays.node(number);
        let right = (node.label_start, node.child_start) == (label_end, child_end)
            && node.label_start <= node.label_end
            && node.child_start <= node.child_end
            && node.label_count() <= MOST_LABELS
            && (node.label_count() > 0 || empty_term_alone)
            && node.child_count() <= node.label_count()
            && node.label_end <= header.labels
            // The end of a term is a leaf.
            && (node.child_count() < node.label_count() || !arrays.repeats_label(&node))
            // An earlier node leads here, so that every path comes from the root.
            && number < child_end;
        if !right {
            return false;
        }
        (label_end, child_end) = (node.label_end, node.child_end);
    }
    if header.nodes == 0 {
        return header.terms == 0 && header.labels == 0;
    }
    let leaf_count = label_end + 1 - child_end;
    label_end == header.labels
        && child_end == header.nodes
        && (leaf_count == header.terms || empty_term_alone)
}

fn leaves_are_right(arrays: &Arrays<'_>, header: &Header) -> bool {
    // Places are 64-bit and may be anything.
    let inside = |start: u64, length: u64| {
        let end = start.checked_add(length);
        end.is_some_and(|end| end <= header.tail_bytes)
    };
    let mut end = 0;
    for leaf in 0..header.terms {
        let base = arrays.leaves[(leaf / BLOCK_LEAVES * LEAF_WORDS) as usize];
        if !inside(base, 0) {
            return false;
        }
        let (start, length) = arrays.tail_place(leaf);
        if start != end || !inside(start, length) {
            return false;
        }
        if length == LONG_TAIL {
            let (start, length) = arrays.long_tail_place(start);
            if !inside(start, length) {
                return false;
            }
        }
        end = start + length;
    }
    true
}

fn shortcuts_are_right(arrays: &Arrays<'_>) -> bool {
    let most = arrays.node_count.saturating_sub(1);
    arrays.shortcuts.iter().all(|&node| u64::from(node) <= most)
}
