//! One lexicon from the sorted terms of many parts.
//!
//! The parts' lists are cut at the same splitters into buckets that fit into a cache. A small hash table finds the
//! distinct terms of a bucket, and these few are sorted. Buckets are independent, so all cores share them. Every list
//! is read once, front to back.

use std::hash::BuildHasher;
use std::ops::Range;

use hashbrown::{DefaultHashBuilder, HashTable};
use rayon::prelude::*;

use crate::limit;
use tokapi_storage::error::Result;
use tokapi_storage::progress::Progress;
use tokapi_storage::strings::Strings;

/// The average number of the parts' entries in a bucket. Its table then stays in a core's second-level cache.
const BUCKET_ENTRIES: usize = 16 << 10;

/// The distinct terms of a collection, ascending by bytes, with the number of documents of each.
///
/// [`Collection`](crate::collection::Collection) has an example.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lexicon {
    /// The terms. A term's id is its index here.
    pub terms: Strings,
    /// The number of documents with each term.
    pub df: Vec<u64>,
}

/// A part's terms, ascending by bytes, and the offsets of their postings.
#[derive(Clone, Copy)]
pub(crate) struct PartTerms<'a> {
    pub terms: &'a Strings,
    pub offsets: &'a [u64],
}

impl Lexicon {
    /// Merges the parts' terms. Returns the lexicon, and the ids of every part's terms.
    ///
    /// # Errors
    /// 2^32 or more distinct terms; `progress` is cancelled.
    pub(crate) fn merge(
        parts: &[PartTerms<'_>],
        progress: &Progress,
    ) -> Result<(Lexicon, Vec<Vec<u32>>)> {
        let splitters = splitters(parts);
        let buckets: Result<Vec<Bucket>> = (0..splitters.len() + 1)
            .into_par_iter()
            .map(|number| {
                progress.check()?;
                let from = number.checked_sub(1).map(|before| splitters[before]);
                let to = splitters.get(number);
                let slices: Vec<TermSlice<'_>> = parts
                    .iter()
                    .map(|part| TermSlice {
                        terms: part.terms,
                        range: from.map_or(0, |term| lower_bound(part.terms, term))
                            ..to.map_or(part.terms.len(), |term| lower_bound(part.terms, term)),
                    })
                    .collect();
                Ok(Bucket::merge(&slices, |part, term| {
                    let offsets = parts[part].offsets;
                    offsets[term + 1] - offsets[term]
                }))
            })
            .collect();
        let buckets = buckets?;
        let count: usize = buckets.iter().map(|bucket| bucket.terms.len()).sum();
        limit::check(count, "distinct terms")?;
        let bytes = buckets.iter().map(|bucket| bucket.terms.byte_count()).sum();
        let mut lexicon = Lexicon {
            terms: Strings::with_capacity(count, bytes),
            df: Vec::with_capacity(count),
        };
        let mut bases = Vec::with_capacity(buckets.len());
        for bucket in &buckets {
            progress.check()?;
            // Fewer than 2^32 terms in all, as checked above.
            bases.push(lexicon.terms.len() as u32);
            lexicon.terms.append(&bucket.terms);
            lexicon.df.extend_from_slice(&bucket.df);
        }
        let ids = (0..parts.len())
            .into_par_iter()
            .map(|part| {
                progress.check()?;
                let mut ids = Vec::with_capacity(parts[part].terms.len());
                for (bucket, base) in buckets.iter().zip(&bases) {
                    let range = bucket.ends[part]..bucket.ends[part + 1];
                    ids.extend(bucket.ids[range].iter().map(|id| base + id));
                }
                Ok(ids)
            })
            .collect::<Result<_>>()?;
        Ok((lexicon, ids))
    }
}

/// Some terms of a part.
pub(crate) struct TermSlice<'a> {
    pub terms: &'a Strings,
    pub range: Range<usize>,
}

/// The terms of several slices, merged.
pub(crate) struct Bucket {
    /// The terms, ascending.
    pub terms: Strings,
    /// The df of each, in all slices together.
    pub df: Vec<u64>,
    /// The index in `terms` of every slice's terms, slice after slice.
    pub ids: Vec<u32>,
    /// `ends[s]..ends[s + 1]` are the ids of slice `s`.
    pub ends: Vec<usize>,
}

