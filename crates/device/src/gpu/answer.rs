//! Answers queries in batches from lists on a device.

use std::sync::Arc;

use tokapi_kernels::{Batch, Lane, MOST_RANKED, Occur as OnList, Scheme, Term};

use super::index::{GpuIndex, OnDevice};
use crate::cooperate::{Accelerator, BatchLane, Complexity, Search};
use tokapi_index::query::{Algorithm, Hit, Occur, Query, SearchOptions};
use tokapi_index::weighing::Weighing;
use tokapi_storage::error::Result;

/// Maximum number of elements of the leading lists in one device batch.
const MOST_ELEMENTS: u64 = 1 << 30;

/// Answers batches of queries, one after the other. Several lanes, each on its own thread, overlap
/// copies and computation.
pub struct GpuLane {
    index: Arc<GpuIndex>,
    lane: Lane,
    /// Queries in the batch, and their numbers.
    batch: Batch,
    numbers: Vec<usize>,
    terms: Vec<Term>,
}

/// The place of a query's answer.
enum Plan {
    /// The device answers it.
    Device { has_must: bool },
    /// No document matches.
    Nothing,
    /// The device cannot answer it.
    Elsewhere,
}

impl GpuLane {
    /// A lane for the lists of `index`.
    ///
    /// # Errors
    /// The device failed.
    pub fn new(index: Arc<GpuIndex>) -> Result<Self> {
        let lane = Lane::new(Arc::clone(&index.lists), index.fail_after)?;
        Ok(GpuLane {
            index,
            lane,
            batch: Batch::default(),
            numbers: Vec::new(),
            terms: Vec::new(),
        })
    }

    /// The index.
    pub fn index(&self) -> &Arc<GpuIndex> {
        &self.index
    }

    /// The best documents for each query, the same as from
    /// [`Index::search`](tokapi_index::Index::search). None if the device cannot answer: it lacks
    /// a list, the query has filters or phrases, or too many documents are requested.
    ///
    /// # Errors
    /// Parameters are out of range; there is too little device memory; the device failed.
    pub fn search(
        &mut self,
        queries: &[&Query],
        options: &SearchOptions,
    ) -> Result<Vec<Option<Vec<Hit>>>> {
        let index = Arc::clone(&self.index);
        let weighing = Weighing::of(&index.index, &options.bm25)?;
        let mut answers = vec![None; queries.len()];
        if !index.answers(options) {
            return Ok(answers);
        }
        // Repeats until no other lane has changed the weighing meanwhile.
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
        self.batch.clear();
        self.numbers.clear();
        let nothing = options.k == 0 || index.index.statistics().documents == 0;
        for (number, query) in queries.iter().enumerate() {
            match self.plan(query) {
                Plan::Elsewhere => {}
                Plan::Device { .. } if !nothing => {
                    if self.take(number) {
                        self.rank(options.k, &mut answers)?;
                    }
                }
                _ => answers[number] = Some(Vec::new()),
            }
        }
        self.rank(options.k, &mut answers)?;
        Ok(answers)
    }

    /// Adds the planned query to the batch. Returns whether the batch is full.
    fn take(&mut self, number: usize) -> bool {
        self.batch.push(self.lane.lists(), &self.terms);
        self.numbers.push(number);
        self.batch.elements() >= MOST_ELEMENTS
    }

