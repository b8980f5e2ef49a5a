//! What becomes of the documents that match: they are counted, or collected.

use crate::wide::wide;

/// Takes the documents of a part that match.
pub(crate) trait Matches {
    /// Takes some.
    fn documents(&mut self, documents: &[u32]);

    /// Takes those from `first` on that have a bit.
    fn bits(&mut self, first: u32, words: &[u64]);

    /// Takes all of a list of so many documents, where it need not know which.
    fn list(&mut self, _: u64) -> bool {
        false
    }
}

/// How many there are.
#[derive(Default)]
pub(crate) struct Count(pub u64);

impl Matches for Count {
    fn documents(&mut self, documents: &[u32]) {
        self.0 += documents.len() as u64;
    }

    fn bits(&mut self, _: u32, words: &[u64]) {
        count_ones(words, &mut self.0);
    }

    fn list(&mut self, df: u64) -> bool {
        self.0 += df;
        true
    }
}

/// Their numbers in the index.
#[derive(Default)]
pub(crate) struct Collect {
    /// That of the first document of the part.
    pub first: u64,
    pub documents: Vec<u64>,
}

impl Matches for Collect {
    fn documents(&mut self, documents: &[u32]) {
        let first = self.first;
        let numbers = documents
            .iter()
            .map(|&document| first + u64::from(document));
        self.documents.extend(numbers);
    }

    fn bits(&mut self, first: u32, words: &[u64]) {
        let first = self.first + u64::from(first);
        for (first, &word) in (first..).step_by(64).zip(words) {
            let mut left = word;
            while left != 0 {
                self.documents
                    .push(first + u64::from(left.trailing_zeros()));
                left &= left - 1;
            }
        }
    }
}

wide! {
    /// Adds the number of ones.
    fn count_ones(words: &[u64], sum: &mut u64) {
        *sum += words.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
    }
}
