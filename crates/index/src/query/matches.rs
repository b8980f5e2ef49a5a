//! Consumers of matching documents: one counts them, one collects them.

use crate::wide::wide;

/// Receives the matching documents of a part.
pub(crate) trait Matches {
    /// Takes several documents.
    fn documents(&mut self, documents: &[u32]);

    /// Takes the documents whose bits are set; bit 0 stands for `first`.
    fn bits(&mut self, first: u32, words: &[u64]);

    /// Takes all documents of a list by their count, if the consumer does not need their numbers.
    fn list(&mut self, _: u64) -> bool {
        false
    }
}

/// The number of matching documents.
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

/// The document numbers in the index.
#[derive(Default)]
pub(crate) struct Collect {
    /// The number of the part's first document.
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
