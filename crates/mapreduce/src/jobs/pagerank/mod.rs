//! The importance of the nodes of a graph: PageRank (Page, Brin, Motwani and Winograd, 1999). One
//! job builds the graph, and one job runs for every iteration.
//!
//! Ranks are fixed-point integers. Their sums do not depend on the order, so combining early
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

/// The options of PageRank.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PageRank {
    /// The share of a rank that follows links, below 1.
    pub damping: f64,
    /// Maximum number of iterations.
    pub iterations: u32,
    /// The iteration ends when the total change of all ranks is below this.
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
    /// Names and ranks, sorted by name. The ranks add up to 1.
    pub nodes: Vec<(Box<str>, f64)>,
    /// Number of iterations.
    pub iterations: u32,
}

impl PageRank {
    /// The ranks of the nodes of a graph. Each input line has two names: an edge from the first
    /// node to the second. Lines that begin with `#` are ignored; repeated edges count once.
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
    /// A line does not have two names; an error of the runner.
    pub fn run(&self, runner: &impl Runner, edges: Lines) -> Result<(Ranks, Report)> {
        let mut nodes = Vec::new();
        let (iterations, report) = self.each(runner, edges, |name, rank| {
            nodes.push((String::from_utf8_lossy(name).into(), rank));
            Ok(())
        })?;
        Ok((Ranks { nodes, iterations }, report))
    }

    /// Computes the ranks as [`PageRank::run`] does, and passes the names and ranks of all nodes,
    /// sorted by name, to `each`. Their number may exceed the memory. Returns the number of
    /// iterations.
    ///
    /// # Errors
    /// As [`PageRank::run`]; an error of `each`.
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
        // Below 2^53 in all relevant cases, so exact.
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
