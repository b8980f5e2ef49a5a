//! Answers queries in batches from lists on a device.

use tokapi_index::query::{Hit, Query, SearchOptions};
use tokapi_kernels::{Batch, Error as KernelError, Lane, Scheme, Term};
use tokapi_storage::error::Result;

use super::index::GpuIndex;
use super::options::GpuIndexOptions;
use super::plan::Plan;
use super::weights::Weighed;

/// Maximum number of elements of the leading lists in one device batch.
const MOST_ELEMENTS: u64 = 1 << 30;

/// Answers batches of queries, one after the other. Several lanes, each on its own thread, overlap
/// copies and computation.
pub struct GpuLane {
    lane: Lane,
    /// Queries in the batch, and their numbers.
    batch: Batch,
    numbers: Vec<usize>,
    terms: Vec<Term>,
}

/// A query and its options.
pub(super) type Asked<'a> = (&'a Query, &'a SearchOptions);

/// The best documents of each query; none of those that the index must answer.
type Answers = Vec<Option<Vec<Hit>>>;

impl GpuLane {
    /// A lane of the device that has `index`.
    ///
    /// # Errors
    /// The device failed.
    pub fn new(index: &GpuIndex) -> Result<Self> {
        let (build, device) = index.lists.lists.place();
        GpuLane::of(&GpuIndexOptions {
            device,
            fail_after: index.fail_after,
            ..GpuIndexOptions::new(build)
        })
    }

    pub(super) fn of(options: &GpuIndexOptions) -> Result<Self> {
        Ok(GpuLane {
            lane: Lane::new(options.build, options.device, options.fail_after)?,
            batch: Batch::default(),
            numbers: Vec::new(),
            terms: Vec::new(),
        })
    }

    /// The best documents for each query, the same as from
    /// [`Index::search`](tokapi_index::Index::search). None if the device cannot answer: it lacks
    /// a list or the memory, the query has filters or phrases, or too many documents are requested.
    /// Weighs the postings first if they have other weights.
    ///
    /// # Errors
    /// Parameters are out of range; the device failed.
    pub fn search(
        &mut self,
        index: &GpuIndex,
        queries: &[&Query],
        options: &SearchOptions,
    ) -> Result<Answers> {
        let given = options.statistics.as_deref();
        let asked: Vec<Asked<'_>> = queries.iter().map(|&query| (query, options)).collect();
        // Repeats until no other lane has changed the weighing meanwhile.
        loop {
            let weighed = index.weighed.read();
            let weighed = weighed.unwrap_or_else(|error| error.into_inner());
            match weighed.as_ref() {
                Some(weighed)
                    if weighed.is_for(&index.index, options)
                        && weighed.has_dfs(&index.lists, given) =>
                {
                    return self.rank_all(index, weighed, &asked);
                }
                _ => drop(weighed),
            }
            index.weigh(&options.bm25, given)?;
        }
    }

    /// Answers searches by the weights that are there, which have at most a few different k.
    pub(super) fn rank_all(
        &mut self,
        index: &GpuIndex,
        weighed: &Weighed,
        asked: &[Asked<'_>],
    ) -> Result<Answers> {
        let mut answers = vec![None; asked.len()];
        let k = asked.iter().map(|(_, options)| options.k).max();
        let k = k.unwrap_or_default();
        let is_empty = index.index.statistics().documents == 0;
        self.batch.clear();
        self.numbers.clear();
        for (number, (query, options)) in asked.iter().enumerate() {
            match index.plan_search(query, options, weighed, &mut self.terms) {
                Plan::Elsewhere => {}
                Plan::Device { .. } if options.k > 0 && !is_empty => {
                    if self.take(index, number) {
                        self.rank(index, k, &mut answers)?;
                    }
                }
                _ => answers[number] = Some(Vec::new()),
            }
        }
        self.rank(index, k, &mut answers)?;
        for (answer, (_, options)) in answers.iter_mut().zip(asked) {
            answer.iter_mut().for_each(|hits| hits.truncate(options.k));
        }
        Ok(answers)
    }

    /// Adds the planned query to the batch. Returns whether the batch is full.
    fn take(&mut self, index: &GpuIndex, number: usize) -> bool {
        self.batch.push(&index.lists.lists, &self.terms);
        self.numbers.push(number);
        self.batch.elements() >= MOST_ELEMENTS
    }

    fn rank(&mut self, index: &GpuIndex, k: usize, answers: &mut Answers) -> Result<()> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let numbers = self.numbers.drain(..).enumerate();
        match self.lane.rank(&index.lists.lists, &self.batch, k) {
            Ok(ranked) => {
                for (place, number) in numbers {
                    let hit = |(document, score): (u32, f32)| -> Result<Hit> {
                        Ok(Hit {
                            document: document.into(),
                            score,
                            sequence: index.index.sequence(document.into())?,
                        })
                    };
                    // The index tells how it is damaged.
                    answers[number] = ranked.of(place).map(hit).collect::<Result<_>>().ok();
                }
            }
            Err(error @ (KernelError::OutOfMemory(_) | KernelError::TooLarge(_))) => {
                log::info!("the index answers {} queries: {error}", numbers.len());
            }
            Err(error) => return Err(error.into()),
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
        index: &GpuIndex,
        queries: &[&Query],
        scheme: Scheme,
        mut each: impl FnMut(usize, Option<&[u32]>),
    ) -> Result<()> {
        self.batch.clear();
        self.numbers.clear();
        for (number, query) in queries.iter().enumerate() {
            match index.plan(query, &mut self.terms, |_, _| true) {
                Plan::Elsewhere | Plan::Device { has_must: false } => each(number, None),
                Plan::Nothing => each(number, Some(&[])),
                Plan::Device { has_must: true } => {
                    if self.take(index, number) {
                        self.intersect(index, scheme, &mut each)?;
                    }
                }
            }
        }
        self.intersect(index, scheme, &mut each)
    }

    fn intersect(
        &mut self,
        index: &GpuIndex,
        scheme: Scheme,
        each: &mut impl FnMut(usize, Option<&[u32]>),
    ) -> Result<()> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let matches = self
            .lane
            .intersect(&index.lists.lists, &self.batch, scheme)?;
        for (place, number) in self.numbers.drain(..).enumerate() {
            each(number, Some(matches.of(place)));
        }
        self.batch.clear();
        Ok(())
    }
}
