//! The trie as flat arrays, and the walk through them.
//!
//! LOUDS-Sparse (SuRF, Zhang et al., SIGMOD 2018) with three changes that spare memory accesses. A
//! node's branches to other nodes come before its branches to leaves, so that the place of a label
//! tells whether a node or a leaf follows and which: no bit for it, no rank. The places where nodes
//! begin are kept, eight in one aligned block of 32 bytes, instead of found by select. And a leaf
//! holds a few terms (a container of a burst trie, Heinz et al., TOIS 2002), whose tails stand side
//! by side: the lowest levels, in which most nodes would be, are one read.

/// Nodes in a block.
pub(super) const BLOCK_NODES: u64 = 8;
/// Leaves in a block.
pub(super) const BLOCK_LEAVES: u64 = 8;
/// Words in a block of either.
pub(super) const BLOCK_WORDS: u64 = 4;
/// The most terms of a leaf: what four bits count. With 10 million web terms, 8 would cost 7% more
/// memory and a node more for every fifth term.
pub(super) const LEAF_TERMS: usize = 15;
/// The length that stands for a tail of as many bytes or more, kept elsewhere.
pub(super) const LONG_TAIL: u8 = 255;
/// The bytes that say where.
pub(super) const LONG_TAIL_PLACE: usize = 15;

/// The arrays of a [`Dictionary`](super::Dictionary), little-endian, as they are in its file.
///
/// Nodes are numbered level by level from the root, node 0; leaves, of 1 to 15 terms each, in the
/// same order; and terms leaf by leaf: that is a term's id. A node's labels stand together, first
/// those that lead to nodes, ascending, then those that lead to leaves, ascending. If the path to a
/// node is itself a term, that term has a leaf of its own, the node's last, whose label repeats the
/// node's first label. (A trie of the empty term alone has one node without labels.)
///
/// The labels that lead to nodes lead to nodes 1, 2, 3 ... and those that lead to leaves to leaves
/// 0, 1, 2 ... in the order in which they stand.
#[derive(Debug, Clone, Copy)]
pub struct Arrays<'a> {
    /// Four words for every eight nodes. Word 0: the number of labels of all nodes before the
    /// block (low 32 bits), and the first node that a label of the block leads to (high 32 bits).
    /// Byte i of the other words is for the block's node i, and ends count from word 0: the low 8
    /// bits of the end of its labels (word 1), of the end of its children (word 2), and the high 4
    /// bits of both (word 3: of the labels in bits 0 to 3, of the children in bits 4 to 7). A node
    /// begins where the one before it ends.
    pub nodes: &'a [u64],
    /// The labels of all nodes, one byte each, eight in a word.
    pub labels: &'a [u64],
    /// Four words for every eight leaves. Word 0: where in `tails` those of the block begin. Word
    /// 1: the first id of the block (low 32 bits), and of every leaf the number of terms, four bits
    /// each (high 32 bits). Words 2 and 3: where its tails begin, counted from word 0, 16 bits each.
    pub leaves: &'a [u64],
    /// What follows the labels of a term, the terms of a leaf ascending: a length of one byte and
    /// as many bytes. Length 255 stands for a tail of as many bytes or more: there follow its
    /// offset in `tails` (8 bytes) and its length (7).
    pub tails: &'a [u8],
    /// The node at which every combination of `shortcut_depth` first bytes arrives, by their codes
    /// as digits to the base `alphabet_size`, the first byte highest; 0 is to begin at the root.
    pub shortcuts: &'a [u32],
    /// For every byte its code; `alphabet_size` or more for one that no shortcut begins with.
    pub codes: &'a [u8],
    /// The number of nodes; 0 without terms.
    pub node_count: u64,
    /// How many bytes a shortcut spares; terms of fewer bytes begin at the root.
    pub shortcut_depth: u64,
    /// How many codes there are.
    pub alphabet_size: u64,
}

/// Where a node's labels and children stand.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    pub label_start: u64,
    pub label_end: u64,
    /// The first child is this node.
    pub child_start: u64,
    pub child_end: u64,
}

/// A leaf's terms.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leaf {
    pub first_id: u64,
    pub term_count: u64,
    /// Where the tails of the block begin.
    pub base: u64,
    /// Where those of the leaf do, counted from there.
    pub start: u64,
}

impl Node {
    pub fn label_count(&self) -> u64 {
        self.label_end - self.label_start
    }

