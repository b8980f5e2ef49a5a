//! Queries that are answered together.

use crate::{DeviceLists, boundary};

/// Whether documents need a term. Terms are ordered by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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

/// Queries for a [`Lane`](crate::Lane).
#[derive(Debug, Clone, Default)]
pub struct Batch {
    queries: Vec<boundary::Query>,
    terms: Vec<boundary::Term>,
    order: Vec<u32>,
    elements: u64,
    /// Lists that there must be: one more than the last that a query has.
    lists: usize,
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
        self.lists = 0;
    }

    /// The lengths of the lists that queries lead with, added up: the shortest that must occur, or all
    /// where none must.
    pub fn elements(&self) -> u64 {
        self.elements
    }

    /// Whether all queries have a term that must occur.
    pub(crate) fn have_must(&self) -> bool {
        self.queries.iter().all(|query| query.must > 0)
    }

    /// Adds a query of `terms`, distinct, in the order in which their weights are added up.
    ///
    /// # Panics
    /// When there is no such list, or no term that must or may occur; at 2^32 terms.
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
        // All are fewer than 2^32.
        self.queries.push(boundary::Query {
            first_term: start as u32,
            terms: terms.len() as u32,
            must: must as u32,
            forbidden: (terms.len() - must - should) as u32,
        });
    }

    /// Sees that its queries can be asked of `lists`: those that they were pushed with, or as many.
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
