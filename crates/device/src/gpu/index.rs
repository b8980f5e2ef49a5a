//! The lists of an index on a device: the most useful ones first, as many as fit.
//!
//! Documents have their numbers in the index; deleted documents are left out of the lists. Scores
//! equal those of the index to the last bit: weights are computed from the same integers by the
//! same operations, and added in the same order.

use std::hash::BuildHasher;
use std::sync::{Arc, RwLock};

use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use tokapi_kernels::{Build, DeviceLists, ListsBuilder, TfPart};

use tokapi_index::Index;
use tokapi_index::query::Query;
use tokapi_index::weighing::Weighing;
use tokapi_storage::error::{Error, Result};
use tokapi_storage::progress::Progress;
use tokapi_storage::strings::Strings;
use tokapi_weigh::formula::Bm25;

/// Postings read at a time.
const TAKEN: usize = 1 << 20;

/// The fraction of device memory reserved for batches of queries if no limit is given: an eighth.
const LEFT: u64 = 8;

/// Seconds to load lists to a device: to start it, and for each posting (475 million took 9.9 s
/// with an H200, `benches/gpu/queries.txt`).
const TO_START: f64 = 0.5;
const TO_BRING: f64 = 21e-9;

/// Seconds that a CPU thread takes for a query, divided by the square root of the number of
/// documents. This fits OR for the best ten of 73 thousand, 873 thousand and 10 million documents
/// within a factor of two: 62, 406 and 860 microseconds.
const TO_ANSWER: f64 = 0.3e-6;

/// Options: the device, and its memory for lists.
#[derive(Debug, Clone)]
pub struct GpuIndexOptions {
    /// The build of the kernels.
    pub build: Build,
    /// The device, counted from 0.
    pub device: u32,
    /// Maximum device memory for lists in bytes; `None` means seven eighths of the free memory.
    pub memory_bytes: Option<u64>,
    /// For tests: batches after which a lane is lost.
    #[doc(hidden)]
    pub fail_after: Option<u64>,
    /// Can cancel the loading of lists.
    pub progress: Progress,
}

impl GpuIndexOptions {
    /// The first device.
    pub fn new(build: Build) -> Self {
        GpuIndexOptions {
            build,
            device: 0,
            memory_bytes: None,
            fail_after: None,
            progress: Progress::default(),
        }
    }
}

/// The part of an index that fits on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fit {
    /// Number of lists in the index.
    pub lists: u64,
    /// Their postings, without those of deleted documents.
    pub postings: u64,
    /// Number of lists that fit.
    pub fitting_lists: u64,
    /// Their postings.
    pub fitting_postings: u64,
    /// The device memory for these lists.
    pub bytes: u64,
    /// The device memory available for lists.
    pub budget_bytes: u64,
}

/// An index with its lists on a device.
pub struct GpuIndex {
    pub(super) index: Arc<Index>,
    pub(super) lists: Arc<DeviceLists>,
    terms: Terms,
    fit: Fit,
    /// The last weighing of postings. Locked while weights are used.
    pub(super) weighed: RwLock<Option<Bm25>>,
    pub(super) fail_after: Option<u64>,
}

/// The terms, and the numbers of their lists.
#[derive(Default)]
struct Terms {
    names: Strings,
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl Terms {
    fn push(&mut self, term: &[u8]) {
        let Terms {
            names,
            numbers,
            hasher,
        } = self;
        // Lists are fewer than 2^32.
        let number = names.len() as u32;
        names.push(term);
        let hash = |&number: &u32| hasher.hash_one(names.get(number as usize));
        numbers.insert_unique(hash(&number), number, hash);
    }

    fn find(&self, term: &[u8]) -> Option<u32> {
        let is_it = |&number: &u32| self.names.get(number as usize) == term;
        let hash = self.hasher.hash_one(term);
        self.numbers.find(hash, is_it).copied()
    }
}

/// The list of a term on the device.
pub(super) enum OnDevice {
    List(u32),
    /// No document of the index has the term.
    Nothing,
    /// The device does not have the list; the index may.
    Elsewhere,
}

impl GpuIndex {
    /// Loads the lists of `index` to a device. If not all fit, the lists of the terms most
    /// frequent in `log` come first, then the longest.
    ///
    /// # Errors
    /// The device does not exist; it has too little memory; the index has 2^32 documents or more,
    /// or is damaged;
    /// [`Error::Cancelled`].
    pub fn new(index: Arc<Index>, options: &GpuIndexOptions, log: &[Query]) -> Result<Self> {
        let (fit, fits) = plan(&index, options, log)?;
        let lengths = index.lengths()?;
        let mut builder =
            ListsBuilder::new(options.build, options.device, fit.fitting_postings, lengths)?;
        let mut terms = Terms::default();
        let mut fits = fits.into_iter();
        let fits = |_: &[u8], _| fits.next().unwrap_or(false);
        index.each_list(TAKEN, fits, |piece| -> Result<()> {
            options.progress.check()?;
            builder.add(piece.documents, piece.tfs)?;
            if piece.is_last {
                builder.end_list();
                terms.push(piece.term);
            }
            Ok(())
        })?;
        let lists = Arc::new(builder.finish()?);
        Ok(GpuIndex {
            index,
            lists,
            terms,
            fit,
            weighed: RwLock::new(None),
            fail_after: options.fail_after,
        })
    }