    pub fn child_count(&self) -> u64 {
        self.child_end - self.child_start
    }

    /// The first leaf: of the labels before this node, one leads to each node but the root.
    pub fn leaf_start(&self) -> u64 {
        self.label_start + 1 - self.child_start
    }
}

impl Arrays<'_> {
    /// The id of `term`, if it is in the dictionary.
    pub fn lookup(&self, term: &[u8]) -> Option<u32> {
        if self.node_count == 0 {
            return None;
        }
        let (mut node, mut depth) = self.start(term);
        loop {
            let at = self.node(node);
            let Some(&byte) = term.get(depth) else {
                return self
                    .end_leaf(&at)
                    .and_then(|leaf| self.find_tail(leaf, b""));
            };
            let place = self.find(&at, byte)?;
            depth += 1;
            if place < at.child_count() {
                node = at.child_start + place;
                continue;
            }
            let leaf = at.leaf_start() + place - at.child_count();
            return self.find_tail(leaf, &term[depth..]);
        }
    }

    /// The term with this id, which there is.
    pub fn term(&self, id: u32) -> Vec<u8> {
        let leaf = self.leaf_of(u64::from(id));
        let terms = self.leaf(leaf);
        // At most 14.
        let place = (u64::from(id) - terms.first_id) as usize;
        let tail = self.tails_of(&terms).nth(place).unwrap_or_default();
        let mut reversed: Vec<u8> = tail.iter().rev().copied().collect();
        let mut node = self.last_node(|node| node.leaf_start() <= leaf);
        let at = self.node(node);
        if self.end_leaf(&at) != Some(leaf) {
            reversed.push(self.label(at.label_start + at.child_count() + leaf - at.leaf_start()));
        }
        while node > 0 {
            let parent = self.last_node(|parent| parent.child_start <= node);
            let at = self.node(parent);
            reversed.push(self.label(at.label_start + node - at.child_start));
            node = parent;
        }
        reversed.reverse();
        reversed
    }

    /// The node where the walk for `term` begins, and how many bytes lead to it.
    fn start(&self, term: &[u8]) -> (u64, usize) {
        // At most 4.
        let depth = self.shortcut_depth as usize;
        if term.len() < depth {
            return (0, 0);
        }
        let mut place = 0;
        for &byte in &term[..depth] {
            let code = u64::from(self.codes[usize::from(byte)]);
            if code >= self.alphabet_size {
                return (0, 0);
            }
            place = place * self.alphabet_size + code;
        }
        match self.shortcuts[place as usize] {
            0 => (0, 0),
            node => (u64::from(node), depth),
        }
    }

    pub(super) fn node(&self, node: u64) -> Node {
        let block = (node / BLOCK_NODES * BLOCK_WORDS) as usize;
        let block = &self.nodes[block..block + 4];
        let shift = node % BLOCK_NODES * 8;
        let byte = |word: u64| (word >> shift) & 0xff;
        let label_end = |low: u64, high: u64| byte(low) | (byte(high) & 15) << 8;
        let child_end = |low: u64, high: u64| byte(low) | (byte(high) >> 4) << 8;
        let (labels, children) = (block[0] & 0xffff_ffff, block[0] >> 32);
        // Shifted by one node, the ends are the starts.
        let (label_lows, child_lows, highs) = (block[1], block[2], block[3]);
        Node {
            label_start: labels + label_end(label_lows << 8, highs << 8),
            label_end: labels + label_end(label_lows, highs),
            child_start: children + child_end(child_lows << 8, highs << 8),
            child_end: children + child_end(child_lows, highs),
        }
    }

    /// The first place among the node's labels that has `byte`.
    fn find(&self, node: &Node, byte: u8) -> Option<u64> {
        const ONES: u64 = 0x0101_0101_0101_0101;
        const LOW_BITS: u64 = 0x7f * ONES;
        let pattern = u64::from(byte) * ONES;
        let (first, end) = (node.label_start / 8, node.label_end.div_ceil(8));
        for (index, &word) in (first..end).zip(&self.labels[first as usize..end as usize]) {
            let differing = word ^ pattern;
            // The highest bit of every byte that is zero, and no other.
            let mut equal = !(((differing & LOW_BITS) + LOW_BITS) | differing | LOW_BITS);
            if index == first {
                equal &= !0 << (node.label_start % 8 * 8);
            }
            if equal != 0 {
                let label = index * 8 + u64::from(equal.trailing_zeros()) / 8;
                return (label < node.label_end).then(|| label - node.label_start);
            }
        }
        None
    }

    fn label(&self, label: u64) -> u8 {
        // The eight bits that are left.
        (self.labels[(label / 8) as usize] >> (label % 8 * 8)) as u8
    }

    /// The leaf of the term that ends at this node, if one does.
    fn end_leaf(&self, node: &Node) -> Option<u64> {
        if node.label_count() == 0 {
            return Some(0);
        }
        self.repeats_label(node)
            .then(|| node.label_end - node.child_end)
    }

    /// Whether the node's last label is its first once more, and so the end of a term.
    pub(super) fn repeats_label(&self, node: &Node) -> bool {
        node.label_count() > 1 && self.label(node.label_start) == self.label(node.label_end - 1)
    }

    pub(super) fn leaf(&self, leaf: u64) -> Leaf {
        const NIBBLES: u64 = 0x0f0f_0f0f;
        let block = (leaf / BLOCK_LEAVES * BLOCK_WORDS) as usize;
        let block = &self.leaves[block..block + 4];
        let place = leaf % BLOCK_LEAVES;
        let counts = block[1] >> 32;
        let before = counts & !(!0 << (place * 4));
        let pairs = (before & NIBBLES) + (before >> 4 & NIBBLES);
        // The fourth byte of the product is the sum of four: at most 8 times 15.
        let sum = ((pairs * 0x0101_0101) >> 24) & 0xff;
        let starts = block[2 + place as usize / 4];
        Leaf {
            first_id: (block[1] & 0xffff_ffff) + sum,
            term_count: counts >> (place * 4) & 15,
            base: block[0],
            start: starts >> (place % 4 * 16) & 0xffff,
        }
    }

    /// The tails of a leaf's terms, in the order of their ids.
    fn tails_of(&self, leaf: &Leaf) -> impl Iterator<Item = &[u8]> {
        let mut at = (leaf.base + leaf.start) as usize;
        (0..leaf.term_count).map(move |_| {
            let (tail, next) = self.tail(at);
            at = next;
            tail
        })
    }

    /// The tail at a place, and the place of the next.
    fn tail(&self, at: usize) -> (&[u8], usize) {
        let (length, at) = (self.tails[at], at + 1);
        if length < LONG_TAIL {
            let end = at + usize::from(length);
            return (&self.tails[at..end], end);
        }
        let (start, length) = self.long_tail(at);
        (
            &self.tails[start as usize..][..length as usize],
            at + LONG_TAIL_PLACE,
        )
    }

    /// Where a long tail begins and how long it is, by the bytes `at`.
    pub(super) fn long_tail(&self, at: usize) -> (u64, u64) {
        let number = |bytes: &[u8]| {
            let highest_first = bytes.iter().rev();
            highest_first.fold(0, |sum: u64, &byte| sum << 8 | u64::from(byte))
        };
        let place = &self.tails[at..at + LONG_TAIL_PLACE];
        (number(&place[..8]), number(&place[8..]))
    }

    /// The id of the leaf's term that ends in `tail`.
    fn find_tail(&self, leaf: u64, tail: &[u8]) -> Option<u32> {
        let leaf = self.leaf(leaf);
        let place = self.tails_of(&leaf).position(|other| other == tail)?;
        // There are fewer than 2^32 terms.
        Some((leaf.first_id + place as u64) as u32)
    }

    /// The leaf of the term with this id.
    fn leaf_of(&self, id: u64) -> u64 {
        let (blocks, _) = self.leaves.as_chunks::<{ BLOCK_WORDS as usize }>();
        let after = blocks.partition_point(|block| block[1] & 0xffff_ffff <= id);
        let first = (after as u64 - 1) * BLOCK_LEAVES;
        let not_after = |leaf: &u64| {
            let leaf = self.leaf(*leaf);
            leaf.term_count > 0 && leaf.first_id <= id
        };
        let leaves = (first..first + BLOCK_LEAVES).take_while(not_after);
        leaves.last().unwrap_or(first)
    }

    /// The last node for which `holds`, which holds for the root and for no node behind one for
    /// which it does not.
    fn last_node(&self, holds: impl Fn(&Node) -> bool) -> u64 {
        let (mut low, mut high) = (0, self.node_count);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            match holds(&self.node(middle)) {
                true => low = middle,
                false => high = middle,
            }
        }
        low
    }
}
