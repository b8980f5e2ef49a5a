//! One step, node by node: the ranks of all nodes may exceed the memory. A device runs the same
//! step.

use serde::{Deserialize, Serialize};

use super::super::super::{
    Combine, Emitter, Functors, Item, Items, Job, ListJob, MapFunction, Portable, Records,
    ReduceFunction, Room,
};
use super::ONE;
use tokapi_storage::error::Result;

/// A node and its targets.
#[derive(Clone, Serialize, Deserialize)]
pub(in super::super) struct Node {
    pub(super) rank: u64,
    pub(super) targets: Vec<u32>,
}

/// One step: every node distributes its rank.
#[derive(Serialize, Deserialize)]
pub(in super::super) struct Iteration(pub Passing);

/// The share of each rank that follows links.
#[derive(Serialize, Deserialize)]
pub(in super::super) struct Passing {
    damping: f64,
    count: u32,
    /// The rank that every node gets independently of links.
    base: u64,
}

impl Passing {
    pub(super) fn new(damping: f64, count: u32) -> Self {
        Passing {
            damping,
            count,
            base: 0,
        }
    }

    /// The number of nodes.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// Adds the ranks of nodes without links: all nodes share them.
    pub(super) fn share(&mut self, dangling: &Records<u64>) -> Result<()> {
        let dangling = dangling.iter().sum::<Result<u64>>()?;
        let shared = ONE - self.passed(ONE) + self.passed(dangling);
        self.base = shared / u64::from(self.count.max(1));
        Ok(())
    }

    /// The rank of a node whose incoming contributions are `sum`.
    pub(super) fn rank(&self, sum: u64) -> u64 {
        self.base + self.passed(sum)
    }

    /// The share of a rank that follows links.
    fn passed(&self, rank: u64) -> u64 {
        // Both in units of 2^-60: the product is at most 2^120.
        let damping = (self.damping * ONE as f64) as u128;
        ((u128::from(rank) * damping) >> 60) as u64
    }
}

impl Job for Iteration {
    type Input = Items<Node>;
    type Key<'a> = u32;
    type Value = u64;
    /// The total rank of nodes without links.
    type Note = u64;
    type Output<'a> = (u32, u64);

    fn map(&self, node: Item<'_, Node>, emit: &mut Emitter<Self>) {
        // Nodes are fewer than 2^32. Every node is a key, even without incoming links.
        emit.pair(node.number as u32, 0);
        let Node { rank, targets } = node.item;
        match targets.len() as u64 {
            0 => *emit.note() += rank,
            links => targets
                .iter()
                .for_each(|&target| emit.pair(target, rank / links)),
        }
    }

    fn all_mapped(&mut self, dangling: &Records<u64>, _: &Room) -> Result<()> {
        self.0.share(dangling)
    }

    fn reduce(
        &self,
        node: u32,
        ranks: impl Iterator<Item = u64>,
        write: &mut impl FnMut((u32, u64)),
    ) -> Result<()> {
        write((node, self.0.rank(ranks.sum())));
        Ok(())
    }

    fn combiner(&self) -> Option<Combine<u64>> {
        Some(|sum, rank| *sum += rank)
    }

    fn prefix(node: &u32) -> u64 {
        u64::from(*node)
    }
}

impl Portable for Iteration {
    const NAME: &'static str = "pagerank-iteration";

    const FUNCTORS: Option<Functors<Self>> = Some(Functors {
        map: MapFunction::Ranks,
        reduce: ReduceFunction::Sum,
        record: |_, node, bytes, dangling| {
            let Node { rank, targets } = node.item;
            bytes.extend_from_slice(&(node.number as u64).to_le_bytes());
            bytes.extend_from_slice(&rank.to_le_bytes());
            for target in targets {
                bytes.extend_from_slice(&target.to_le_bytes());
            }
            if targets.is_empty() {
                *dangling += rank;
            }
        },
        key: |key| key.words[0] as u32,
        value: |_, count| Ok((count.word, 1)),
    });
}

impl ListJob for Iteration {
    type Owned = (u32, u64);

    fn own(output: Self::Output<'_>) -> Self::Owned {
        output
    }
}
