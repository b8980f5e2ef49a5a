//! Reads the lists of an index on several threads, for a device.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use tokapi_index::parts::{PartLists, TermRange};
use tokapi_kernels::ListsBuilder;
use tokapi_storage::error::Result;
use tokapi_storage::progress::Progress;
use tokapi_storage::strings::Strings;

/// Postings decoded at a time: they stay in the cache of a core until they are copied.
const DECODED: usize = 1 << 14;

/// Postings of a thread that go up together.
const UP_TOGETHER: u64 = 1 << 20;

/// Ranges of terms for each thread: some terms have many postings.
const RANGES_OF_THREAD: usize = 8;

/// The lists of some parts of an index, read by several threads.
pub(super) struct Reader<'a> {
    lists: PartLists<'a>,
    ranges: Vec<TermRange>,
    threads: usize,
    progress: &'a Progress,
}

/// The terms of a range, and their dfs.
#[derive(Default)]
pub(super) struct Listed {
    pub names: Strings,
    pub dfs: Vec<u32>,
}

impl<'a> Reader<'a> {
    pub fn new(lists: PartLists<'a>, threads: usize, progress: &'a Progress) -> Result<Self> {
        let threads = threads.max(1);
        Ok(Reader {
            ranges: lists.ranges(threads * RANGES_OF_THREAD)?,
            lists,
            threads,
            progress,
        })
    }

    /// All terms with documents, range by range.
    pub fn terms(&self) -> Result<Vec<Listed>> {
        let listed: Vec<Mutex<Listed>> = self.ranges.iter().map(|_| Mutex::default()).collect();
        self.for_each_range(
            || Ok(()),
            |(), number, range| {
                let mut of_range = Listed::default();
                self.lists.each_term(range, |term, df| {
                    of_range.names.push(term);
                    // Documents are fewer than 2^32.
                    of_range.dfs.push(df as u32);
                })?;
                *listed[number]
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner) = of_range;
                Ok(())
            },
            |()| Ok(()),
        )?;
        let listed = listed.into_iter();
        Ok(listed
            .map(|of| of.into_inner().unwrap_or_else(PoisonError::into_inner))
            .collect())
    }

    /// Brings up the lists that `fits` tells, of all terms in their order, to the lists of a builder in their order.
    pub fn bring(&self, listed: &[Listed], fits: &[bool], to: &ListsBuilder) -> Result<()> {
        // Where the terms of each range begin, among all and among those that fit.
        let mut firsts = vec![(0, 0)];
        let (mut all, mut fitting) = (0, 0);
        let mut postings = 0;
        for of_range in listed {
            let fits = &fits[all..][..of_range.dfs.len()];
            let dfs = of_range.dfs.iter().zip(fits);
            postings += dfs
                .filter(|(_, fits)| **fits)
                .map(|(&df, _)| u64::from(df))
                .sum::<u64>();
            all += fits.len();
            fitting += fits.iter().filter(|fits| **fits).count();
            firsts.push((all, fitting));
        }
        let room = postings.min(UP_TOGETHER) as usize;
        self.for_each_range(
            || Ok(to.loader(room)?),
            |loader, number, range| {
                let (first, first_fitting) = firsts[number];
                if firsts[number + 1].1 == first_fitting {
                    return Ok(());
                }
                loader.go_to(first_fitting)?;
                let mut fits = fits[first..].iter();
                let wants = |_: &[u8], _| fits.next().copied().unwrap_or(false);
                self.lists.each_list(range, DECODED, wants, |piece| {
                    self.progress.check()?;
                    Ok(loader.add(piece.documents, piece.tfs)?)
                })
            },
            |loader| Ok(loader.finish()?),
        )
    }

    /// Passes every range and its number to `each`, on all threads: each thread begins with a state and ends with it.
    fn for_each_range<S>(
        &self,
        begin: impl Fn() -> Result<S> + Sync,
        each: impl Fn(&mut S, usize, &TermRange) -> Result<()> + Sync,
        end: impl Fn(S) -> Result<()> + Sync,
    ) -> Result<()> {
        let next = AtomicUsize::new(0);
        let work = || {
            let mut state = begin()?;
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(range) = self.ranges.get(number) else {
                    return end(state);
                };
                let done = self
                    .progress
                    .check()
                    .and_then(|()| each(&mut state, number, range));
                if done.is_err() {
                    // The others end soon.
                    next.store(self.ranges.len(), Ordering::Relaxed);
                    return done;
                }
            }
        };
        let threads = self.threads.min(self.ranges.len());
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let mut ended = work();
            for other in others {
                let other = other
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                ended = ended.and(other);
            }
            ended
        })
    }
}
