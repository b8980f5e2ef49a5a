//! Building the arrays from sorted terms, level by level.

use rayon::prelude::*;

use super::arrays::{Arrays, BLOCK_LEAVES, BLOCK_NODES, LEAF_TERMS, LONG_TAIL, LONG_TAIL_PLACE};
use super::layout::{Header, Layout, MAX_SHORTCUT_DEPTH};
use tokapi_storage::error::{Error, Result};
use tokapi_storage::strings::Strings;

/// The number of terms per shortcut: half a byte per term. With 1.2 million web terms that gives three bytes of 26
/// letters; a fourth byte would cost 1.5 bytes per term.
const TERMS_PER_SHORTCUT: u64 = 8;

/// Sorts the terms by bytes and removes repeats.
///
/// # Errors
/// [`Error::Limit`]: 2^32 or more terms.
pub(super) fn sorted(terms: Strings) -> Result<Strings> {
    let count = u32::try_from(terms.len()).map_err(|_| too_many())?;
    let ascending = |index: usize| terms.get(index - 1) < terms.get(index);
    if (1..terms.len()).into_par_iter().all(ascending) {
        return Ok(terms);
    }
    // The first eight bytes decide most comparisons without a look at the term.
    let mut order: Vec<(u64, u32)> = (0..count)
        .into_par_iter()
        .map(|index| (first_bytes(terms.get(index as usize)), index))
        .collect();
    order.par_sort_unstable_by(|a, b| {
        let whole = || terms.get(a.1 as usize).cmp(terms.get(b.1 as usize));
        a.0.cmp(&b.0).then_with(whole)
    });
    order.dedup_by(|a, b| a.0 == b.0 && terms.get(a.1 as usize) == terms.get(b.1 as usize));
    let mut sorted = Strings::with_capacity(order.len(), terms.byte_count());
    for (_, index) in order {
        sorted.push(terms.get(index as usize));
    }
    Ok(sorted)
}

/// The first eight bytes, padded with zeros, as a number with the same order.
fn first_bytes(term: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let length = term.len().min(8);
    bytes[..length].copy_from_slice(&term[..length]);
    u64::from_be_bytes(bytes)
}

fn too_many() -> Error {
    Error::Limit(
        "a dictionary has fewer than 2^32 terms, nodes and branches; leave out rare terms".into(),
    )
}

/// Builds the file of ascending distinct terms.
///
/// # Errors
/// [`Error::Limit`]: 2^32 or more labels.
pub(super) fn build(terms: &Strings) -> Result<(Layout, Vec<u64>)> {
    let mut trie = Trie::new(terms);
    // For each node of a level, the terms that share its path.
    let mut level = Vec::new();
    if !terms.is_empty() {
        level.push((0, terms.len()));
    }
    let mut depth = 0;
    while !level.is_empty() {
        let mut next = Vec::new();
        for range in level {
            trie.add_node(range, depth, &mut next);
        }
        level = next;
        depth += 1;
    }
    trie.finish()
}

/// The terms from one index to before another.
type Range = (usize, usize);

/// The arrays under construction.
struct Trie<'a> {
    terms: &'a Strings,
    nodes: Vec<u64>,
    node_count: u64,
    /// The number of nodes that labels lead to, the root included.
    child_end: u64,
    labels: Vec<u8>,
    leaves: Vec<u64>,
    leaf_count: u64,
    /// The number of terms in leaves.
    term_count: u64,
    tails: Vec<u8>,
    /// For each long tail: the offset in `tails` of its reference, its term, and its start in the term.
    long_tails: Vec<(usize, usize, usize)>,
    shortcuts: Shortcuts,
    /// The leaves of one node, each with label and terms.
    node_leaves: Vec<(u8, Range)>,
}

impl<'a> Trie<'a> {
    fn new(terms: &'a Strings) -> Self {
        Trie {
            terms,
            nodes: Vec::new(),
            node_count: 0,
            child_end: 1,
            labels: Vec::new(),
            leaves: Vec::new(),
            leaf_count: 0,
            term_count: 0,
            tails: Vec::new(),
            long_tails: Vec::new(),
            shortcuts: Shortcuts::new(terms),
            node_leaves: Vec::new(),
        }
    }

    /// Adds the node of the terms in `range`, which share its path of `depth` bytes. The ranges of its children go to
    /// `children`.
    fn add_node(&mut self, range: Range, depth: usize, children: &mut Vec<Range>) {
        let (label_start, child_start) = (self.labels.len() as u64, self.child_end);
        self.shortcuts
            .note(self.terms.get(range.0), depth, self.node_count);
        let ends_here = self.terms.get(range.0).len() == depth;
        self.node_leaves.clear();
        let mut from = range.0 + usize::from(ends_here);
        while from < range.1 {
            let byte = self.terms.get(from)[depth];
            let same = (from + 1..range.1).take_while(|&term| self.terms.get(term)[depth] == byte);
            let to = from + 1 + same.count();
            if to - from <= LEAF_TERMS {
                self.node_leaves.push((byte, (from, to)));
            } else {
                self.labels.push(byte);
                self.child_end += 1;
                children.push((from, to));
            }
            from = to;
        }
        for place in 0..self.node_leaves.len() {
            let (byte, terms) = self.node_leaves[place];
            self.labels.push(byte);
            self.add_leaf(terms, depth + 1);
        }
        if ends_here {
            // Only a node without labels has no label to repeat: the root of the empty term alone.
            if let Some(&first) = self.labels.get(label_start as usize) {
                self.labels.push(first);
            }
            self.add_leaf((range.0, range.0 + 1), depth);
        }
        self.end_node(label_start, child_start);
    }

