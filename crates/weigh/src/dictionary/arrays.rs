//! The trie as flat arrays, and the walk through them.
//!
//! The base is LOUDS-Sparse (SuRF, Zhang et al., SIGMOD 2018). Three changes save memory accesses. First, a node's
//! branches to other nodes come before its branches to leaves. So the place of a label alone tells whether it leads to
//! a node or a leaf, and to which one: no bit, no rank. Second, the places of the nodes are stored, eight in one
//! aligned block of 32 bytes, and not found by select. Third, a leaf holds a few terms (a container of a burst trie,
//! Heinz et al., TOIS 2002), whose tails are adjacent. So the lowest levels, which would have most of the nodes, take a
//! single read.

/// Nodes in a block.
pub(super) const BLOCK_NODES: u64 = 8;
/// Leaves in a block.
pub(super) const BLOCK_LEAVES: u64 = 8;
/// Words in a block of either.
pub(super) const BLOCK_WORDS: u64 = 4;
/// The most terms of a leaf: the limit of four bits. With 10 million web terms, a limit of 8 would cost 7% more memory,
/// and one more node for every fifth term.
pub(super) const LEAF_TERMS: usize = 15;
/// The length byte of a tail of at least this many bytes, which is stored elsewhere.
pub(super) const LONG_TAIL: u8 = 255;
/// The bytes of a reference to a long tail.
pub(super) const LONG_TAIL_PLACE: usize = 15;

/// The arrays of a [`Dictionary`](super::Dictionary), little-endian, as in its file.
///
/// Nodes are numbered level by level from the root, node 0. Leaves, of 1 to 15 terms each, are numbered in the same
/// order, and terms leaf by leaf: the number of a term is its id. A node's labels are adjacent: first those that lead
/// to nodes, ascending, then those that lead to leaves, ascending. If the path to a node is itself a term, that term
/// has a leaf of its own. It is the node's last leaf, and its label repeats the node's first label. (A trie of the
/// empty term alone has one node without labels.)
///
/// The labels that lead to nodes lead to nodes 1, 2, 3 ... in the order of the labels. Those that lead to leaves lead
/// to leaves 0, 1, 2 ... likewise.
///
/// The labels that lead to nodes lead to nodes 1, 2, 3 ... and those that lead to leaves to leaves
/// 0, 1, 2 ... in the order in which they stand.
#[derive(Debug, Clone, Copy)]
pub struct Arrays<'a> {
    /// Four words per block of eight nodes. Word 0: the number of labels of all nodes before the block (low 32 bits),
    /// and the first node that a label of the block leads to (high 32 bits). Byte i of the other words belongs to the
    /// block's node i, and ends count from word 0. Word 1: the low 8 bits of the end of its labels. Word 2: the low 8
    /// bits of the end of its children. Word 3: the high 4 bits of both (of the labels in bits 0 to 3, of the children
    /// in bits 4 to 7). A node begins at the end of the one before it.
    pub nodes: &'a [u64],
    /// The labels of all nodes, one byte each, eight per word.
    pub labels: &'a [u64],
    /// Four words per block of eight leaves. Word 0: the offset in `tails` of the block's tails. Word 1: the first id
    /// of the block (low 32 bits), and the number of terms of every leaf, four bits each (high 32 bits). Words 2 and 3:
    /// the start of each leaf's tails, counted from word 0, 16 bits each.
    pub leaves: &'a [u64],
    /// The tails of the terms, the bytes after the labels; the terms of a leaf ascend. A tail is a length of one byte
    /// and its bytes. Length 255 stands for a tail of 255 bytes or more: its offset in `tails` (8 bytes) and its length
    /// (7 bytes) follow.
    pub tails: &'a [u8],
    /// The node for every combination of `shortcut_depth` first bytes. The index has the bytes' codes as digits to the
    /// base `alphabet_size`, the first byte highest. 0 means to begin at the root.
    pub shortcuts: &'a [u32],
    /// The code of every byte; `alphabet_size` or more for a byte without a shortcut.
    pub codes: &'a [u8],
    /// The number of nodes; 0 without terms.
    pub node_count: u64,
    /// The number of bytes that a shortcut skips. Shorter terms begin at the root.
    pub shortcut_depth: u64,
    /// The number of codes.
    pub alphabet_size: u64,
}

/// The labels and children of a node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    pub label_start: u64,
    pub label_end: u64,
    /// The first child.
    pub child_start: u64,
    pub child_end: u64,
}

/// The terms of a leaf.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leaf {
    pub first_id: u64,
    pub term_count: u64,
    /// The start of the block's tails.
    pub base: u64,
    /// The start of the leaf's tails, counted from `base`.
    pub start: u64,
}

impl Node {
    pub fn label_count(&self) -> u64 {
        self.label_end - self.label_start
    }

    pub fn child_count(&self) -> u64 {
        self.child_end - self.child_start
    }

    /// The first leaf: of the labels before this node, one leads to each node except the root.
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

    /// The term with this id, which must exist.
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

    /// The first node of the walk for `term`, and the number of bytes that lead to it.
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
        // Shifted by one node, the ends become the starts.
        let (label_lows, child_lows, highs) = (block[1], block[2], block[3]);
        Node {
            label_start: labels + label_end(label_lows << 8, highs << 8),
            label_end: labels + label_end(label_lows, highs),
            child_start: children + child_end(child_lows << 8, highs << 8),
            child_end: children + child_end(child_lows, highs),
        }
    }

    /// The first place of `byte` among the node's labels.
    fn find(&self, node: &Node, byte: u8) -> Option<u64> {
        const ONES: u64 = 0x0101_0101_0101_0101;
        const LOW_BITS: u64 = 0x7f * ONES;
        let pattern = u64::from(byte) * ONES;
        let (first, end) = (node.label_start / 8, node.label_end.div_ceil(8));
        for (index, &word) in (first..end).zip(&self.labels[first as usize..end as usize]) {
            let differing = word ^ pattern;
            // Sets the highest bit of every byte that is zero, and no other bit.
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

    pub(super) fn label(&self, label: u64) -> u8 {
        // The remaining eight bits.
        (self.labels[(label / 8) as usize] >> (label % 8 * 8)) as u8
    }

    /// The leaf of the term that ends at this node, if one does.
    pub(super) fn end_leaf(&self, node: &Node) -> Option<u64> {
        if node.label_count() == 0 {
            return Some(0);
        }
        self.repeats_label(node)
            .then(|| node.label_end - node.child_end)
    }

    /// Whether the node's last label repeats its first, and so marks the end of a term.
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

    /// The tails of a leaf's terms, in order of their ids.
    fn tails_of(&self, leaf: &Leaf) -> impl Iterator<Item = &[u8]> {
        let mut at = (leaf.base + leaf.start) as usize;
        (0..leaf.term_count).map(move |_| {
            let (tail, next) = self.tail(at);
            at = next;
            tail
        })
    }

    /// The tail at an offset, and the offset of the next one.
    pub(super) fn tail(&self, at: usize) -> (&[u8], usize) {
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

    /// The offset and the length of a long tail, from the bytes at `at`.
    pub(super) fn long_tail(&self, at: usize) -> (u64, u64) {
        let number = |bytes: &[u8]| {
            let highest_first = bytes.iter().rev();
            highest_first.fold(0, |sum: u64, &byte| sum << 8 | u64::from(byte))
        };
        let place = &self.tails[at..at + LONG_TAIL_PLACE];
        (number(&place[..8]), number(&place[8..]))
    }

    /// The id of the leaf's term with tail `tail`.
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

    /// The last node for which `holds` is true. It is true for the root, and never true after it is false.
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
