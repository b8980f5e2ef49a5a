//! The lists that fit on a device: the most useful ones first, as many as fit.

use hashbrown::HashMap;
use tokapi_index::Index;
use tokapi_index::query::Query;
use tokapi_storage::error::{Error, Result};

use super::options::GpuIndexOptions;
use super::read::Listed;

/// The fraction of device memory reserved for batches of queries if no limit is given: an eighth.
const LEFT: u64 = 8;

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

impl Fit {
    /// Whether all lists fit.
    pub fn is_whole(&self) -> bool {
        self.fitting_lists == self.lists
    }
}

/// The memory of the device for lists.
///
/// # Errors
/// The device does not exist.
pub(super) fn budget(options: &GpuIndexOptions) -> Result<u64> {
    if let Some(bytes) = options.memory_bytes {
        return Ok(bytes);
    }
    let free = options.build.device(options.device)?.free_bytes;
    // The host build has no limit.
    let free = if free == 0 { u64::MAX } else { free };
    Ok(free - free / LEFT)
}

/// The number of documents that a device has to number.
///
/// # Errors
/// There are too many.
pub(super) fn documents_of(index: &Index) -> Result<u32> {
    let documents = index.numbered();
    u32::try_from(documents).map_err(|_| {
        Error::Limit(format!(
            "the index has {documents} documents, and a GPU can number no more than 2^32"
        ))
    })
}

/// Computes how much fits. Returns also, for every list in its order, whether it fits: the lists of the terms most
/// frequent in `log` come first, then the longest.
pub(super) fn fit(
    documents: u32,
    options: &GpuIndexOptions,
    listed: &[Listed],
    log: &[Query],
) -> Result<(Fit, Vec<bool>)> {
    let budget_bytes = budget(options)?;
    let dfs = || listed.iter().flat_map(|of_range| &of_range.dfs);
    let count = listed.iter().map(|of_range| of_range.dfs.len()).sum();
    let bytes = |lists: u64, postings: u64| {
        let documents = documents.into();
        options.build.lists_bytes(postings, lists, documents)
    };
    let postings = dfs().map(|&df| u64::from(df)).sum();
    let mut fit = Fit {
        lists: count as u64,
        postings,
        fitting_lists: count as u64,
        fitting_postings: postings,
        bytes: 0,
        budget_bytes,
    };
    let mut fits = vec![true; count];
    if bytes(fit.lists, fit.postings) > budget_bytes {
        fits.fill(false);
        (fit.fitting_lists, fit.fitting_postings) = (0, 0);
        let mut asked: HashMap<&[u8], u64> = HashMap::new();
        for clause in log.iter().flat_map(|query| &query.clauses) {
            *asked.entry(clause.term.as_bytes()).or_default() += 1;
        }
        let names = listed.iter().flat_map(|of_range| of_range.names.iter());
        let lists: Vec<(u64, u32)> = names
            .zip(dfs())
            .map(|(name, &df)| (asked.get(name).copied().unwrap_or(0), df))
            .collect();
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(|&list| std::cmp::Reverse(lists[list]));
        for list in order {
            let df = u64::from(lists[list].1);
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
