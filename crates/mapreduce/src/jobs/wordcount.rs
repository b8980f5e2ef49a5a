//! The number of occurrences of each term.

use serde::{Deserialize, Serialize};

use super::super::functors::push_document;
use super::super::{Documents, Functors, MapFunction, Portable};
use super::counts::count_texts;

/// Counts terms: the first of all jobs (Dean and Ghemawat, OSDI 2004).
///
/// ```
/// use std::sync::Arc;
/// use tokapi_mapreduce::{Documents, Threads};
/// use tokapi_mapreduce::jobs::WordCount;
/// use tokapi_text::corpus::{Corpus, CorpusOptions};
/// use tokapi_text::analyze::Analyzer;
///
/// # fn main() -> tokapi_storage::error::Result<()> {
/// let corpus = Corpus::from_bytes("a.tsv", "1\tto be or not\n2\tto be\n", CorpusOptions::default());
/// let documents = Documents::new(corpus, Arc::new(Analyzer::default()), 2);
/// let own = |(term, count): (&str, u64)| (term.to_owned(), count);
/// let (counts, report) = Threads::default().collect(&mut WordCount, documents, own)?;
/// assert_eq!(counts, [("be", 2), ("not", 1), ("or", 1), ("to", 2)].map(|(t, n)| (t.into(), n)));
/// assert_eq!(report.emitted_pairs, 6);
/// # Ok(())
/// # }
/// ```
#[derive(Serialize, Deserialize)]
pub struct WordCount;

count_texts! {
    WordCount, Documents => <'a> (&'a str, u64),
    |document, emit| emit.pairs(document.terms(), 1),
    |term, count, write| write((term, count))
}

impl Portable for WordCount {
    const NAME: &'static str = "wordcount";

    const FUNCTORS: Option<Functors<Self>> =
        Some(Functors::<Self>::counts(MapFunction::Terms, push_document));
}