    fn end_node(&mut self, label_start: u64, child_start: u64) {
        let place = self.node_count % BLOCK_NODES;
        if place == 0 {
            self.nodes
                .extend([label_start | child_start << 32, 0, 0, 0]);
        }
        self.node_count += 1;
        let Some([bases, label_lows, child_lows, highs]) = self.nodes.last_chunk_mut() else {
            return;
        };
        // Wrong beyond 2^32 labels, which `finish` refuses.
        let label_end = (self.labels.len() as u64).wrapping_sub(*bases & 0xffff_ffff);
        let child_end = self.child_end.wrapping_sub(*bases >> 32);
        let shift = place * 8;
        *label_lows |= (label_end & 0xff) << shift;
        *child_lows |= (child_end & 0xff) << shift;
        *highs |= (label_end >> 8 & 15 | (child_end >> 8 & 15) << 4) << shift;
    }

    /// Adds the leaf of `terms`. `depth` bytes lead to it.
    fn add_leaf(&mut self, terms: Range, depth: usize) {
        let place = self.leaf_count % BLOCK_LEAVES;
        if place == 0 {
            let base = self.tails.len() as u64;
            self.leaves.extend([base, self.term_count, 0, 0]);
        }
        self.leaf_count += 1;
        let Some([base, counts, starts @ ..]) = self.leaves.last_chunk_mut::<4>() else {
            return;
        };
        let count = (terms.1 - terms.0) as u64;
        *counts |= count << (32 + place * 4);
        // Seven leaves before it of at most 15 tails of at most 255 bytes: less than 2^16.
        let start = self.tails.len() as u64 - *base;
        starts[place as usize / 4] |= start << (place % 4 * 16);
        self.term_count += count;
        for term in terms.0..terms.1 {
            self.add_tail(term, depth);
        }
    }

    fn add_tail(&mut self, term: usize, depth: usize) {
        let tail = &self.terms.get(term)[depth..];
        // Less than 255 unless cut.
        let length = tail.len().min(LONG_TAIL.into()) as u8;
        self.tails.push(length);
        if length < LONG_TAIL {
            self.tails.extend_from_slice(tail);
        } else {
            self.long_tails.push((self.tails.len(), term, depth));
            self.tails.extend([0; LONG_TAIL_PLACE]);
        }
    }

    fn finish(mut self) -> Result<(Layout, Vec<u64>)> {
        for (place, term, depth) in std::mem::take(&mut self.long_tails) {
            let tail = &self.terms.get(term)[depth..];
            let offset = self.tails.len() as u64;
            self.tails[place..place + 8].copy_from_slice(&offset.to_le_bytes());
            // No term has 2^56 bytes.
            let length = (tail.len() as u64).to_le_bytes();
            self.tails[place + 8..place + LONG_TAIL_PLACE].copy_from_slice(&length[..7]);
            self.tails.extend_from_slice(tail);
        }
        let header = Header {
            terms: self.term_count,
            nodes: self.node_count,
            labels: self.labels.len() as u64,
            tail_bytes: self.tails.len() as u64,
            shortcut_depth: self.shortcuts.depth as u64,
            alphabet_size: self.shortcuts.alphabet_size,
        };
        let layout = Layout::new(header).ok_or_else(too_many)?;
        self.labels.resize(self.labels.len().next_multiple_of(8), 0);
        let (labels, _) = self.labels.as_chunks();
        let labels: Vec<u64> = labels.iter().copied().map(u64::from_le_bytes).collect();
        let image = layout.write(&Arrays {
            nodes: &self.nodes,
            labels: &labels,
            leaves: &self.leaves,
            tails: &self.tails,
            shortcuts: &self.shortcuts.nodes,
            codes: &self.shortcuts.codes,
            node_count: header.nodes,
            shortcut_depth: header.shortcut_depth,
            alphabet_size: header.alphabet_size,
        });
        Ok((layout, image))
    }
}

/// The table of first bytes.
struct Shortcuts {
    depth: usize,
    alphabet_size: u64,
    codes: [u8; 256],
    nodes: Vec<u32>,
}

impl Shortcuts {
    /// An empty table. Its depth depends on the number of terms.
    fn new(terms: &Strings) -> Self {
        let mut occurs = [[false; 256]; MAX_SHORTCUT_DEPTH as usize];
        for term in terms.iter() {
            for (occurs, &byte) in occurs.iter_mut().zip(term) {
                occurs[usize::from(byte)] = true;
            }
        }
        let most = terms.len() as u64 / TERMS_PER_SHORTCUT;
        for depth in (1..=MAX_SHORTCUT_DEPTH as usize).rev() {
            let mut codes = [0xff; 256];
            let mut alphabet_size = 0u64;
            for (byte, code) in codes.iter_mut().enumerate() {
                if occurs[..depth].iter().any(|occurs| occurs[byte]) {
                    // At most 255 before this one.
                    *code = alphabet_size as u8;
                    alphabet_size += 1;
                }
            }
            let size = alphabet_size.pow(depth as u32);
            if size <= most {
                return Shortcuts {
                    depth,
                    alphabet_size,
                    codes,
                    nodes: vec![0; size as usize],
                };
            }
        }
        Shortcuts {
            depth: 0,
            alphabet_size: 0,
            codes: [0xff; 256],
            nodes: vec![0],
        }
    }

    /// Stores the node to which the first `depth` bytes of `term` lead.
    fn note(&mut self, term: &[u8], depth: usize, node: u64) {
        if depth != self.depth {
            return;
        }
        let digits = term[..depth]
            .iter()
            .map(|&byte| self.codes[usize::from(byte)]);
        let place = digits.fold(0, |sum, code| sum * self.alphabet_size + u64::from(code));
        // A trie with 2^32 nodes is refused at the end.
        self.nodes[place as usize] = node as u32;
    }
}
