//! Answers many queries by CPU and GPU, in order.

use std::collections::VecDeque;
use std::fmt;
use std::iter::Fuse;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};

use super::accelerator::Accelerator;
use super::options::{Policy, SchedulerOptions};
use super::request::{Outcome, Processor, Search};
use super::scheduler::Scheduler;
use tokapi_index::Index;
use tokapi_index::query::{Hit, Query, SearchOptions};
use tokapi_storage::error::{Error, Result};

/// Answers queries in order. The GPU answers the queries that it can, CPU threads the others.
pub struct InOrder {
    index: Arc<Index>,
    accelerator: Option<Arc<dyn Accelerator>>,
    scheduler: Scheduler,
    options: SearchOptions,
    /// Maximum number of queries under way.
    most: usize,
    shares: Shares,
}

/// The number of queries that the GPU answered, and the numbers left to the CPU by reason. If
/// several reasons apply, the first counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Shares {
    /// Answered by the GPU.
    pub gpu: u64,
    /// The query has filters.
    pub filters: u64,
    /// The query has phrases.
    pub phrases: u64,
    /// The options allow no query on the GPU.
    pub options: u64,
    /// A list is not on the GPU.
    pub lists: u64,
    /// The GPU failed.
    pub lost: u64,
}

impl InOrder {
    /// Answers queries from `index` by the options `search`, and from the same index on a GPU. Without a
    /// GPU, the CPU answers all queries. At most `options.queue` queries are under way at a time, which bounds
    /// the memory. The policy is [`Policy::Synchronous`].
    ///
    /// # Errors
    /// A lane cannot be created.
    pub fn new(
        index: Arc<Index>,
        accelerator: Option<Arc<dyn Accelerator>>,
        search: SearchOptions,
        options: &SchedulerOptions,
    ) -> Result<Self> {
        let most = options.queue.max(1);
        let options = options.clone().policy(Policy::Synchronous).queue(most);
        let answers = |gpu: &Arc<dyn Accelerator>| gpu.answers(&search);
        let takes_part = accelerator.clone().filter(answers);
        let scheduler = Scheduler::new(takes_part, None, &options)?;
        Ok(InOrder {
            index,
            accelerator,
            scheduler,
            options: search,
            most,
            shares: Shares::default(),
        })
    }

    /// The answer of [`Index::search`] to each query, in order. Queries are read ahead while the
    /// queue has room, so later queries are processed while the caller uses an answer.
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

    /// The numbers of queries by processor so far.
    pub fn shares(&self) -> Shares {
        self.shares
    }

    /// The reason why the GPU is lost; none if it is not.
    pub fn lost(&self) -> Option<String> {
        self.scheduler.lost()
    }

    /// Counts a query for the processor that answered it, and returns its answer.
    fn take(&mut self, search: &Search, outcome: Outcome) -> Result<Vec<Hit>> {
        let by_gpu = matches!(outcome, Outcome::Answered(_, Processor::Gpu(_)));
        *self.share(search, by_gpu) += 1;
        match outcome {
            Outcome::Answered(hits, _) => Ok(hits),
            // The index repeats the failed search, to return the original error.
            Outcome::Cancelled => Err(Error::Cancelled),
            Outcome::Failed(_) | Outcome::Late => search.run(),
        }
    }

    fn share(&mut self, search: &Search, by_gpu: bool) -> &mut u64 {
        let gpu = self.accelerator.as_ref();
        let shares = &mut self.shares;
        if by_gpu {
            &mut shares.gpu
        } else if !search.query.filters.is_empty() {
            &mut shares.filters
        } else if !search.query.phrases.is_empty() {
            &mut shares.phrases
        } else if gpu.is_none_or(|gpu| !gpu.answers(&search.options)) {
            &mut shares.options
        } else if self.scheduler.lost().is_some() {
            &mut shares.lost
        } else {
            &mut shares.lists
        }
    }
}

/// The answers to queries, in their order.
pub struct Answers<'a, I> {
    in_order: &'a mut InOrder,
    queries: Fuse<I>,
    /// Queries whose answers have not been returned, in order, with the known outcomes.
    under_way: VecDeque<(Arc<Search>, Option<Outcome>)>,
    /// The number of the first of these queries.
    first: usize,
    told: Sender<(usize, Outcome)>,
    outcomes: Receiver<(usize, Outcome)>,
}

impl<I> Answers<'_, I> {
    fn submit(&mut self, query: Query) {
        let search = Arc::new(Search {
            index: Arc::clone(&self.in_order.index),
            query,
            options: self.in_order.options.clone(),
        });
        let number = self.first + self.under_way.len();
        let told = self.told.clone();
        // Without a receiver nobody needs the outcome.
        let reply = move |outcome| drop(told.send((number, outcome)));
        let taken = self
            .in_order
            .scheduler
            .submit(Arc::clone(&search), None, reply);
        let refused = taken.err().map(|why| Outcome::Failed(why.to_string()));
        self.under_way.push_back((search, refused));
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
        // Every query gets one outcome, so this loop ends.
        while let Some((_, None)) = self.under_way.front() {
            let (number, outcome) = self.outcomes.recv().ok()?;
            self.under_way[number - self.first].1 = Some(outcome);
        }
        let (search, outcome) = self.under_way.pop_front()?;
        self.first += 1;
        Some(self.in_order.take(&search, outcome?))
    }
}

impl Shares {
    /// The number left to the CPU.
    pub fn cpu(&self) -> u64 {
        self.filters + self.phrases + self.options + self.lists + self.lost
    }
}

/// The number of queries answered by the CPU, by reason.
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
