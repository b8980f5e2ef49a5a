//! One step, block by block, if the ranks of all nodes fit in memory. A map task adds up the
//! contributions of its nodes in an array, so a pair is a block of sums instead of a single sum.

use serde::{Deserialize, Serialize};

use super::super::super::{
    Combine, Emitter, Item, Items, Job, ListJob, Portable, Records, Room, Runner,
};
use super::graph::NodeBlock;
use super::step::Passing;
use tokapi_storage::error::Result;

/// Nodes of a block: few enough for even partitions, many enough for a negligible cost of keys.
const BLOCK: usize = 1 << 10;

/// One step: every block of nodes distributes its ranks.
#[derive(Serialize, Deserialize)]
pub(in super::super) struct BlockIteration(pub Passing);

/// Whether the arrays of all tasks of `runner`, for `count` nodes, fit in memory.
pub(super) fn fit(count: u32, runner: &impl Runner) -> bool {
    // A task has an array and a container, and leaves a run; some ranks are read and written.
    let arrays = 3 * runner.tasks() as u64 + 2;
    // This takes the memory of pairs, which is three times that of tables.
    u64::from(count) * 8 * arrays <= 3 * runner.room().memory_bytes
}

impl Job for BlockIteration {
    type Input = Items<NodeBlock>;
    /// The number of a block.
    type Key<'a> = u32;
    /// The sum for each of its nodes.
    type Value = Vec<u64>;
    /// The total rank of nodes without links.
    type Note = u64;
    /// The ranks of its nodes.
    type Output<'a> = Vec<u64>;

    fn map(&self, block: Item<'_, NodeBlock>, emit: &mut Emitter<Self>) {
        let mut sums = vec![0; self.0.count() as usize];
        for (rank, targets) in block.item.nodes() {
            match targets.len() as u64 {
                0 => *emit.note() += rank,
                links => {
                    let share = rank / links;
                    targets
                        .iter()
                        .for_each(|&target| sums[target as usize] += share);
                }
            }
        }
        for (number, sums) in (0..).zip(sums.chunks(BLOCK)) {
            emit.pair(number, sums.to_vec());
        }
    }

    fn all_mapped(&mut self, dangling: &Records<u64>, _: &Room) -> Result<()> {
        self.0.share(dangling)
    }

    fn reduce(
        &self,
        _: u32,
        mut sums: impl Iterator<Item = Vec<u64>>,
        write: &mut impl FnMut(Vec<u64>),
    ) -> Result<()> {
        let mut all = sums.next().unwrap_or_default();
        sums.for_each(|sums| add(&mut all, &sums));
        all.iter_mut().for_each(|sum| *sum = self.0.rank(*sum));
        write(all);
        Ok(())
    }

    fn combiner(&self) -> Option<Combine<Vec<u64>>> {
        Some(|all, sums| add(all, &sums))
    }

    fn prefix(number: &u32) -> u64 {
        u64::from(*number)
    }

    fn place(number: &u32) -> Option<usize> {
        Some(*number as usize)
    }
}

fn add(all: &mut [u64], sums: &[u64]) {
    all.iter_mut().zip(sums).for_each(|(all, sum)| *all += sum);
}

impl Portable for BlockIteration {
    const NAME: &'static str = "pagerank-blocks";
}

impl ListJob for BlockIteration {
    type Owned = Vec<u64>;

    fn own(ranks: Vec<u64>) -> Vec<u64> {
        ranks
    }
}
