//! Queries answered from lists on a device, in batches.

use std::sync::Arc;

use tokapi_kernels::{Batch, Lane, MOST_RANKED, Occur as OnList, Scheme, Term};

use super::index::{GpuIndex, OnDevice};
use crate::error::Result;
use crate::query::{Algorithm, Hit, Occur, Query, SearchOptions, Weighing};

/// Elements of shortest lists that go into one batch of the device.
const MOST_ELEMENTS: u64 = 1 << 30;

/// Windows of documents of all queries without terms that must occur, likewise.
const MOST_WINDOWS: u64 = 1 << 26;

/// Documents in a window of the kernels.
const WINDOW: u64 = 1 << 12;

/// Answers batches of queries, one after the other. Several lanes, each on a thread of its own, overlap copies
/// and computation.
pub struct GpuLane {
    index: Arc<GpuIndex>,
    lane: Lane,
    /// Queries with terms that must occur, and without, on their way.
    pending: [Pending; 2],
    terms: Vec<Term>,
}

/// Queries that make a batch, and which of all they are.
#[derive(Default)]
struct Pending {
    batch: Batch,
    numbers: Vec<usize>,
}

/// What becomes of a query.
enum Plan {
    /// It goes to the device; whether it has a term that must occur.
    Device(bool),
    /// Nothing matches.
    Nothing,
    /// The device cannot answer it.
    Elsewhere,
}

impl GpuLane {
    /// A lane over the lists of `index`.
    ///
    /// # Errors
    /// The device failed.
    pub fn new(index: Arc<GpuIndex>) -> Result<Self> {
        let lane = Lane::new(Arc::clone(&index.lists), index.fail_after)?;
        Ok(GpuLane {
            index,
            lane,
            pending: Default::default(),
            terms: Vec::new(),
        })
    }

    /// The index.
    pub fn index(&self) -> &Arc<GpuIndex> {
        &self.index
    }

    /// The best documents for each query, as [`Index::search`](crate::Index::search) finds them; none
    /// where the device cannot tell: it lacks a list, the query has filters or phrases, or too many
    /// documents are asked for.
    ///
    /// # Errors
    /// Parameters out of range; too little device memory; the device failed.
    pub fn search(
        &mut self,
        queries: &[&Query],
        options: &SearchOptions,
    ) -> Result<Vec<Option<Vec<Hit>>>> {
        let index = Arc::clone(&self.index);
        let weighing = Weighing::of(&index.index, &options.bm25)?;
        let mut answers = vec![None; queries.len()];
        if options.k > MOST_RANKED || options.algorithm == Algorithm::Exhaustive {
            return Ok(answers);
        }
        // Until nobody else has them weighed otherwise.
        let _weights = loop {
            let weighed = index.weighed.read();
            let weighed = weighed.unwrap_or_else(|error| error.into_inner());
            if weighed.as_ref() == Some(weighing.bm25()) {
                break weighed;
            }
            drop(weighed);
            let weighed = index.weighed.write();
            let mut weighed = weighed.unwrap_or_else(|error| error.into_inner());
            if weighed.as_ref() != Some(weighing.bm25()) {
                *weighed = None;
                index.weigh(&weighing)?;
                *weighed = Some(*weighing.bm25());
            }
        };
        let documents = index.index.numbered();
        let windows = documents.div_ceil(WINDOW).max(1);
        let nothing = options.k == 0 || index.index.statistics().documents == 0;
        for (number, query) in queries.iter().enumerate() {
            match self.plan(query) {
                Plan::Elsewhere => {}
                Plan::Nothing => answers[number] = Some(Vec::new()),
                Plan::Device(_) if nothing => answers[number] = Some(Vec::new()),
                Plan::Device(has_must) => {
                    let pending = &mut self.pending[usize::from(has_must)];
                    pending.batch.push(self.lane.lists(), &self.terms);
                    pending.numbers.push(number);
                    let is_full = pending.batch.elements() >= MOST_ELEMENTS
                        || !has_must && pending.numbers.len() as u64 * windows >= MOST_WINDOWS;
                    if is_full {
                        self.rank(has_must, options.k, &mut answers)?;
                    }
                }
            }
        }
        for has_must in [false, true] {
            self.rank(has_must, options.k, &mut answers)?;
        }
        Ok(answers)
    }

