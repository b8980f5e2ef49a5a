//! A search that is ready: the documents that match, and their scores.

use tokapi::Query;

use super::condition::{self, Condition, Scored, Select};

/// A search that is ready.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The documents that match.
    pub matching: Matching,
    /// The score of every match, if no word is scored.
    pub constant: f32,
    /// The terms to mark in texts.
    pub marked: Query,
}

/// The documents that match a search, and their order.
#[derive(Debug, Clone, PartialEq)]
pub enum Matching {
    /// None.
    Nothing,
    /// All, in the order of addition.
    Everything,
    /// Those of a flat query, in its order.
    Flat(Query),
    /// Those of a set, in the order of a query; those that the query does not find come last, in the order of addition.
    Set(Select, Query),
}

impl Matching {
    /// The documents that meet `condition`, with the scores of `scored`. Without `scores` their order means nothing.
    pub fn of(condition: &Condition, scored: &[Scored], scores: bool) -> Matching {
        match condition {
            Condition::Nothing => return Matching::Nothing,
            Condition::All if scored.is_empty() => return Matching::Everything,
            _ => {}
        }
        if let Some(query) = condition::flat(condition, scored) {
            return Matching::Flat(query);
        }
        match (condition::select(condition), scores) {
            (Select::Query(query), false) => Matching::Flat(query),
            (select, _) => {
                let terms = scored.iter();
                let terms =
                    terms.flat_map(|(term, times)| std::iter::repeat_n(term, *times as usize));
                Matching::Set(select, Query::any(terms))
            }
        }
    }
}
