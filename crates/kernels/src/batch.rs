//! A batch of queries.

use crate::{DeviceLists, boundary};

/// The role of a term in a query. Terms are ordered by role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum Occur {
    /// Every match has the term.
    Must,
    /// The term adds to the score.
    Should,
    /// No match has the term.
    Not,
}

/// A term of a query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Term {
    /// The number of its list.
    pub list: u32,
    /// Its role.
    pub occur: Occur,
    /// Number of times the term occurs in the query.
    pub times: f64,
}

/// Queries for a [`Lane`](crate::Lane).
#[derive(Debug, Clone, Default)]
pub struct Batch {
    queries: Vec<boundary::Query>,
    terms: Vec<boundary::Term>,
    order: Vec<u32>,
    elements: u64,
    /// Minimum number of lists: one more than the highest list number in a query.
    lists: usize,
}

impl Batch {
    /// The number of queries.
    pub fn len(&self) -> usize {
        self.queries.len()
    }

    /// Whether there are no queries.
    pub fn is_empty(&self) -> bool {
        self.queries.is_empty()
    }

    /// Removes all queries.
    pub fn clear(&mut self) {
        self.queries.clear();
        self.terms.clear();
        self.order.clear();
        self.elements = 0;
        self.lists = 0;
    }

    /// The total length of the lists that queries lead with: the shortest required list, or all
    /// lists if no term is required.
    pub fn elements(&self) -> u64 {
        self.elements
    }

    /// Whether all queries have a required term.
    pub(crate) fn have_must(&self) -> bool {
        self.queries.iter().all(|query| query.must > 0)
    }

    /// Adds a query of distinct `terms`. Weights are added in this order.
    ///
    /// # Panics
    /// Panics if a list does not exist, if no term is required or optional, or at 2^32 terms.
    pub fn push(&mut self, lists: &DeviceLists, terms: &[Term]) {
        let start = self.terms.len();
        let end = u32::try_from(start + terms.len()).expect("fewer than 2^32 terms");
        self.terms.extend(terms.iter().map(|term| boundary::Term {
            list: term.list,
            occur: term.occur as u32,
            times: term.times,
        }));
        self.order.extend(start as u32..end);
        let term = |place: u32| &terms[place as usize - start];
        let length = |place: u32| lists.length(term(place).list);
        self.order[start..].sort_by_key(|&place| (term(place).occur, length(place)));
        let last = terms.iter().map(|term| term.list as usize + 1).max();
        self.lists = self.lists.max(last.unwrap_or(0));
        let count = |occur: Occur| terms.iter().filter(|term| term.occur == occur).count();
        let (must, should) = (count(Occur::Must), count(Occur::Should));
        assert!(must + should > 0, "a term that must or may occur");
        let leads = if must > 0 { 1 } else { should };
        let leads = self.order[start..][..leads].iter();
        self.elements += leads.map(|&place| u64::from(length(place))).sum::<u64>();
        // The total is below 2^32.
        self.queries.push(boundary::Query {
            first_term: start as u32,
            terms: terms.len() as u32,
            must: must as u32,
            forbidden: (terms.len() - must - should) as u32,
        });
    }

    /// Checks that `lists` has all lists of the queries.
    pub(crate) fn check(&self, lists: &DeviceLists) {
        assert!(self.lists <= lists.len(), "the lists that were pushed");
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
