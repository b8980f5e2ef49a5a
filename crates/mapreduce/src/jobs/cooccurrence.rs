//! The probability of a term in a document that has another term.

use serde::{Deserialize, Serialize};

use super::super::functors::push_terms;
use super::super::{
    Document, Documents, Emitter, Functors, Job, MapFunction, Order, Portable, prefix,
};
use tokapi_storage::error::Result;

/// Pr[t1 | t2]: the share of the documents with t2 that have t1 too.
///
/// The values of t2 are a mark for every document that has it, and the other terms of that
/// document. The secondary key puts the marks first, so their number is known before the first t1.
/// It also groups equal t1, so no values are held.
///
/// ```
/// use std::sync::Arc;
/// use tokapi_mapreduce::{Documents, Threads};
/// use tokapi_mapreduce::jobs::Cooccurrence;
/// use tokapi_text::corpus::{Corpus, CorpusOptions};
/// use tokapi_text::analyze::Analyzer;
///
/// # fn main() -> tokapi_storage::error::Result<()> {
/// let corpus = Corpus::from_bytes("a.tsv", "1\tto be\n2\tto do\n", CorpusOptions::default());
/// let documents = Documents::new(corpus, Arc::new(Analyzer::default()), 2);
/// let own = |(given, term, pr): (&str, &str, f64)| format!("Pr[{term} | {given}] = {pr}");
/// let (all, _) = Threads::default().collect(&mut Cooccurrence, documents, own)?;
/// assert_eq!(all[1], "Pr[to | do] = 1");
/// assert_eq!(all[2], "Pr[be | to] = 0.5");
/// # Ok(())
/// # }
/// ```
#[derive(Serialize, Deserialize)]
pub struct Cooccurrence;

impl Job for Cooccurrence {
    type Input = Documents;
    type Key<'a> = &'a str;
    /// None is the mark; it is less than any term.
    type Value = Option<Box<str>>;
    type Note = ();
    /// t2, t1, Pr[t1 | t2].
    type Output<'a> = (&'a str, &'a str, f64);

    fn map(&self, document: Document<'_>, emit: &mut Emitter<Self>) {
        let terms = distinct(&document);
        for &given in &terms {
            emit.pair(given, None);
            for &term in terms.iter().filter(|&&term| term != given) {
                emit.pair(given, Some(term.into()));
            }
        }
    }

    fn reduce(
        &self,
        given: &str,
        values: impl Iterator<Item = Option<Box<str>>>,
        write: &mut impl FnMut(Self::Output<'_>),
    ) -> Result<()> {
        let (mut documents, mut both) = (0_u64, 0_u64);
        let mut current: Option<Box<str>> = None;
        let mut end = |term: &Option<Box<str>>, documents: u64, both: u64| {
            if let Some(term) = term {
                write((given, term, both as f64 / documents as f64));
            }
        };
        for value in values {
            if value.is_none() {
                documents += 1;
            } else if value == current {
                both += 1;
            } else {
                end(&current, documents, both);
                (current, both) = (value, 1);
            }
        }
        end(&current, documents, both);
        Ok(())
    }

    fn value_order(&self) -> Option<Order<Option<Box<str>>>> {
        Some(Ord::cmp)
    }

    fn prefix(term: &&str) -> u64 {
        prefix(term)
    }
}

/// The distinct terms of a document, in order.
fn distinct<'a>(document: &Document<'a>) -> Vec<&'a str> {
    let mut terms: Vec<&str> = document.terms().collect();
    terms.sort_unstable();
    terms.dedup();
    terms
}

impl Portable for Cooccurrence {
    const NAME: &'static str = "cooccurrence";

    const FUNCTORS: Option<Functors<Self>> = Some(Functors::<Self>::groups(
        MapFunction::Cooccurrences,
        |_, document, bytes, ()| {
            push_terms(distinct(&document), bytes);
        },
        |_, other| Ok((other.text()?.map(Box::from), 1)),
    ));
}
