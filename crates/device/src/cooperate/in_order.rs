//! Many queries answered by CPU and GPU, in their order.

use std::collections::VecDeque;
use std::fmt;
use std::iter::Fuse;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};

use super::accelerator::Accelerator;
use super::options::{Policy, SchedulerOptions};
use super::request::{Outcome, Processor};
use super::scheduler::Scheduler;
use tokapi_index::Index;
use tokapi_index::query::{Hit, Query, SearchOptions};
use tokapi_storage::error::{Error, Result};

/// Answers queries in order. A GPU answers the queries that it can, threads of the CPU the others.
pub struct InOrder {
    index: Arc<Index>,
    accelerator: Option<Arc<dyn Accelerator>>,
    scheduler: Scheduler,
    search: SearchOptions,
    /// Queries under way at most.
    most: usize,
    shares: Shares,
}

/// How many queries a GPU answered, and why others were left to the CPU; of several reasons the first counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Shares {
    /// Answered by the GPU.
    pub gpu: u64,
    /// They have filters.
    pub filters: u64,
    /// They have phrases.
    pub phrases: u64,
    /// No query is answered there by these options.
    pub options: u64,
    /// Lists are not there.
    pub lists: u64,
    /// It failed.
    pub lost: u64,
}

impl InOrder {
    /// Over `index`, and the same index on a GPU. Without a GPU the CPU answers all queries. No more than
    /// `options.queue` queries are under way at a time, which bounds the memory; the policy is
    /// [`Policy::Synchronous`].
    ///
    /// # Errors
    /// A lane cannot be made.
    pub fn new(
        index: Arc<Index>,
        accelerator: Option<Arc<dyn Accelerator>>,
        options: &SchedulerOptions,
    ) -> Result<Self> {
        let most = options.queue.max(1);
        let options = SchedulerOptions {
            policy: Policy::Synchronous,
            queue: most,
            ..options.clone()
        };
        let scheduler = Scheduler::new(Arc::clone(&index), accelerator.clone(), None, &options)?;
        Ok(InOrder {
            index,
            accelerator,
            scheduler,
            search: options.search,
            most,
            shares: Shares::default(),
        })
    }

    /// The answer of [`Index::search`] to each query, in order. Queries are taken ahead while the queue has room, so
    /// that later queries are answered while the caller looks at an answer.
    pub fn answers<I: IntoIterator<Item = Query>>(
        &mut self,
        queries: I,
    ) -> Answers<'_, I::IntoIter> {
        let (told, outcomes) = mpsc::channel();
        Answers {
            in_order: self,
            queries: queries.into_iter().fuse(),
            under_way: VecDeque::new(),
            first: 0,
            told,
            outcomes,
        }
    }

    /// The shares of both processors so far.
    pub fn shares(&self) -> Shares {
        self.shares
    }

    /// The reason why a lane of the GPU is lost; none if no lane is.
    pub fn lost(&self) -> Option<String> {
        self.scheduler.report().lost
    }

    /// Counts a query for the processor that answered it, and gives its answer.
    fn take(&mut self, query: &Query, outcome: Outcome) -> Result<Vec<Hit>> {
        let by_gpu = matches!(outcome, Outcome::Answered(_, Processor::Gpu(_)));
        *self.share(query, by_gpu) += 1;
        match outcome {
            Outcome::Answered(hits, _) => Ok(hits),
            // The index tells it once more, as an error rather than in words.
            Outcome::Cancelled => Err(Error::Cancelled),
            Outcome::Failed(_) | Outcome::Late => self.index.search(query, &self.search),
        }
    }

    fn share(&mut self, query: &Query, by_gpu: bool) -> &mut u64 {
        let gpu = self.accelerator.as_ref();
        let shares = &mut self.shares;
        if by_gpu {
            &mut shares.gpu
        } else if !query.filters.is_empty() {
            &mut shares.filters
        } else if !query.phrases.is_empty() {
            &mut shares.phrases
        } else if gpu.is_none_or(|gpu| !gpu.answers(&self.search)) {
            &mut shares.options
        } else if gpu.is_none_or(|gpu| gpu.complexity(query).is_none()) {
            &mut shares.lists
        } else {
            &mut shares.lost
        }
    }
}

/// The answers to queries, in their order.
pub struct Answers<'a, I> {
    in_order: &'a mut InOrder,
    queries: Fuse<I>,
    /// Queries whose answers have not been given, in order, with the outcomes that are known.
    under_way: VecDeque<(Arc<Query>, Option<Outcome>)>,
    /// The number of the first of these.
    first: usize,
    told: Sender<(usize, Outcome)>,
    outcomes: Receiver<(usize, Outcome)>,
}

impl<I> Answers<'_, I> {
    fn submit(&mut self, query: Query) {
        let query = Arc::new(query);
        let number = self.first + self.under_way.len();
        let told = self.told.clone();
        // Without a receiver nobody needs the outcome.
        let reply = move |outcome| drop(told.send((number, outcome)));
        let taken = self
            .in_order
            .scheduler
            .submit(Arc::clone(&query), None, reply);
        let refused = taken.err().map(|why| Outcome::Failed(why.to_string()));
        self.under_way.push_back((query, refused));
    }
}

impl<I: Iterator<Item = Query>> Iterator for Answers<'_, I> {
    type Item = Result<Vec<Hit>>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.under_way.len() < self.in_order.most
            && let Some(query) = self.queries.next()
        {
            self.submit(query);
        }
        // Every query is told once, so that this ends.
        while let Some((_, None)) = self.under_way.front() {
            let (number, outcome) = self.outcomes.recv().ok()?;
            self.under_way[number - self.first].1 = Some(outcome);
        }
        let (query, outcome) = self.under_way.pop_front()?;
        self.first += 1;
        Some(self.in_order.take(&query, outcome?))
    }
}

impl Shares {
    /// Left to the CPU.
    pub fn cpu(&self) -> u64 {
        self.filters + self.phrases + self.options + self.lists + self.lost
    }
}

/// How many queries the CPU answered, and why.
impl fmt::Display for Shares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.gpu + self.cpu();
        write!(f, "the CPU answered {} of {all} queries", self.cpu())?;
        let reasons = [
            (self.filters, "with filters"),
            (self.phrases, "with phrases"),
            (
                self.options,
                "for more documents than a GPU ranks, or with all scored",
            ),
            (self.lists, "with lists that are not on the GPU"),
            (self.lost, "that the GPU had when it failed, or after"),
        ];
        let told = reasons.iter().filter(|(count, _)| *count > 0);
        for ((count, why), mark) in told.zip([": "].into_iter().chain(std::iter::repeat(", "))) {
            write!(f, "{mark}{count} {why}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Shares;

    #[test]
    fn reasons_in_words() {
        let shares = Shares {
            gpu: 5,
            filters: 2,
            lost: 3,
            ..Shares::default()
        };
        assert_eq!(
            shares.to_string(),
            "the CPU answered 5 of 10 queries: 2 with filters, 3 that the GPU had when it failed, or after"
        );
        assert_eq!(
            Shares::default().to_string(),
            "the CPU answered 0 of 0 queries"
        );
    }
}
