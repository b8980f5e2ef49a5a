//! Queries that are answered together.

use crate::{DeviceLists, boundary};

/// Whether documents need a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Occur {
    /// All that match have it.
    Must = 0,
    /// It adds to the score.
    Should = 1,
    /// None that matches has it.
    Not = 2,
}

/// A term of a query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Term {
    /// Its list.
    pub list: u32,
    /// Whether documents need it.
    pub occur: Occur,
    /// How often the query has it.
    pub times: f64,
}

/// Queries for a [`Lane`](crate::Lane): all with terms that must occur, or all without.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    queries: Vec<boundary::Query>,
    terms: Vec<boundary::Term>,
    order: Vec<u32>,
    elements: u64,
}

impl Batch {
    /// The number of queries.
    pub fn len(&self) -> usize {
        self.queries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.queries.is_empty()
    }

    /// Takes all queries out.
    pub fn clear(&mut self) {
        self.queries.clear();
        self.terms.clear();
        self.order.clear();
        self.elements = 0;
    }

    /// The lengths of the shortest lists that must occur, added up.
    pub fn elements(&self) -> u64 {
        self.elements
    }

    /// Whether its queries have terms that must occur.
    pub fn has_must(&self) -> bool {
        self.queries.first().is_some_and(|query| query.checks > 0)
    }

    /// Adds a query of `terms`, distinct, in the order in which their weights are added up.
    ///
    /// # Panics
    /// When there is no such list; when the query has terms that must occur and others have none, or the
    /// other way round; at 2^32 terms.
    pub fn push(&mut self, lists: &DeviceLists, terms: &[Term]) {
        let is = |occur: Occur| move |term: &Term| term.occur == occur;
        let has_must = terms.iter().any(is(Occur::Must));
        assert!(
            self.is_empty() || self.has_must() == has_must,
            "queries of one kind"
        );
        let first = u32::try_from(self.terms.len() + terms.len()).expect("fewer than 2^32 terms")
            - terms.len() as u32;
        let raw = |term: &Term| {
            // Tells that there is such a list.
            lists.length(term.list);
            boundary::Term {
                list: term.list,
                occur: term.occur as u32,
                times: term.times,
            }
        };
        let start = self.order.len();
        if has_must {
            self.terms.extend(terms.iter().map(raw));
            let of = |occur: Occur| {
                let numbered = (first..).zip(terms);
                numbered.filter(move |(_, term)| term.occur == occur)
            };
            let length = |place: u32| lists.length(terms[(place - first) as usize].list);
            self.order.extend(of(Occur::Must).map(|(place, _)| place));
            self.order[start..].sort_by_key(|&place| length(place));
            self.elements += u64::from(length(self.order[start]));
            self.order.extend(of(Occur::Not).map(|(place, _)| place));
        } else {
            let scored = terms.iter().filter(|term| !is(Occur::Not)(term));
            let not = terms.iter().filter(|term| is(Occur::Not)(term));
            self.terms.extend(scored.chain(not).map(raw));
        }
        self.queries.push(boundary::Query {
            first_term: first,
            terms: terms.len() as u32,
            checks: (self.order.len() - start) as u32,
        });
        // The order stands where the terms do.
        self.order.resize(self.terms.len(), 0);
    }

    pub(crate) fn raw(&self) -> boundary::Batch {
        boundary::Batch {
            queries: self.queries.len() as u64,
            query_list: self.queries.as_ptr(),
            terms: self.terms.len() as u64,
            term_list: self.terms.as_ptr(),
            order: self.order.as_ptr(),
        }
    }
}
