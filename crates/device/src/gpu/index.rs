//! The lists of an index on a device: the most useful ones first, as many as fit.
//!
//! Documents have their numbers in the index; deleted documents are left out of the lists. Scores
//! equal those of the index to the last bit: weights are computed from the same integers by the
//! same operations, and added in the same order.

use std::sync::{Arc, RwLock};

use tokapi_index::Index;
use tokapi_index::parts::{PartDocuments, PartLists, parts_of};
use tokapi_index::query::{Query, QueryStatistics};
use tokapi_kernels::{DeviceLists, ListsBuilder};
use tokapi_storage::error::Result;
use tokapi_weigh::formula::Bm25;

use super::fit::{Fit, documents_of, fit};
use super::options::GpuIndexOptions;
use super::read::{Listed, Reader};
use super::terms::{TermLists, Terms};
use super::weights::Weighed;

/// Seconds to load lists to a device: to start it, and for each posting (475 million took 9.9 s
/// with an H200 and one thread, `benches/gpu/queries.txt`).
const TO_START: f64 = 0.5;
const TO_BRING: f64 = 21e-9;

/// Seconds that a CPU thread takes for a query, divided by the square root of the number of
/// documents. This fits OR for the best ten of 73 thousand, 873 thousand and 10 million documents
/// within a factor of two: 62, 406 and 860 microseconds.
const TO_ANSWER: f64 = 0.3e-6;

/// An index with its lists on a device.
pub struct GpuIndex {
    pub(super) index: Arc<Index>,
    pub(super) lists: TermLists,
    /// The parts whose postings are on the device.
    pub(super) parts: Vec<PartDocuments>,
    fit: Fit,
    /// The last weighing of postings. Locked while weights are used.
    pub(super) weighed: RwLock<Option<Weighed>>,
    pub(super) fail_after: Option<u64>,
}

impl GpuIndex {
    /// Loads the lists of `index` to a device. If not all fit, the lists of the terms most
    /// frequent in `log` come first, then the longest.
    ///
    /// # Errors
    /// The device does not exist; it has too little memory; the index has 2^32 documents or more,
    /// or is damaged, or has impacts by another formula;
    /// [`Error::Cancelled`](tokapi_storage::error::Error::Cancelled).
    pub fn new(index: Arc<Index>, options: &GpuIndexOptions, log: &[Query]) -> Result<Self> {
        let documents = documents_of(&index)?;
        let reader = Reader::new(
            PartLists::of(&index, |_| true)?,
            options.threads,
            &options.progress,
        )?;
        let listed = reader.terms()?;
        let (fit, fits) = fit(documents, options, &listed, log)?;
        let counts = fitting(&listed, &fits).map(|(_, df)| df).collect();
        let builder = ListsBuilder::new(options.build, options.device, counts, documents)?;
        let (terms, brought) = std::thread::scope(|scope| {
            let terms = scope.spawn(|| {
                let mut terms = Terms::default();
                // Lists in memory.
                terms.reserve(fit.fitting_lists as usize);
                for (name, _) in fitting(&listed, &fits) {
                    terms.push(name);
                }
                terms
            });
            let brought = reader.bring(&listed, &fits, &builder);
            let terms = terms.join();
            (
                terms.unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                brought,
            )
        });
        brought?;
        let lists = builder.finish(&index.lengths()?)?;
        GpuIndex::of(index, lists, Arc::new(terms), fit, options)
    }

    /// An index whose lists are on a device, weighed now.
    pub(super) fn of(
        index: Arc<Index>,
        lists: DeviceLists,
        terms: Arc<Terms>,
        fit: Fit,
        options: &GpuIndexOptions,
    ) -> Result<Self> {
        let on_device = GpuIndex {
            parts: parts_of(&index),
            index,
            lists: TermLists {
                lists,
                terms,
                is_whole: fit.is_whole(),
            },
            fit,
            weighed: RwLock::new(None),
            fail_after: options.fail_after,
        };
        on_device.weigh(&options.bm25, None)?;
        Ok(on_device)
    }

    /// Computes how much of `index` would fit.
    ///
    /// # Errors
    /// As [`GpuIndex::new`].
    pub fn fit_of(index: &Index, options: &GpuIndexOptions) -> Result<Fit> {
        let lists = PartLists::of(index, |_| true)?;
        let listed = Reader::new(lists, options.threads, &options.progress)?.terms()?;
        fit(documents_of(index)?, options, &listed, &[]).map(|(fit, _)| fit)
    }

    /// Estimates whether loading the lists to a device takes less time than `threads` CPU threads
    /// take to answer this many queries. The constants were measured elsewhere: a query takes 0.3
    /// us times the square root of the number of documents; lists take 0.5 s and 21 ns a posting.
    pub fn pays(index: &Index, queries: u64, threads: usize) -> bool {
        let info = index.info();
        let documents = info.statistics.documents as f64;
        let by_cpu = queries as f64 * TO_ANSWER * documents.sqrt() / threads.max(1) as f64;
        by_cpu > TO_START + info.postings as f64 * TO_BRING
    }

    /// The part of the index that fits.
    pub fn fit(&self) -> Fit {
        self.fit
    }

    /// The index.
    pub fn index(&self) -> &Arc<Index> {
        &self.index
    }

    /// Weighs the postings by a formula, and by the statistics of a larger collection if they are given. Those have N,
    /// the total length, and the dfs of any number of terms; the other terms keep the df of the former call with the
    /// same formula, N and length, or have that of the index. If only dfs differ from the former call, only the lists
    /// of these terms are weighed. Waits for batches under way.
    ///
    /// # Errors
    /// Parameters are out of range; the statistics are of fewer documents than the index; the device failed.
    pub fn weigh(&self, bm25: &Bm25, statistics: Option<&QueryStatistics>) -> Result<()> {
        let weighed = self.weighed.write();
        let mut weighed = weighed.unwrap_or_else(|error| error.into_inner());
        Weighed::weigh(&mut weighed, &self.index, &self.lists, bm25, statistics)
    }
}

/// The terms whose lists fit, and their dfs.
fn fitting<'a>(listed: &'a [Listed], fits: &'a [bool]) -> impl Iterator<Item = (&'a [u8], u32)> {
    let all = listed.iter();
    let all = all.flat_map(|of_range| of_range.names.iter().zip(of_range.dfs.iter().copied()));
    let fitting = all.zip(fits).filter(|(_, fits)| **fits);
    fitting.map(|(term, _)| term)
}
