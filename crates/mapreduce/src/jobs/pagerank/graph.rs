//! The graph: converts lines with two names to numbered nodes, chunk by chunk.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::super::super::functors::push_line;
use super::super::super::records::{Cursor, RecordWriter};
use super::super::super::spill::Spill;
use super::super::super::{
    Emitter, Functors, Items, Job, Line, Lines, ListJob, MapFunction, Portable, Records, Room,
    prefix,
};
use super::super::names::{Names, NamesWriter};
use super::ranks::StoredRanks;
use super::step::Node;
use tokapi_storage::error::{Error, Result};

/// Number of edges of a node written together.
const PIECE: usize = 1 << 12;
/// Minimum number of nodes and edges in a chunk, if the graph has as many.
const LEAST_CHUNK: usize = 1 << 18;
/// Nodes a map task, if each node is a record.
const SPLIT: usize = 1 << 15;

/// A node and its targets, by name. A node with many targets comes several times in a row.
pub(super) type Linked = (Box<str>, Vec<Box<str>>);

/// Nodes, numbered in the order of their names.
pub(super) struct Graph {
    pub names: Names,
    chunks: Records<Chunk>,
}

/// Consecutive nodes and their targets.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Chunk {
    /// The end of every node's targets.
    ends: Vec<u32>,
    /// The numbers of the target nodes, ascending for each node.
    targets: Vec<u32>,
}

/// Consecutive nodes with their ranks.
#[derive(Clone, Serialize, Deserialize)]
pub(in super::super) struct NodeBlock {
    ranks: Vec<u64>,
    chunk: Chunk,
}

impl NodeBlock {
    /// The rank of every node, and its targets.
    pub(super) fn nodes(&self) -> impl Iterator<Item = (u64, &[u32])> {
        let Chunk { ends, targets } = &self.chunk;
        let starts = [0].into_iter().chain(ends.iter().copied());
        let spans = starts.zip(ends);
        let targets = spans.map(|(start, &end)| &targets[start as usize..end as usize]);
        self.ranks.iter().copied().zip(targets)
    }
}

impl Graph {
    /// Numbers nodes; they arrive in the order of their names.
    ///
    /// # Errors
    /// There are 2^32 nodes; scratch files cannot be read or written.
    pub(super) fn new(linked: &Records<Linked>, room: &Room) -> Result<Self> {
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
        let mut chunks = ChunkWriter::new(&names, room);
        let (mut targets, mut last): (Vec<u32>, Option<Box<str>>) = (Vec::new(), None);
        for node in linked {
            let (name, some) = node?;
            if last.as_ref().is_some_and(|last| *last != name) {
                chunks.push(&mut targets)?;
            }
            last = Some(name);
            for target in &some {
                targets.push(names.number(target.as_bytes())?);
            }
        }
        if last.is_some() {
            chunks.push(&mut targets)?;
        }
        let chunks = chunks.finish()?;
        Ok(Graph { names, chunks })
    }

    /// All nodes with these ranks, one chunk a record.
    pub(super) fn blocks(&self, ranks: &StoredRanks) -> Items<NodeBlock> {
        let (chunks, mut cursor) = (self.chunks.clone(), Cursor::default());
        let mut ranks = ranks.read();
        let next = move || {
            let Some(chunk) = cursor.next(&chunks)? else {
                return Ok(None);
            };
            let ranks = (0..chunk.ends.len()).map(|_| ranks.next());
            Ok(Some(NodeBlock {
                ranks: ranks.collect::<Result<Vec<u64>>>()?,
                chunk,
            }))
        };
        Items::stream(next, 1)
    }

    /// All nodes with these ranks, one node a record.
    pub(super) fn nodes(&self, ranks: &StoredRanks) -> Items<Node> {
        let (chunks, mut cursor) = (self.chunks.clone(), Cursor::default());
        let mut ranks = ranks.read();
        let (mut chunk, mut at) = (Chunk::default(), 0);
        let next = move || {
            while at == chunk.ends.len() {
                let Some(next) = cursor.next(&chunks)? else {
                    return Ok(None);
                };
                (chunk, at) = (next, 0);
            }
            let start = at.checked_sub(1).map_or(0, |before| chunk.ends[before]);
            let targets = &chunk.targets[start as usize..chunk.ends[at] as usize];
            at += 1;
            Ok(Some(Node {
                rank: ranks.next()?,
                targets: targets.to_vec(),
            }))
        };
        Items::stream(next, SPLIT)
    }
}

/// Writes chunks.
struct ChunkWriter {
    chunk: Chunk,
    /// Nodes and edges of a chunk.
    most: usize,
    writer: RecordWriter<Chunk>,
}

impl ChunkWriter {
    fn new(names: &Names, room: &Room) -> Self {
        let spill = Spill::new(room.memory_bytes / 4, &room.scratch);
        // The output of a chunk is one number for every node, which is little if the graph has
        // more edges than nodes. Several chunks are in memory at a time.
        let fits = usize::try_from(room.memory_bytes / 64).unwrap_or(usize::MAX);
        let most = (2 * names.count() as usize).min(fits).max(LEAST_CHUNK);
        ChunkWriter {
            chunk: Chunk::default(),
            most,
            writer: RecordWriter::new(&Arc::new(spill)),
        }
    }

    /// Adds the next node, and empties the list of its targets.
    fn push(&mut self, targets: &mut Vec<u32>) -> Result<()> {
        targets.sort_unstable();
        targets.dedup();
        let Chunk { ends, targets: all } = &mut self.chunk;
        all.append(targets);
        ends.push(u32::try_from(all.len()).map_err(|_| too_many())?);
        match ends.len() + all.len() < self.most {
            true => Ok(()),
            false => self.flush(),
        }
    }

    fn flush(&mut self) -> Result<()> {
        self.writer.push(&self.chunk)?;
        self.chunk.ends.clear();
        self.chunk.targets.clear();
        Ok(())
    }

    fn finish(mut self) -> Result<Records<Chunk>> {
        if !self.chunk.ends.is_empty() {
            self.flush()?;
        }
        self.writer.finish()
    }
}

#[cold]
fn too_many() -> Error {
    Error::Limit("a node of the graph has 2^32 or more edges; leave it out".into())
}

/// Groups edges to nodes with all their targets.
#[derive(Serialize, Deserialize)]
pub(in super::super) struct Links;

impl Job for Links {
    type Input = Lines;
    type Key<'a> = &'a str;
    /// The target of an edge; none for the target node itself, which may have no other edge.
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
            _ => {
                let count = line.text.split_whitespace().count();
                emit.reject(format!("an edge is two names on a line, not {count}"));
            }
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

impl Portable for Links {
    const NAME: &'static str = "pagerank-links";

    const FUNCTORS: Option<Functors<Self>> = Some(Functors::<Self>::groups(
        MapFunction::Edges,
        push_line,
        |_, target| Ok((target.text()?.map(Box::from), 1)),
    ));
}

impl ListJob for Links {
    type Owned = Linked;

    fn own((name, targets): Self::Output<'_>) -> Self::Owned {
        (name.into(), targets)
    }
}
