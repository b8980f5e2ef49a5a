//! The lists of an index in its next state, made of those that are on the device: only the postings of new parts are
//! read and brought up.

use std::sync::Arc;

use tokapi_index::Index;
use tokapi_index::parts::{PartDocuments, PartLists, deleted_in, parts_of};
use tokapi_kernels::{ListsBuilder, Renewal};
use tokapi_storage::error::Result;

use super::fit::{Fit, budget, documents_of};
use super::index::GpuIndex;
use super::options::GpuIndexOptions;
use super::read::Reader;

/// Lists without documents, one in so many of all, at which lists are loaded anew: each takes a little memory.
const EMPTY_SHARE: usize = 2;

/// What becomes of the documents of a state in the next.
struct Documents {
    /// The new number of each, in the same order; and a bit for each that stays.
    numbers: Vec<u32>,
    stays: Vec<u32>,
    /// Whether the documents of a part of the next state were there.
    known: Vec<bool>,
}

impl GpuIndex {
    /// The same index in its state `next`. Lists of parts that are on the device are not read again, and deleted
    /// documents are left out there; this state goes on to answer meanwhile. None if the lists have to be loaded anew:
    /// not all are on the device, no part is, parts are in another order, or there is no memory for both states.
    ///
    /// # Errors
    /// As [`GpuIndex::new`].
    pub fn renewed(&self, next: Arc<Index>, options: &GpuIndexOptions) -> Result<Option<Self>> {
        let documents = documents_of(&next)?;
        let empty = self
            .lists
            .lists
            .lengths()
            .iter()
            .filter(|&&length| length == 0);
        if !self.fit().is_whole()
            || next.path() != self.index.path()
            || empty.count() * EMPTY_SHARE > self.lists.terms.len()
        {
            return Ok(None);
        }
        let Some(of_documents) = Documents::between(&self.parts, &next)? else {
            return Ok(None);
        };
        let added = PartLists::of(&next, |part| !of_documents.known[part])?;
        let reader = Reader::new(added, options.threads, &options.progress)?;
        let listed = reader.terms()?;
        let counts: Vec<u32> = listed
            .iter()
            .flat_map(|of| of.dfs.iter().copied())
            .collect();
        let postings: u64 = counts.iter().map(|&df| u64::from(df)).sum();
        let lists = (self.lists.terms.len() + counts.len()) as u64;
        let most = self.fit().postings + postings;
        let budget_bytes = budget(options)?;
        let bytes = |lists, postings| {
            let build = options.build;
            build.lists_bytes(postings, lists, documents.into())
        };
        if bytes(lists, most) > budget_bytes {
            return Ok(None);
        }
        let mut terms = Arc::clone(&self.lists.terms);
        let mut added_lists = Vec::with_capacity(counts.len());
        for name in listed.iter().flat_map(|of| of.names.iter()) {
            let list = terms.find(name);
            added_lists.push(list.unwrap_or_else(|| Arc::make_mut(&mut terms).push(name)));
        }
        let fits = vec![true; counts.len()];
        let builder = ListsBuilder::new(options.build, options.device, counts, documents)?;
        reader.bring(&listed, &fits, &builder)?;
        let lists = builder.renew(
            &self.lists.lists,
            &Renewal {
                numbers: &of_documents.numbers,
                stays: &of_documents.stays,
                added_lists: &added_lists,
                lists: terms.len(),
                lengths: &next.lengths()?,
            },
        )?;
        let lengths = || lists.lengths().iter().filter(|&&length| length > 0);
        let count = lengths().count() as u64;
        let postings = lengths().map(|&length| u64::from(length)).sum();
        let fit = Fit {
            lists: count,
            postings,
            fitting_lists: count,
            fitting_postings: postings,
            bytes: bytes(terms.len() as u64, postings),
            budget_bytes,
        };
        GpuIndex::of(next, lists, terms, fit, options).map(Some)
    }
}

impl Documents {
    /// None if no part stays, or if parts that stay are in another order.
    fn between(before: &[PartDocuments], next: &Index) -> Result<Option<Self>> {
        let parts = parts_of(next);
        // Fewer than 2^32 documents on both sides.
        let count = before.iter().map(|part| part.documents).sum::<u64>() as usize;
        let mut numbers = Vec::with_capacity(count);
        let mut stays = vec![0u32; count.div_ceil(32)];
        let mut known = vec![false; parts.len()];
        // The number of documents that go, in the order of the others.
        let mut last = 0;
        let mut next_place = 0;
        for part in before {
            let (first, documents) = (numbers.len(), part.documents as usize);
            let Some(place) = parts.iter().position(|other| other.is_same(part)) else {
                numbers.resize(first + documents, last);
                continue;
            };
            if place < next_place {
                return Ok(None);
            }
            next_place = place + 1;
            known[place] = true;
            let number = parts[place].first as u32;
            numbers.extend((0..part.documents as u32).map(|document| number + document));
            last = numbers.last().copied().unwrap_or(last);
            for document in first..first + documents {
                stays[document / 32] |= 1 << (document % 32);
            }
            for document in deleted_in(next, place)? {
                let document = first + document as usize;
                stays[document / 32] &= !(1 << (document % 32));
            }
        }
        let stay = known.contains(&true);
        Ok(stay.then_some(Documents {
            numbers,
            stays,
            known,
        }))
    }
}
