//! Changes to an inverted chunk: new names for its terms, and more documents.

use super::Inverted;
use super::names::{Name, Names};
use crate::postings::{Frequencies, Postings};
use tokapi_storage::error::{Error, Result};
use tokapi_storage::strings::Strings;

impl Inverted {
    /// Renames raw terms. Dropped terms leave their documents; terms with the same name are merged.
    pub(super) fn rename(mut self, names: &mut Names<'_>) -> Inverted {
        let raw = &self.postings.terms;
        let named: Vec<Name> = raw.iter().map(|term| names.of(term)).collect();
        let mut order: Vec<u32> = Vec::with_capacity(named.len());
        for (term, name) in (0..).zip(&named) {
            if *name == Name::Dropped {
                let range = self.postings.range(term as usize);
                let tfs = self.postings.frequencies.expand(range.clone());
                for (&document, tf) in self.postings.documents[range].iter().zip(tfs) {
                    self.lengths[document as usize] -= tf;
                }
            } else {
                order.push(term);
            }
        }
        let spelled = |term: u32| match named[term as usize] {
            Name::At(place) => names.get(place),
            _ => raw.get(term as usize),
        };
        order.sort_by(|&a, &b| spelled(a).cmp(spelled(b)));
        let mut merged = Merged::default();
        for group in order.chunk_by(|&a, &b| spelled(a) == spelled(b)) {
            let lists = group.iter().map(|&term| (&self.postings, term as usize, 0));
            merged.push(spelled(group[0]), lists);
        }
        Inverted {
            postings: merged.postings,
            lengths: self.lengths,
        }
    }

    /// Appends the documents of `other`.
    ///
    /// # Errors
    /// 2^32 or more documents.
    pub(super) fn append(&mut self, other: Inverted) -> Result<()> {
        let (first, all) = (self.lengths.len(), self.lengths.len() + other.lengths.len());
        if u32::try_from(all).is_err() {
            return Err(Error::Limit("a chunk has 2^32 or more documents".into()));
        }
        // Fewer than all documents.
        let first = first as u32;
        let (left, right) = (&self.postings, &other.postings);
        let (mut a, mut b) = (0, 0);
        let mut merged = Merged::default();
        while a < left.terms.len() || b < right.terms.len() {
            let name_a = (a < left.terms.len()).then(|| left.terms.get(a));
            let name_b = (b < right.terms.len()).then(|| right.terms.get(b));
            let take_a = name_b.is_none() || name_a.is_some() && name_a <= name_b;
            let take_b = name_a.is_none() || name_b.is_some() && name_b <= name_a;
            let lists = [
                take_a.then_some((left, a, 0)),
                take_b.then_some((right, b, first)),
            ];
            let term = if take_a { name_a } else { name_b };
            merged.push(term.unwrap_or_default(), lists.into_iter().flatten());
            a += usize::from(take_a);
            b += usize::from(take_b);
        }
        self.postings = merged.postings;
        self.lengths.extend(other.lengths);
        Ok(())
    }
}

/// Postings that are merged term by term.
struct Merged {
    postings: Postings,
    /// The (document, tf) pairs of a term's lists.
    entries: Vec<(u32, u32)>,
}

impl Default for Merged {
    fn default() -> Self {
        Merged {
            postings: Postings {
                terms: Strings::default(),
                offsets: vec![0],
                documents: Vec::new(),
                frequencies: Frequencies::default(),
            },
            entries: Vec::new(),
        }
    }
}

impl Merged {
    /// Adds a term with all postings of `lists`. A list is a term of some postings, and an offset for their documents.
    fn push<'a>(&mut self, name: &[u8], lists: impl Iterator<Item = (&'a Postings, usize, u32)>) {
        self.entries.clear();
        for (postings, term, first) in lists {
            let range = postings.range(term);
            let tfs = postings.frequencies.expand(range.clone());
            let documents = postings.documents[range].iter();
            self.entries.extend(
                documents
                    .zip(tfs)
                    .map(|(&document, tf)| (first + document, tf)),
            );
        }
        self.entries.sort_unstable();
        let same = |a: &(u32, u32), b: &(u32, u32)| a.0 == b.0;
        for entries in self.entries.chunk_by(same) {
            self.postings.documents.push(entries[0].0);
            let tf = entries.iter().map(|&(_, tf)| tf).sum();
            self.postings.frequencies.push(tf);
        }
        self.postings.terms.push(name);
        self.postings
            .offsets
            .push(self.postings.documents.len() as u64);
    }
}