impl Bucket {
    /// Merges `slices`, where term `t` of slice `s` has df `df(s, t)`.
    pub(crate) fn merge(slices: &[TermSlice<'_>], df: impl Fn(usize, usize) -> u64) -> Bucket {
        let hasher = DefaultHashBuilder::default();
        let mut table: HashTable<u32> = HashTable::new();
        let mut found: Vec<(&[u8], u64)> = Vec::new();
        let (mut ids, mut ends) = (Vec::new(), vec![0]);
        for (number, slice) in slices.iter().enumerate() {
            for index in slice.range.clone() {
                let term = slice.terms.get(index);
                let hash = hasher.hash_one(term);
                let entry = table.entry(
                    hash,
                    |&id| found[id as usize].0 == term,
                    |&id| hasher.hash_one(found[id as usize].0),
                );
                // The ids of a bucket are checked together with the sum of all buckets.
                let next = found.len() as u32;
                let id = *entry.or_insert(next).get();
                if id == next {
                    found.push((term, 0));
                }
                found[id as usize].1 += df(number, index);
                ids.push(id);
            }
            ends.push(ids.len());
        }
        let mut order: Vec<u32> = (0..).take(found.len()).collect();
        order.sort_unstable_by_key(|&id| found[id as usize].0);
        let mut rank = vec![0; found.len()];
        for (&id, place) in order.iter().zip(0..) {
            rank[id as usize] = place;
        }
        for id in &mut ids {
            *id = rank[*id as usize];
        }
        Bucket {
            terms: order.iter().map(|&id| found[id as usize].0).collect(),
            df: order.iter().map(|&id| found[id as usize].1).collect(),
            ids,
            ends,
        }
    }
}

/// The index of the first term that is not below `term`.
fn lower_bound(terms: &Strings, term: &[u8]) -> usize {
    let (mut low, mut high) = (0, terms.len());
    while low < high {
        let middle = low.midpoint(high);
        if terms.get(middle) < term {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// Terms that cut the parts' lists into buckets of about equal size; ascending and distinct.
fn splitters<'a>(parts: &[PartTerms<'a>]) -> Vec<&'a [u8]> {
    /// Sampled terms per bucket.
    const OVERSAMPLING: usize = 16;
    let total: usize = parts.iter().map(|part| part.terms.len()).sum();
    let step = (BUCKET_ENTRIES / OVERSAMPLING).max(1);
    if total <= BUCKET_ENTRIES {
        return Vec::new();
    }
    let mut sample: Vec<&[u8]> = parts
        .iter()
        .flat_map(|part| {
            (0..part.terms.len())
                .skip(step / 2)
                .step_by(step)
                .map(|index| part.terms.get(index))
        })
        .collect();
    sample.sort_unstable();
    let mut splitters: Vec<&[u8]> = sample
        .into_iter()
        .skip(OVERSAMPLING)
        .step_by(OVERSAMPLING)
        .collect();
    splitters.dedup();
    splitters
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn equals_a_sorted_map(lists in prop::collection::vec(
            (0u32..30_000, 1u32..4, 1u64..5), 0..6,
        )) {
            // Part p holds every step-th number below a limit, each in `df` documents.
            let mut expected: BTreeMap<String, u64> = BTreeMap::new();
            let parts: Vec<(Strings, Vec<u64>)> = lists.iter().map(|&(limit, step, df)| {
                let mut terms: Vec<String> = (0..limit).step_by(step as usize).map(|n| n.to_string()).collect();
                terms.sort();
                for term in &terms {
                    *expected.entry(term.clone()).or_default() += df;
                }
                let offsets = (0..=terms.len() as u64).map(|n| n * df).collect();
                (terms.iter().collect(), offsets)
            }).collect();
            let views: Vec<_> = parts.iter().map(|(terms, offsets)| PartTerms { terms, offsets }).collect();
            let (lexicon, ids) = Lexicon::merge(&views, &Progress::new()).unwrap();
            prop_assert_eq!(&lexicon.terms, &expected.keys().collect::<Strings>());
            prop_assert_eq!(lexicon.df, expected.into_values().collect::<Vec<_>>());
            for ((terms, _), ids) in parts.iter().zip(&ids) {
                prop_assert_eq!(terms.len(), ids.len());
                for (term, &id) in terms.iter().zip(ids) {
                    prop_assert_eq!(term, lexicon.terms.get(id as usize));
                }
            }
        }
    }
}
