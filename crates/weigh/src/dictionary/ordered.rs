//! The terms of a trie in ascending order, from any term on.

use super::arrays::{Arrays, Node};

/// The terms of a dictionary in ascending order, from a term on: see [`Arrays::from`].
pub struct Ordered<'a> {
    arrays: Arrays<'a>,
    /// The nodes from the root to the current one. The path to the node at place `i` has `i` bytes.
    open: Vec<Open>,
    /// The labels on the way to the current node, and to the current leaf.
    path: Vec<u8>,
    /// The terms of the current leaf that are left: the first id, their number, the place of the next tail.
    leaf: (u64, u64, usize),
}

/// A node whose terms are not all passed.
struct Open {
    node: Node,
    /// The leaf of the term that ends here, unless it is passed.
    end: Option<u64>,
    /// The next of the labels that lead to nodes, and of those that lead to leaves.
    child: u64,
    leaf: u64,
    /// The number of labels that lead to leaves, but for that of the term that ends here.
    leaves: u64,
}

impl Open {
    fn new(arrays: &Arrays<'_>, number: u64) -> Self {
        let node = arrays.node(number);
        let end = arrays.end_leaf(&node);
        let leaves = node.label_count() - node.child_count();
        Open {
            node,
            end,
            child: 0,
            leaf: 0,
            // A trie of the empty term alone has no label at all.
            leaves: leaves.saturating_sub(u64::from(end.is_some())),
        }
    }

    /// The next label that leads to a node.
    fn child_label(&self, arrays: &Arrays<'_>) -> Option<u8> {
        let is_there = self.child < self.node.child_count();
        is_there.then(|| arrays.label(self.node.label_start + self.child))
    }

    /// The next label that leads to a leaf.
    fn leaf_label(&self, arrays: &Arrays<'_>) -> Option<u8> {
        let first = self.node.label_start + self.node.child_count();
        (self.leaf < self.leaves).then(|| arrays.label(first + self.leaf))
    }
}

impl<'a> Arrays<'a> {
    /// The terms from `first` on, ascending.
    ///
    /// Costs as a lookup of `first`, and the labels of the nodes on its way; each term then costs its tail, and the nodes
    /// that are new on its way.
    pub fn from(&self, first: &[u8]) -> Ordered<'a> {
        let mut ordered = Ordered {
            arrays: *self,
            open: Vec::new(),
            path: Vec::new(),
            leaf: (0, 0, 0),
        };
        if self.node_count > 0 {
            ordered.open.push(Open::new(self, 0));
            ordered.seek(first);
        }
        ordered
    }
}

impl Ordered<'_> {
    /// Advances from the root to the first term that is at least `first`.
    fn seek(&mut self, first: &[u8]) {
        let arrays = &self.arrays;
        for (depth, &byte) in first.iter().enumerate() {
            let at = &mut self.open[depth];
            // The path here is the beginning of `first`, and comes before it.
            at.end = None;
            while at.child_label(arrays).is_some_and(|label| label < byte) {
                at.child += 1;
            }
            while at.leaf_label(arrays).is_some_and(|label| label < byte) {
                at.leaf += 1;
            }
            if at.child_label(arrays) == Some(byte) {
                let number = at.node.child_start + at.child;
                at.child += 1;
                self.path.push(byte);
                self.open.push(Open::new(arrays, number));
                continue;
            }
            if at.leaf_label(arrays) == Some(byte) {
                self.enter_leaf(byte);
                while self.leaf.1 > 0 && self.arrays.tail(self.leaf.2).0 < &first[depth + 1..] {
                    self.pass_term();
                }
            }
            return;
        }
    }

    /// Goes to the leaf behind the next leaf label of the current node, which is `label`.
    fn enter_leaf(&mut self, label: u8) {
        let depth = self.open.len() - 1;
        let at = &mut self.open[depth];
        let leaf = self.arrays.leaf(at.node.leaf_start() + at.leaf);
        at.leaf += 1;
        self.path.truncate(depth);
        self.path.push(label);
        self.leaf = (
            leaf.first_id,
            leaf.term_count,
            (leaf.base + leaf.start) as usize,
        );
    }

    fn pass_term(&mut self) {
        let (id, count, at) = self.leaf;
        self.leaf = (id + 1, count - 1, self.arrays.tail(at).1);
    }

    /// The id of the next term, which replaces the content of `term`; none at the end.
    pub fn next(&mut self, term: &mut Vec<u8>) -> Option<u32> {
        loop {
            let (id, count, tail) = self.leaf;
            if count > 0 {
                term.clear();
                term.extend_from_slice(&self.path);
                term.extend_from_slice(self.arrays.tail(tail).0);
                self.pass_term();
                // There are fewer than 2^32 terms.
                return Some(id as u32);
            }
            let depth = self.open.len().checked_sub(1)?;
            let at = &mut self.open[depth];
            self.path.truncate(depth);
            if let Some(leaf) = at.end.take() {
                let leaf = self.arrays.leaf(leaf);
                self.leaf = (
                    leaf.first_id,
                    leaf.term_count,
                    (leaf.base + leaf.start) as usize,
                );
                continue;
            }
            match (at.child_label(&self.arrays), at.leaf_label(&self.arrays)) {
                (Some(child), leaf) if leaf.is_none_or(|leaf| child < leaf) => {
                    let number = at.node.child_start + at.child;
                    at.child += 1;
                    self.path.push(child);
                    self.open.push(Open::new(&self.arrays, number));
                }
                (_, Some(leaf)) => self.enter_leaf(leaf),
                _ => drop(self.open.pop()),
            }
        }
    }
}
