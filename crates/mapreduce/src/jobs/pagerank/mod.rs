//! How important is a node of a graph? PageRank (Page, Brin, Motwani and Winograd, 1999), a job
//! for the graph and one for every iteration.
//!
//! Ranks are fixed-point integers: their sums are the same in any order, so that combining early
//! changes nothing.

mod blocks;
mod graph;
mod ranks;
mod step;

pub(super) use blocks::BlockIteration;
pub(super) use graph::Links;
pub(super) use step::Iteration;

use super::super::{Lines, Report, Runner};
use graph::Graph;
use ranks::StoredRanks;
use step::Passing;
use tokapi_storage::error::{Error, Result};

/// The sum of all ranks.
const ONE: u64 = 1 << 60;

/// How ranks are computed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PageRank {
    /// The share of a rank that is passed on along links, below 1.
    pub damping: f64,
    /// Iterations at the most.
    pub iterations: u32,
    /// It ends when all ranks together change by less.
    pub tolerance: f64,
}

impl Default for PageRank {
    fn default() -> Self {
        PageRank {
            damping: 0.85,
            iterations: 100,
            tolerance: 1e-9,
        }
    }
}

/// The ranks of all nodes, by name.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranks {
    /// Names and ranks, which add up to 1; by name.
    pub nodes: Vec<(Box<str>, f64)>,
    /// Iterations that were needed.
    pub iterations: u32,
}

impl PageRank {
    /// The ranks of the nodes of a graph, given as lines with two names: an edge from the first to
    /// the second. Lines that begin with `#` are left out; edges that occur again count once.
    ///
    /// ```
    /// use tokapi_mapreduce::{Lines, Threads};
    /// use tokapi_mapreduce::jobs::PageRank;
    ///
    /// # fn main() -> tokapi_storage::error::Result<()> {
    /// let edges = Lines::of_text("a b\nb c\nc b", 2);
    /// let (ranks, _) = PageRank::default().run(&Threads::default(), edges)?;
    /// let names: Vec<&str> = ranks.nodes.iter().map(|(name, _)| &**name).collect();
    /// assert_eq!(names, ["a", "b", "c"]);
    /// assert!(ranks.nodes[1].1 > ranks.nodes[2].1 && ranks.nodes[2].1 > ranks.nodes[0].1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// A line without two names; what the runner says.
    pub fn run(&self, runner: &impl Runner, edges: Lines) -> Result<(Ranks, Report)> {
        let mut nodes = Vec::new();
        let (iterations, report) = self.each(runner, edges, |name, rank| {
            nodes.push((String::from_utf8_lossy(name).into(), rank));
            Ok(())
        })?;
        Ok((Ranks { nodes, iterations }, report))
    }

    /// As [`PageRank::run`], with the names and ranks of all nodes, by name, given to `each`,
    /// however many they are; gives the iterations that were needed.
    ///
    /// # Errors
    /// As [`PageRank::run`]; what `each` says.
    pub fn each(
        &self,
        runner: &impl Runner,
        edges: Lines,
        mut each: impl FnMut(&[u8], f64) -> Result<()>,
    ) -> Result<(u32, Report)> {
        if !(0.0..1.0).contains(&self.damping) {
            let given = self.damping;
            return Err(Error::Usage(format!(
                "damping is {given}; it must be from 0 to below 1"
            )));
        }
        let (linked, mut report) = runner.records(&mut Links, edges)?;
        let graph = Graph::new(&linked, &runner.room())?;
        drop(linked);
        let count = graph.names.count();
        let mut ranks = StoredRanks::Same(ONE / u64::from(count.max(1)));
        let in_blocks = blocks::fit(count, runner) && !runner.needs_functors();
        let (mut iterations, mut change) = (0, u64::MAX);
        // Below 2^53 where it matters, so exact.
        let tolerance = (self.tolerance * ONE as f64) as u64;
        while iterations < self.iterations && change > tolerance && count > 0 {
            let passing = Passing::new(self.damping, count);
            let (next, step) = match in_blocks {
                true => {
                    let mut job = BlockIteration(passing);
                    let (ranks, step) = runner.records(&mut job, graph.blocks(&ranks))?;
                    (StoredRanks::Blocks(ranks), step)
                }
                false => {
                    let mut job = Iteration(passing);
                    let (ranks, step) = runner.records(&mut job, graph.nodes(&ranks))?;
                    (StoredRanks::Nodes(ranks), step)
                }
            };
            report.append(step);
            change = ranks.change(&next, count)?;
            ranks = next;
            iterations += 1;
        }
        let mut ranks = ranks.read();
        graph
            .names
            .each(|name| each(name, ranks.next()? as f64 / ONE as f64))?;
        Ok((iterations, report))
    }
}