    fn rank(&mut self, k: usize, answers: &mut [Option<Vec<Hit>>]) -> Result<()> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let ranked = self.lane.rank(&self.batch, k)?;
        for (place, number) in self.numbers.drain(..).enumerate() {
            let hit = |(document, score): (u32, f32)| -> Result<Hit> {
                Ok(Hit {
                    document: document.into(),
                    score,
                    sequence: self.index.index.sequence(document.into())?,
                })
            };
            answers[number] = Some(ranked.of(place).map(hit).collect::<Result<_>>()?);
        }
        self.batch.clear();
        Ok(())
    }

    /// Passes the documents that match each query, ascending, to `each`, with the number of the
    /// query. Queries come in any order. None if the device cannot answer: as in
    /// [`GpuLane::search`], and for a query without required terms.
    ///
    /// # Errors
    /// Too little device memory; the device failed.
    pub fn documents(
        &mut self,
        queries: &[&Query],
        scheme: Scheme,
        mut each: impl FnMut(usize, Option<&[u32]>),
    ) -> Result<()> {
        self.batch.clear();
        self.numbers.clear();
        for (number, query) in queries.iter().enumerate() {
            match self.plan(query) {
                Plan::Elsewhere | Plan::Device { has_must: false } => each(number, None),
                Plan::Nothing => each(number, Some(&[])),
                Plan::Device { has_must: true } => {
                    if self.take(number) {
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
        if self.batch.is_empty() {
            return Ok(());
        }
        let matches = self.lane.intersect(&self.batch, scheme)?;
        for (place, number) in self.numbers.drain(..).enumerate() {
            each(number, Some(matches.of(place)));
        }
        self.batch.clear();
        Ok(())
    }

    fn plan(&mut self, query: &Query) -> Plan {
        self.index.plan(query, &mut self.terms)
    }
}

impl Accelerator for Arc<GpuIndex> {
    fn answers(&self, options: &SearchOptions) -> bool {
        ranks(options)
    }

    fn complexity(&self, search: &Search) -> Option<Complexity> {
        let is_here = Arc::ptr_eq(&search.index, &self.index);
        is_here.then(|| self.complexity_of(&search.query)).flatten()
    }

    fn lane(&self) -> Result<Box<dyn BatchLane>> {
        Ok(Box::new(GpuLane::new(Arc::clone(self))?))
    }
}

impl BatchLane for GpuLane {
    fn answer(&mut self, searches: &[&Search]) -> Result<Vec<Option<Vec<Hit>>>> {
        let mut answers = vec![None; searches.len()];
        // A batch has one formula, and one k that suffices for all.
        let class = |search: &Search| search.options.k.next_power_of_two().max(LEAST_CLASS);
        let mut left: Vec<usize> = (0..searches.len()).collect();
        while let Some(&first) = left.first() {
            let first = searches[first];
            let is_alike = |&number: &usize| {
                let search = searches[number];
                class(search) == class(first) && search.options.bm25 == first.options.bm25
            };
            let (alike, others) = left.iter().partition(|number| is_alike(number));
            let alike: Vec<usize> = alike;
            left = others;
            let queries: Vec<&Query> = alike.iter().map(|&n| &searches[n].query).collect();
            let most = alike.iter().map(|&number| searches[number].options.k).max();
            let options = SearchOptions::default()
                .bm25(first.options.bm25)
                .k(most.unwrap_or_default());
            for (number, answer) in alike.iter().zip(self.search(&queries, &options)?) {
                answers[*number] = answer.map(|mut hits| {
                    hits.truncate(searches[*number].options.k);
                    hits
                });
            }
        }
        Ok(answers)
    }
}

/// Whether a device can find the best documents with these options.
fn ranks(options: &SearchOptions) -> bool {
    let from_here = options.after.is_none() && options.statistics.is_none();
    options.k <= MOST_RANKED && options.algorithm == Algorithm::Auto && from_here
}

/// Searches for at most this many documents share a batch, whatever their k.
const LEAST_CLASS: usize = 16;

/// Whether the query needs lists only.
fn needs_lists_alone(query: &Query) -> bool {
    query.filters.is_empty() && query.phrases.is_empty() && !query.is_filters_alone()
}

impl GpuIndex {
    /// Whether a device can answer this query with these options, if it has the lists.
    pub fn may_answer(query: &Query, options: &SearchOptions) -> bool {
        ranks(options) && needs_lists_alone(query)
    }

    /// The work of a query; none if the device does not have its lists, or the query needs more than lists.
    pub fn complexity_of(&self, query: &Query) -> Option<Complexity> {
        let mut terms = Vec::new();
        let plan = self.plan(query, &mut terms);
        let lengths = |occur: OnList| -> Vec<u64> {
            let of = terms.iter().filter(|term| term.occur == occur);
            of.map(|term| u64::from(self.lists.length(term.list)))
                .collect()
        };
        match plan {
            Plan::Elsewhere => None,
            Plan::Nothing => Some(Complexity::default()),
            Plan::Device { .. } => Some(Complexity::of(
                &mut lengths(OnList::Must),
                &mut lengths(OnList::Should),
            )),
        }
    }

    /// Looks up the lists of a query, into `terms`.
    fn plan(&self, query: &Query, terms: &mut Vec<Term>) -> Plan {
        if !needs_lists_alone(query) {
            return Plan::Elsewhere;
        }
        terms.clear();
        let (mut has_must, mut nothing) = (false, false);
        for clause in &query.clauses {
            let occur = match clause.occur {
                Occur::Must => OnList::Must,
                Occur::Should => OnList::Should,
                Occur::Not => OnList::Not,
            };
            let list = match self.find(clause.term.as_bytes()) {
                OnDevice::List(list) => list,
                OnDevice::Nothing => {
                    nothing |= clause.occur == Occur::Must;
                    continue;
                }
                OnDevice::Elsewhere => return Plan::Elsewhere,
            };
            has_must |= occur == OnList::Must;
            match terms.iter_mut().find(|term| term.list == list) {
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
                None => terms.push(Term {
                    list,
                    occur,
                    times: 1.0,
                }),
            }
        }
        let any = terms.iter().any(|term| term.occur != OnList::Not);
        match nothing || !any {
            true => Plan::Nothing,
            false => Plan::Device { has_must },
        }
    }
}
