//! How important is a node of a graph? PageRank (Page, Brin, Motwani and Winograd, 1999), a job
//! for the graph and one for every iteration.
//!
//! Ranks are fixed-point integers: their sums are the same in any order, so that combining early
//! changes nothing.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::super::records::{Cursor, RecordWriter};
use super::super::spill::Spill;
use super::super::{
    Combine, Emitter, Functors, Item, Items, Job, Line, Lines, ListJob, MapFunction, Portable,
    Records, ReduceFunction, Report, Room, Runner, prefix,
};
use super::names::{Names, NamesWriter};
use crate::error::{Error, Result};

/// The sum of all ranks.
const ONE: u64 = 1 << 60;
/// Nodes to a map task.
const SPLIT: usize = 1 << 15;
/// Edges of a node that are written together.
const PIECE: usize = 1 << 12;

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
    /// use tokapi::mapreduce::{Lines, Threads, jobs::PageRank};
    ///
    /// # fn main() -> tokapi::Result<()> {
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
        let first = ONE / u64::from(count.max(1));
        let mut ranks: Option<Records<(u32, u64)>> = None;
        let mut job = Iteration::new(self.damping, count);
        let (mut iterations, mut change) = (0, u64::MAX);
        // Below 2^53 where it matters, so exact.
        let tolerance = (self.tolerance * ONE as f64) as u64;
        while iterations < self.iterations && change > tolerance && count > 0 {
            let input = graph.nodes(ranks.clone(), first);
            let (next, step) = runner.records(&mut job, input)?;
            report.append(step);
            change = 0;
            let mut before = RankReader::new(ranks, first);
            for rank in &next {
                change += before.next()?.abs_diff(rank?.1);
            }
            ranks = Some(next);
            iterations += 1;
        }
        let mut ranks = RankReader::new(ranks, first);
        graph
            .names
            .each(|name| each(name, ranks.next()? as f64 / ONE as f64))?;
        Ok((iterations, report))
    }
}

/// A node and where its edges lead, by name; a node with many comes several times in a row.
type Linked = (Box<str>, Vec<Box<str>>);

/// The ranks of all nodes, in order: at first all the same.
struct RankReader {
    ranks: Option<Records<(u32, u64)>>,
    cursor: Cursor,
    first: u64,
}

impl RankReader {
    fn new(ranks: Option<Records<(u32, u64)>>, first: u64) -> Self {
        RankReader {
            ranks,
            cursor: Cursor::default(),
            first,
        }
    }

    /// The rank of the next node.
    fn next(&mut self) -> Result<u64> {
        let Some(ranks) = &self.ranks else {
            return Ok(self.first);
        };
        let next = self.cursor.next(ranks)?;
        next.map(|(_, rank)| rank)
            .ok_or_else(|| Error::Verification("a node of the graph got no rank".into()))
    }
}

/// Nodes, numbered in the order of their names.
struct Graph {
    names: Names,
    /// Where the edges of every node lead, ascending.
    targets: Records<Vec<u32>>,
}

impl Graph {
    /// Numbers nodes, which come in the order of their names.
    fn new(linked: &Records<Linked>, room: &Room) -> Result<Self> {
        let mut names = NamesWriter::new(room);
        let mut last: Option<Box<str>> = None;
        for node in linked {
            let (name, _) = node?;
            if last.as_ref() != Some(&name) {
                names.push(name.as_bytes())?;
                last = Some(name);
            }
        }
        let names = names.finish()?;
        let spill = Spill::new(room.memory_bytes / 2, &room.scratch);
        let mut writer = RecordWriter::new(&Arc::new(spill));
        let mut targets: Vec<u32> = Vec::new();
        let mut write = |targets: &mut Vec<u32>| {
            targets.sort_unstable();
            targets.dedup();
            let written = writer.push(targets);
            targets.clear();
            written
        };
        let mut last: Option<Box<str>> = None;
        for node in linked {
            let (name, some) = node?;
            if last.as_ref().is_some_and(|last| *last != name) {
                write(&mut targets)?;
            }
            last = Some(name);
            for target in &some {
                targets.push(names.number(target.as_bytes())?);
            }
        }
        if last.is_some() {
            write(&mut targets)?;
        }
        Ok(Graph {
            names,
            targets: writer.finish()?,
        })
    }

    /// All nodes with these ranks.
    fn nodes(&self, ranks: Option<Records<(u32, u64)>>, first: u64) -> Items<Node> {
        let targets = self.targets.clone();
        let (mut ranks, mut cursor) = (RankReader::new(ranks, first), Cursor::default());
        let next = move || {
            let Some(targets) = cursor.next(&targets)? else {
                return Ok(None);
            };
            let rank = ranks.next()?;
            Ok(Some(Node { rank, targets }))
        };
        Items::stream(next, SPLIT)
    }
}