    /// Computes how much of `index` would fit.
    ///
    /// # Errors
    /// As [`GpuIndex::new`].
    pub fn fit_of(index: &Index, options: &GpuIndexOptions) -> Result<Fit> {
        plan(index, options, &[]).map(|(fit, _)| fit)
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

    pub(super) fn find(&self, term: &[u8]) -> OnDevice {
        match self.terms.find(term) {
            Some(number) => OnDevice::List(number),
            None if self.fit.fitting_lists == self.fit.lists => OnDevice::Nothing,
            None => OnDevice::Elsewhere,
        }
    }

    /// Weighs all postings.
    pub(super) fn weigh(&self, weighing: &Weighing) -> Result<()> {
        let statistics = self.index.statistics();
        let mut of_df: HashMap<u32, f64> = HashMap::new();
        let mut idf = |df: u32| {
            let known = of_df.entry(df);
            *known.or_insert_with(|| weighing.idf(statistics.documents, df.into()))
        };
        let lists = 0..self.lists.len() as u32;
        let idf: Vec<f64> = lists.map(|list| idf(self.lists.length(list))).collect();
        let mut formula = tokapi_weigh::gpu::formula(weighing.bm25(), &statistics, &idf);
        if !weighing.needs_lengths() {
            formula.tf_part = TfPart::Plain;
        }
        Ok(self.lists.weigh(&formula)?)
    }
}

/// Computes how much fits. Returns also, for every list of the index in its order, whether it
/// fits.
fn plan(index: &Index, options: &GpuIndexOptions, log: &[Query]) -> Result<(Fit, Vec<bool>)> {
    let documents = index.numbered();
    if u32::try_from(documents).is_err() {
        return Err(Error::Limit(format!(
            "the index has {documents} documents, and a GPU can number no more than 2^32"
        )));
    }
    let budget_bytes = match options.memory_bytes {
        Some(bytes) => bytes,
        None => {
            let free = options.build.device(options.device)?.free_bytes;
            // The host build has no limit.
            let free = if free == 0 { u64::MAX } else { free };
            free - free / LEFT
        }
    };
    let mut asked: HashMap<&str, u64> = HashMap::new();
    for clause in log.iter().flat_map(|query| &query.clauses) {
        *asked.entry(&clause.term).or_default() += 1;
    }
    options.progress.check()?;
    let mut lists = Vec::new();
    index.each_term(|term, df| {
        let times = std::str::from_utf8(term)
            .ok()
            .and_then(|term| asked.get(term));
        lists.push((times.copied().unwrap_or(0), df));
    })?;
    let bytes = |lists: u64, postings: u64| options.build.lists_bytes(postings, lists, documents);
    let mut fit = Fit {
        lists: lists.len() as u64,
        postings: lists.iter().map(|&(_, df)| df).sum(),
        fitting_lists: lists.len() as u64,
        fitting_postings: 0,
        bytes: 0,
        budget_bytes,
    };
    fit.fitting_postings = fit.postings;
    let mut fits = vec![true; lists.len()];
    if bytes(fit.lists, fit.postings) > budget_bytes {
        fits.fill(false);
        (fit.fitting_lists, fit.fitting_postings) = (0, 0);
        let mut order: Vec<usize> = (0..lists.len()).collect();
        order.sort_by_key(|&list| std::cmp::Reverse(lists[list]));
        for list in order {
            let (_, df) = lists[list];
            if bytes(fit.fitting_lists + 1, fit.fitting_postings + df) <= budget_bytes {
                fits[list] = true;
                fit.fitting_lists += 1;
                fit.fitting_postings += df;
            }
        }
    }
    fit.bytes = bytes(fit.fitting_lists, fit.fitting_postings);
    Ok((fit, fits))
}