    fn rank(
        &mut self,
        has_must: bool,
        k: usize,
        answers: &mut [Option<Vec<Hit>>],
    ) -> Result<()> {
        let pending = std::mem::take(&mut self.pending[usize::from(has_must)]);
        if pending.numbers.is_empty() {
            return Ok(());
        }
        let ranked = self.lane.rank(&pending.batch, k)?;
        for (place, &number) in pending.numbers.iter().enumerate() {
            let hit = |(document, score): (u32, f32)| Hit {
                document: document.into(),
                score,
            };
            answers[number] = Some(ranked.of(place).map(hit).collect());
        }
        self.pending[usize::from(has_must)] = pending.cleared();
        Ok(())
    }

    /// Gives the documents that match each query, ascending, to `each`, with the number of the query, in
    /// any order of queries; none where the device cannot tell: as [`GpuLane::search`], and where a query
    /// has no term that must occur.
    ///
    /// # Errors
    /// Too little device memory; the device failed.
    pub fn documents(
        &mut self,
        queries: &[&Query],
        scheme: Scheme,
        mut each: impl FnMut(usize, Option<&[u32]>),
    ) -> Result<()> {
        for (number, query) in queries.iter().enumerate() {
            match self.plan(query) {
                Plan::Elsewhere | Plan::Device(false) => each(number, None),
                Plan::Nothing => each(number, Some(&[])),
                Plan::Device(true) => {
                    let pending = &mut self.pending[1];
                    pending.batch.push(self.lane.lists(), &self.terms);
                    pending.numbers.push(number);
                    if pending.batch.elements() >= MOST_ELEMENTS {
                        self.intersect(scheme, &mut each)?;
                    }
                }
            }
        }
        self.intersect(scheme, &mut each)
    }

    fn intersect(
        &mut self,
        scheme: Scheme,
        each: &mut impl FnMut(usize, Option<&[u32]>),
    ) -> Result<()> {
        let pending = std::mem::take(&mut self.pending[1]);
        if pending.numbers.is_empty() {
            return Ok(());
        }
        let matches = self.lane.intersect(&pending.batch, scheme)?;
        for (place, &number) in pending.numbers.iter().enumerate() {
            each(number, Some(matches.of(place)));
        }
        self.pending[1] = pending.cleared();
        Ok(())
    }

    /// Finds the lists of a query, into `terms`.
    fn plan(&mut self, query: &Query) -> Plan {
        if !query.filters.is_empty() || !query.phrases.is_empty() {
            return Plan::Elsewhere;
        }
        self.terms.clear();
        let (mut has_must, mut nothing) = (false, false);
        for clause in &query.clauses {
            let occur = match clause.occur {
                Occur::Must => OnList::Must,
                Occur::Should => OnList::Should,
                Occur::Not => OnList::Not,
            };
            let list = match self.index.find(clause.term.as_bytes()) {
                OnDevice::List(list) => list,
                OnDevice::Nothing => {
                    nothing |= clause.occur == Occur::Must;
                    continue;
                }
                OnDevice::Elsewhere => return Plan::Elsewhere,
            };
            has_must |= occur == OnList::Must;
            match self.terms.iter_mut().find(|term| term.list == list) {
                Some(term) => {
                    term.times += 1.0;
                    term.occur = match (term.occur, occur) {
                        (OnList::Must, OnList::Not) | (OnList::Not, OnList::Must) => {
                            nothing = true;
                            OnList::Not
                        }
                        (OnList::Not, _) | (_, OnList::Not) => OnList::Not,
                        (OnList::Must, _) | (_, OnList::Must) => OnList::Must,
                        _ => OnList::Should,
                    };
                }
                None => self.terms.push(Term {
                    list,
                    occur,
                    times: 1.0,
                }),
            }
        }
        let any = self.terms.iter().any(|term| term.occur != OnList::Not);
        match nothing || !any {
            true => Plan::Nothing,
            false => Plan::Device(has_must),
        }
    }
}

impl Pending {
    /// The same memory, for others.
    fn cleared(mut self) -> Self {
        self.batch.clear();
        self.numbers.clear();
        self
    }
}