/// A node, and where its edges lead.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Node {
    rank: u64,
    targets: Vec<u32>,
}

/// From edges to nodes with all that they link to.
#[derive(Serialize, Deserialize)]
pub(super) struct Links;

impl Job for Links {
    type Input = Lines;
    type Key<'a> = &'a str;
    /// Where an edge leads; none for the node that it leads to, which may have no other edge.
    type Value = Option<Box<str>>;
    type Note = u64;
    type Output<'a> = (&'a str, Vec<Box<str>>);

    fn map(&self, line: Line<'_>, emit: &mut Emitter<Self>) {
        if line.text.starts_with('#') {
            return;
        }
        let mut names = line.text.split_whitespace();
        match (names.next(), names.next(), names.next()) {
            (Some(from), Some(to), None) => {
                emit.pair(from, Some(to.into()));
                emit.pair(to, None);
            }
            (None, None, None) => {}
            _ => emit.reject("an edge is two names on a line"),
        }
    }

    fn reduce(
        &self,
        name: &str,
        targets: impl Iterator<Item = Option<Box<str>>>,
        write: &mut impl FnMut((&str, Vec<Box<str>>)),
    ) -> Result<()> {
        let mut targets = targets.flatten();
        loop {
            let some: Vec<Box<str>> = targets.by_ref().take(PIECE).collect();
            let is_last = some.len() < PIECE;
            write((name, some));
            if is_last {
                return Ok(());
            }
        }
    }

    fn prefix(name: &&str) -> u64 {
        prefix(name)
    }
}

/// One step: every node passes its rank on.
#[derive(Serialize, Deserialize)]
pub(super) struct Iteration {
    damping: f64,
    count: u32,
    /// What every node gets whatever links to it.
    base: u64,
}

impl Iteration {
    fn new(damping: f64, count: u32) -> Self {
        Iteration {
            damping,
            count,
            base: 0,
        }
    }

    /// The part of a rank that is passed on.
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
    /// The ranks of nodes that link nowhere.
    type Note = u64;
    type Output<'a> = (u32, u64);

    fn map(&self, node: Item<'_, Node>, emit: &mut Emitter<Self>) {
        // Nodes are fewer than 2^32. Every node is a key, whether anything links to it or not.
        emit.pair(node.number as u32, 0);
        let Node { rank, targets } = node.item;
        match targets.len() as u64 {
            0 => *emit.note() += rank,
            links => targets
                .iter()
                .for_each(|&target| emit.pair(target, rank / links)),
        }
    }

    fn all_mapped(&mut self, notes: &Records<u64>, _: &Room) -> Result<()> {
        let mut dangling = 0;
        for rank in notes {
            dangling += rank?;
        }
        let shared = ONE - self.passed(ONE) + self.passed(dangling);
        self.base = shared / u64::from(self.count.max(1));
        Ok(())
    }

    fn reduce(
        &self,
        node: u32,
        ranks: impl Iterator<Item = u64>,
        write: &mut impl FnMut((u32, u64)),
    ) -> Result<()> {
        write((node, self.base + self.passed(ranks.sum())));
        Ok(())
    }

    fn combiner(&self) -> Option<Combine<u64>> {
        Some(|sum, rank| *sum += rank)
    }

    fn prefix(node: &u32) -> u64 {
        u64::from(*node)
    }

    fn place(node: &u32) -> Option<usize> {
        Some(*node as usize)
    }
}

impl Portable for Links {
    const NAME: &'static str = "pagerank-links";

    fn functors() -> Option<Functors<Self>> {
        Some(Functors {
            map: MapFunction::Edges,
            reduce: ReduceFunction::Nothing,
            record: |_, line, bytes, _| bytes.extend_from_slice(line.text.as_bytes()),
            key: |key| key.text,
            values: |_, target, each| {
                each(target.text()?.map(Box::from), 1);
                Ok(())
            },
        })
    }
}

impl ListJob for Links {
    type Owned = Linked;

    fn own((name, targets): Self::Output<'_>) -> Self::Owned {
        (name.into(), targets)
    }
}

impl Portable for Iteration {
    const NAME: &'static str = "pagerank-iteration";

    fn functors() -> Option<Functors<Self>> {
        Some(Functors {
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
            values: |_, count, each| {
                each(count.word, 1);
                Ok(())
            },
        })
    }
}

impl ListJob for Iteration {
    type Owned = (u32, u64);

    fn own(output: Self::Output<'_>) -> Self::Owned {
        output
    }
}
