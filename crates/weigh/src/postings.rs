//! Postings: the documents of every distinct term, and the term's frequency in each.

use tokapi_storage::strings::Strings;

/// The postings of a chunk, or of a whole collection.
///
/// Invariants: `terms` ascend strictly by their bytes; `offsets` has one entry more than there
/// are terms, starts at 0, ascends strictly and ends at the number of postings; within a term
/// the documents ascend strictly; every frequency is at least 1.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Postings {
    /// The distinct terms, ascending by bytes.
    pub terms: Strings,
    /// Postings `offsets[t]..offsets[t + 1]` belong to term `t`.
    pub offsets: Vec<u64>,
    /// The document of every posting, counted from the first document of the chunk.
    pub documents: Vec<u32>,
    /// The term frequency of every posting.
    pub frequencies: Frequencies,
}

impl Postings {
    /// The number of postings: distinct (term, document) pairs.
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    /// Whether there is no posting.
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// The postings of term `term`, as a range into `documents` and `frequencies`.
    #[inline]
    pub fn range(&self, term: usize) -> std::ops::Range<usize> {
        self.offsets[term] as usize..self.offsets[term + 1] as usize
    }

    /// Keeps only the postings whose entry in `keep` is true. Terms stay even without postings.
    pub(crate) fn retain(&mut self, keep: &[bool]) {
        let frequencies = self.frequencies.expand(0..self.len());
        let mut kept = Frequencies::default();
        let (mut from, mut count) = (0, 0);
        for end in &mut self.offsets[1..] {
            for posting in std::mem::replace(&mut from, *end as usize)..*end as usize {
                if keep[posting] {
                    self.documents[count] = self.documents[posting];
                    kept.push(frequencies[posting]);
                    count += 1;
                }
            }
            *end = count as u64;
        }
        self.documents.truncate(count);
        self.documents.shrink_to_fit();
        self.frequencies = kept;
    }

    /// Drops the terms that have no posting.
    pub(crate) fn drop_empty_terms(&mut self) {
        let used = (0..self.terms.len()).filter(|&term| !self.range(term).is_empty());
        self.terms = used.map(|term| self.terms.get(term)).collect();
        self.offsets.dedup();
    }
}

/// Term frequencies in one byte each; the rare large ones are in a separate list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frequencies {
    /// The frequency, or [`Frequencies::LARGE`].
    small: Vec<u8>,
    /// Position and frequency of every posting marked large, ascending by position.
    large: Vec<(u64, u32)>,
}

impl Frequencies {
    /// Marks a frequency that does not fit into a byte.
    const LARGE: u8 = u8::MAX;

    /// No frequencies yet, with room for `capacity`.
    pub fn with_capacity(capacity: usize) -> Self {
        Frequencies {
            small: Vec::with_capacity(capacity),
            large: Vec::new(),
        }
    }

    /// The number of frequencies.
    pub fn len(&self) -> usize {
        self.small.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.small.is_empty()
    }

    /// Adds a frequency at the end.
    #[inline]
    pub fn push(&mut self, tf: u32) {
        match u8::try_from(tf) {
            Ok(small) if small != Self::LARGE => self.small.push(small),
            _ => {
                self.large.push((self.small.len() as u64, tf));
                self.small.push(Self::LARGE);
            }
        }
    }

    /// Frequency `position`. Costs O(log of the number of large ones).
    pub fn get(&self, position: usize) -> u32 {
        match self.small[position] {
            Self::LARGE => self.large[self.large_from(position)].1,
            small => u32::from(small),
        }
    }

    /// The frequencies of `range`, one `u32` each.
    pub fn expand(&self, range: std::ops::Range<usize>) -> Vec<u32> {
        let mut expanded = Vec::new();
        self.expand_into(range, &mut expanded);
        expanded
    }

    /// Writes the frequencies of `range` over `into`.
    pub fn expand_into(&self, range: std::ops::Range<usize>, into: &mut Vec<u32>) {
        into.clear();
        into.extend(self.small[range.clone()].iter().map(|&tf| u32::from(tf)));
        for &(position, tf) in self.large_in(range.clone()) {
            into[position as usize - range.start] = tf;
        }
    }

    /// The frequencies of `range` as stored: bytes, and the large ones by position.
    pub(crate) fn raw(&self, range: std::ops::Range<usize>) -> (&[u8], &[(u64, u32)]) {
        (&self.small[range.clone()], self.large_in(range))
    }

    /// Makes frequencies from bytes and large ones, as [`Frequencies::raw`] returns them.
    pub(crate) fn from_raw(small: Vec<u8>, large: Vec<(u64, u32)>) -> Self {
        debug_assert!(large.is_sorted());
        debug_assert!(
            large
                .iter()
                .all(|&(at, _)| small[at as usize] == Self::LARGE)
        );
        Frequencies { small, large }
    }

    fn large_in(&self, range: std::ops::Range<usize>) -> &[(u64, u32)] {
        &self.large[self.large_from(range.start)..self.large_from(range.end)]
    }

    fn large_from(&self, position: usize) -> usize {
        self.large.partition_point(|&(at, _)| at < position as u64)
    }
}

impl FromIterator<u32> for Frequencies {
    fn from_iter<I: IntoIterator<Item = u32>>(iter: I) -> Self {
        let mut frequencies = Frequencies::default();
        for tf in iter {
            frequencies.push(tf);
        }
        frequencies
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_of_every_size_come_back() {
        let all = [1, 2, 254, 255, 256, 7, u32::MAX, 1];
        let frequencies: Frequencies = all.into_iter().collect();
        assert_eq!(frequencies.expand(0..all.len()), all);
        assert_eq!(frequencies.expand(3..7), all[3..7]);
        for (position, &tf) in all.iter().enumerate() {
            assert_eq!(frequencies.get(position), tf);
        }
        let (small, large) = frequencies.raw(0..all.len());
        assert_eq!(
            Frequencies::from_raw(small.to_vec(), large.to_vec()),
            frequencies
        );
    }

    #[test]
    fn retain_drops_postings_and_terms_without_any() {
        let mut postings = Postings {
            terms: ["a", "b", "c"].iter().collect(),
            offsets: vec![0, 2, 3, 5],
            documents: vec![0, 1, 0, 1, 2],
            frequencies: [1, 300, 2, 3, 4].into_iter().collect(),
        };
        postings.retain(&[false, true, false, true, true]);
        assert_eq!(postings.offsets, [0, 1, 1, 3]);
        postings.drop_empty_terms();
        let expected = Postings {
            terms: ["a", "c"].iter().collect(),
            offsets: vec![0, 1, 3],
            documents: vec![1, 1, 2],
            frequencies: [300, 3, 4].into_iter().collect(),
        };
        assert_eq!(postings, expected);
    }
}
