//! Pruning: only each document's heaviest terms are kept.

use crate::postings::Postings;

/// The rule that selects the postings of a document to keep. Statistics are those of all postings.
///
/// ```
/// # use tokapi_text::corpus::{Corpus, CorpusOptions, Document};
/// # use tokapi_weigh::collection::{BuildOptions, Collection};
/// # use tokapi_weigh::formula::{Bm25, Prune};
/// # fn main() -> tokapi_storage::error::Result<()> {
/// let documents = [Document::new("1", "to be or not to be"), Document::new("2", "to sleep")];
/// let corpus = Corpus::from_documents(documents, CorpusOptions::default());
/// let mut collection = Collection::build(corpus, &BuildOptions::default())?;
/// assert_eq!(collection.postings_count(), 6);
/// collection.prune(&Bm25::default(), &Prune::default().top(2))?;
/// assert_eq!(collection.postings_count(), 4);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct Prune {
    /// The most terms per document. The heaviest are kept; of equal ones, those first in byte order.
    pub top: Option<usize>,
    /// The least weight that is kept.
    pub min_weight: Option<f32>,
}

impl Prune {
    tokapi_storage::setters! { top: impl Into<Option<usize>>, min_weight: impl Into<Option<f32>> }

    /// Whether everything is kept.
    pub fn keeps_all(&self) -> bool {
        *self == Prune::default()
    }

    /// For every posting with its weight in `weights`, whether it is kept. `documents` is the number of documents.
    pub(crate) fn mask(&self, postings: &Postings, weights: &[f32], documents: usize) -> Vec<bool> {
        let min_weight = self.min_weight.unwrap_or(f32::NEG_INFINITY);
        let mut keep: Vec<bool> = weights.iter().map(|&weight| weight >= min_weight).collect();
        let Some(top) = self.top else { return keep };
        let (starts, mut order) = by_document(postings, documents);
        for range in starts.windows(2) {
            let of_document = &mut order[range[0]..range[1]];
            if of_document.len() <= top {
                continue;
            }
            // Postings are in the order of their terms, so the smaller number wins a tie.
            of_document.select_nth_unstable_by(top, |&a, &b| {
                weights[b].total_cmp(&weights[a]).then(a.cmp(&b))
            });
            for &posting in &of_document[top..] {
                keep[posting] = false;
            }
        }
        keep
    }
}

/// The postings of every document, ascending: `order[starts[d]..starts[d + 1]]`.
pub(crate) fn by_document(postings: &Postings, documents: usize) -> (Vec<usize>, Vec<usize>) {
    let mut starts = vec![0; documents + 1];
    for &document in &postings.documents {
        starts[document as usize + 1] += 1;
    }
    for document in 0..documents {
        starts[document + 1] += starts[document];
    }
    let mut cursors = starts.clone();
    let mut order = vec![0; postings.len()];
    for (posting, &document) in postings.documents.iter().enumerate() {
        let cursor = &mut cursors[document as usize];
        order[*cursor] = posting;
        *cursor += 1;
    }
    (starts, order)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn top_breaks_ties_by_term_and_min_weight_includes_equal() {
        // Document 0 has terms a, b, c; document 1 has b, c.
        let postings = Postings {
            terms: ["a", "b", "c"].iter().collect(),
            offsets: vec![0, 1, 3, 5],
            documents: vec![0, 0, 1, 0, 1],
            frequencies: [1; 5].into_iter().collect(),
        };
        let weights = [1.0, 2.0, 0.5, 1.0, 3.0];
        let top = Prune::default().top(2);
        assert_eq!(
            top.mask(&postings, &weights, 2),
            [true, true, true, false, true]
        );
        let min = Prune::default().min_weight(1.0);
        assert_eq!(
            min.mask(&postings, &weights, 2),
            [true, true, false, true, true]
        );
        let both = Prune::default().top(1).min_weight(2.5);
        assert_eq!(
            both.mask(&postings, &weights, 2),
            [false, false, false, false, true]
        );
        let none = Prune::default().top(0);
        assert_eq!(none.mask(&postings, &weights, 2), [false; 5]);
    }
}
