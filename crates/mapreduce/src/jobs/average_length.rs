//! How long is a document on average?

use serde::{Deserialize, Serialize};

use super::super::functors::push_document;
use super::super::{
    Combine, Document, Documents, Emitter, Functors, Job, MapFunction, Portable, ReduceFunction,
    Text,
};
use super::tsv::{decimal, number, tab};
use tokapi_storage::error::Result;

/// The average length of documents, in terms. Its combiner does the work of reduce early, because
/// counts and sums, unlike averages, can be added.
///
/// ```
/// use std::sync::Arc;
/// use tokapi_mapreduce::{Documents, Threads};
/// use tokapi_mapreduce::jobs::AverageLength;
/// use tokapi_text::corpus::{Corpus, CorpusOptions};
/// use tokapi_text::analyze::Analyzer;
///
/// # fn main() -> tokapi_storage::error::Result<()> {
/// let corpus = Corpus::from_bytes("a.tsv", "1\tto be or not\n2\tto be\n", CorpusOptions::default());
/// let documents = Documents::new(corpus, Arc::new(Analyzer::default()), 2);
/// let (lengths, _) = Threads::default().collect(&mut AverageLength, documents, |output| output)?;
/// assert_eq!((lengths[0].documents, lengths[0].terms, lengths[0].average()), (2, 6, 3.0));
/// # Ok(())
/// # }
/// ```
#[derive(Serialize, Deserialize)]
pub struct AverageLength;

/// The sums of some documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lengths {
    /// Number of documents.
    pub documents: u64,
    /// Their terms in total.
    pub terms: u64,
}

impl Lengths {
    /// The average length.
    pub fn average(&self) -> f64 {
        self.terms as f64 / self.documents as f64
    }
}

/// Documents, terms, average.
impl Text for Lengths {
    fn push(&self, text: &mut Vec<u8>) {
        number(self.documents, text);
        tab(text);
        number(self.terms, text);
        tab(text);
        decimal(self.average(), text);
        text.push(b'\n');
    }
}

impl Job for AverageLength {
    type Input = Documents;
    type Key<'a> = ();
    type Value = (u64, u64);
    type Note = ();
    type Output<'a> = Lengths;

    fn map(&self, document: Document<'_>, emit: &mut Emitter<Self>) {
        emit.pair((), (1, document.terms().count() as u64));
    }

    fn reduce(
        &self,
        (): (),
        lengths: impl Iterator<Item = (u64, u64)>,
        write: &mut impl FnMut(Lengths),
    ) -> Result<()> {
        let (documents, terms) = lengths.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        write(Lengths { documents, terms });
        Ok(())
    }

    fn combiner(&self) -> Option<Combine<(u64, u64)>> {
        Some(|sum, one| *sum = (sum.0 + one.0, sum.1 + one.1))
    }

    fn place((): &()) -> Option<usize> {
        Some(0)
    }
}

impl Portable for AverageLength {
    const NAME: &'static str = "average-length";

    const FUNCTORS: Option<Functors<Self>> = Some(Functors {
        map: MapFunction::Lengths,
        reduce: ReduceFunction::Sum,
        record: push_document,
        key: |_| (),
        // A chunk has fewer than 2^32 of both.
        value: |_, sums| Ok(((sums.word >> 32, sums.word & u64::from(u32::MAX)), 1)),
    });
}
