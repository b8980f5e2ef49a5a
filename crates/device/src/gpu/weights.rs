//! The weights of the postings on a device: by a formula, and by the statistics of the index or of a larger collection.

use hashbrown::HashMap;
use tokapi_index::Index;
use tokapi_index::query::{QueryStatistics, SearchOptions};
use tokapi_index::weighing::Weighing;
use tokapi_kernels::TfPart;
use tokapi_storage::error::Result;
use tokapi_weigh::formula::{Bm25, Statistics};

use super::terms::{OnDevice, TermLists};

/// The formula and the statistics that the weights on a device are of.
pub(super) struct Weighed {
    bm25: Bm25,
    collection: Statistics,
    /// The df of lists where it is not the length of the list, as the collection is larger than the index.
    others: HashMap<u32, u64>,
}

impl Weighed {
    /// Whether these are the weights for searches of `index` with such options, but for dfs.
    pub fn is_for(&self, index: &Index, options: &SearchOptions) -> bool {
        let given = options.statistics.as_ref();
        let weighing = Weighing::of(index, &options.bm25);
        weighing.is_ok_and(|weighing| *weighing.bm25() == self.bm25)
            && self.collection == given.map_or_else(|| index.statistics(), |given| given.collection)
    }

    /// Whether the weights of a list with `own` documents are those for searches with the statistics `given`.
    pub fn has_df(&self, list: u32, own: u64, term: &str, given: Option<&QueryStatistics>) -> bool {
        let asked = given.map_or(Some(own), |given| given.dfs.get(term).copied());
        asked == Some(self.df(list, own))
    }

    /// Whether the weights of all terms are those for searches with the statistics `given`, as far as the index has
    /// the terms.
    pub fn has_dfs(&self, lists: &TermLists, given: Option<&QueryStatistics>) -> bool {
        let Some(given) = given else {
            return self.others.is_empty();
        };
        given
            .dfs
            .keys()
            .all(|term| match lists.find(term.as_bytes()) {
                OnDevice::List(list) => self.has_df(list, lists.length(list), term, Some(given)),
                _ => true,
            })
    }

    fn df(&self, list: u32, own: u64) -> u64 {
        self.others.get(&list).copied().unwrap_or(own)
    }

    /// Weighs the lists of `index` by a formula, and by the statistics of a larger collection if they are given:
    /// [`GpuIndex::weigh`](super::GpuIndex::weigh). `weighed` tells what they are weighed by, and is none after a
    /// failure of the device.
    pub fn weigh(
        weighed: &mut Option<Weighed>,
        index: &Index,
        lists: &TermLists,
        bm25: &Bm25,
        statistics: Option<&QueryStatistics>,
    ) -> Result<()> {
        let weighing = Weighing::of(index, bm25)?;
        let own = index.statistics();
        statistics.map_or(Ok(()), |given| given.check(&own))?;
        let collection = statistics.map_or(own, |given| given.collection);
        let mut given: Vec<(u32, u64)> = Vec::new();
        if let Some(statistics) = statistics {
            for term in statistics.dfs.keys() {
                if let OnDevice::List(list) = lists.find(term.as_bytes()) {
                    given.push((list, statistics.df_of(term, lists.length(list))?));
                }
            }
        }
        let is_kept =
            |before: &Weighed| before.bm25 == *weighing.bm25() && before.collection == collection;
        let before = weighed.take().filter(is_kept);
        let is_new = before.is_none();
        let mut now = before.unwrap_or_else(|| Weighed {
            bm25: *weighing.bm25(),
            collection,
            others: HashMap::new(),
        });
        if statistics.is_none() {
            // Back to the dfs of the index.
            let others = now.others.keys();
            given.extend(others.map(|&list| (list, lists.length(list))));
        }
        given.retain(|&(list, df)| df != now.df(list, lists.length(list)));
        for &(list, df) in &given {
            match df == lists.length(list) {
                true => now.others.remove(&list),
                false => now.others.insert(list, df),
            };
        }
        match is_new {
            true => now.weigh_all(&weighing, lists)?,
            false if given.is_empty() => {}
            false => {
                let idf = |&(_, df): &(u32, u64)| weighing.idf(collection.documents, df);
                let idf: Vec<f64> = given.iter().map(idf).collect();
                let some: Vec<u32> = given.iter().map(|&(list, _)| list).collect();
                lists.lists.weigh_some(&some, &idf)?;
            }
        }
        *weighed = Some(now);
        Ok(())
    }

    fn weigh_all(&self, weighing: &Weighing, lists: &TermLists) -> Result<()> {
        let mut of_df: HashMap<u32, f64> = HashMap::new();
        let documents = self.collection.documents;
        let own = lists.lists.lengths().iter().map(|&df| {
            let known = of_df.entry(df);
            *known.or_insert_with(|| weighing.idf(documents, df.into()))
        });
        let mut idf: Vec<f64> = own.collect();
        for (&list, &df) in &self.others {
            idf[list as usize] = weighing.idf(documents, df);
        }
        let mut formula = tokapi_weigh::gpu::formula(&self.bm25, &self.collection, &idf);
        if !weighing.needs_lengths() {
            formula.tf_part = TfPart::Plain;
        }
        Ok(lists.lists.weigh(&formula)?)
    }
}
