//! The condition that documents meet: a boolean expression in its simplest form, and the flat query or the sets of
//! documents that it becomes.
//!
//! A flat query has required, optional and excluded terms, exact values and phrases. An expression that is not flat is
//! answered by the sets of documents of its flat parts.

use tokapi::{Clause, Filter, Occur, Phrase, Query};

/// A condition. Built by [`and`], [`or`] and [`not`], it has `Not` only before conditions without conditions inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// Every document.
    All,
    /// No document.
    Nothing,
    /// Documents with a term.
    Term(String),
    /// Documents with a value of a field.
    Value {
        /// The field.
        field: String,
        /// The value.
        value: String,
    },
    /// Documents with at least two terms, one directly after the other.
    Phrase(Vec<String>),
    /// Documents with one of the ids.
    Ids(Vec<String>),
    /// Documents that do not meet it.
    Not(Box<Condition>),
    /// Documents that meet all of them.
    And(Vec<Condition>),
    /// Documents that meet at least one of them.
    Or(Vec<Condition>),
}

use Condition::{All, And, Ids, Not, Nothing, Or, Term, Value};

/// All of `conditions`.
pub fn and(conditions: impl IntoIterator<Item = Condition>) -> Condition {
    let inner = |condition| match condition {
        And(inner) => Ok(inner),
        other => Err(other),
    };
    joined(conditions, [All, Nothing], inner, And)
}

/// At least one of `conditions`.
pub fn or(conditions: impl IntoIterator<Item = Condition>) -> Condition {
    let inner = |condition| match condition {
        Or(inner) => Ok(inner),
        other => Err(other),
    };
    joined(conditions, [Nothing, All], inner, Or)
}

/// Joins conditions: `neutral` changes nothing, `decisive` decides alone, and the conditions of an `inner` join count as
/// those of this one.
fn joined(
    conditions: impl IntoIterator<Item = Condition>,
    [neutral, decisive]: [Condition; 2],
    inner: fn(Condition) -> Result<Vec<Condition>, Condition>,
    several: fn(Vec<Condition>) -> Condition,
) -> Condition {
    let mut kept = Vec::new();
    for condition in conditions {
        if condition == decisive {
            return decisive;
        }
        if condition == neutral {
            continue;
        }
        match inner(condition) {
            Ok(inner) => kept.extend(inner),
            Err(other) => kept.push(other),
        }
    }
    one(kept, neutral, several)
}

/// The opposite of `condition`.
pub fn not(condition: Condition) -> Condition {
    match condition {
        All => Nothing,
        Nothing => All,
        Not(inner) => *inner,
        And(inner) => or(inner.into_iter().map(not)),
        Or(inner) => and(inner.into_iter().map(not)),
        other => Not(Box::new(other)),
    }
}

fn one(
    conditions: Vec<Condition>,
    none: Condition,
    several: impl FnOnce(Vec<Condition>) -> Condition,
) -> Condition {
    let mut distinct: Vec<Condition> = Vec::with_capacity(conditions.len());
    // Lists of thousands of values are distinct in practice; looking for repetitions would take their square.
    let is_short = conditions.len() <= 64;
    for condition in conditions {
        if !is_short || !distinct.contains(&condition) {
            distinct.push(condition);
        }
    }
    match distinct.len() {
        0 => none,
        1 => distinct.remove(0),
        _ => several(distinct),
    }
}

/// A term that adds to scores, and the number of times that it counts.
pub type Scored = (String, u32);

/// A condition as sets of documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Select {
    /// Every document.
    All,
    /// No document.
    Nothing,
    /// The documents that match a flat query.
    Query(Query),
    /// The documents with one of the ids.
    Ids(Vec<String>),
    /// The documents that are in all sets.
    And(Vec<Select>),
    /// The documents that are in at least one set.
    Or(Vec<Select>),
    /// The documents that are not in a set.
    Not(Box<Select>),
}

/// The parts of a conjunction that a flat query can express.
#[derive(Default)]
struct Parts {
    must: Vec<String>,
    group: Option<Vec<String>>,
    not: Vec<String>,
    phrases: Vec<Phrase>,
    filters: Vec<Filter>,
}

impl Parts {
    /// Takes a condition; false if a flat query cannot express it beside the others.
    fn take(&mut self, condition: &Condition) -> bool {
        match condition {
            Term(term) => self.require(term),
            Condition::Phrase(terms) => {
                terms.iter().for_each(|term| self.require_term(term));
                self.phrases.push(Phrase::new(terms));
                true
            }
            Value { field, value } => {
                self.filters.push(Filter::new(field, value));
                true
            }
            Not(inner) => match &**inner {
                Term(term) => {
                    self.not.push(term.clone());
                    true
                }
                Condition::Phrase(terms) => {
                    self.phrases.push(Phrase::new(terms).not(true));
                    true
                }
                Value { field, value } => {
                    self.filters.push(Filter::new(field, value).not(true));
                    true
                }
                _ => false,
            },
            Or(any) if self.group.is_none() => {
                let terms = any.iter().map(|condition| match condition {
                    Term(term) => Some(term.clone()),
                    _ => None,
                });
                self.group = terms.collect();
                self.group.is_some()
            }
            _ => false,
        }
    }

    fn require(&mut self, term: &str) -> bool {
        self.require_term(term);
        true
    }

    fn require_term(&mut self, term: &str) {
        if !self.must.iter().any(|known| known == term) {
            self.must.push(term.to_owned());
        }
    }

    /// A flat query with the given terms in this order.
    fn query(self, terms: impl IntoIterator<Item = (String, Occur)>) -> Query {
        let terms = terms
            .into_iter()
            .map(|(term, occur)| Clause::new(term, occur));
        let not = self
            .not
            .into_iter()
            .map(|term| Clause::new(term, Occur::Not));
        Query::default()
            .clauses(terms.chain(not))
            .phrases(self.phrases)
            .filters(self.filters)
    }
}

/// The flat query of a condition whose matches have the scores of `scored`; none if there is no such query.
///
/// Its matches meet the condition, and its score is the sum of exactly the scored terms that a document has.
pub fn flat(condition: &Condition, scored: &[Scored]) -> Option<Query> {
    let parts = parts(condition)?;
    let is_scored = |term: &String| scored.iter().any(|(known, _)| known == term);
    let (musts, group) = (&parts.must, parts.group.as_deref().unwrap_or_default());
    if !musts.iter().chain(group).all(is_scored) {
        return None;
    }
    // Optional terms beside required ones decide nothing, and without them exactly one must occur.
    let group_is_free = group.is_empty() || group.iter().any(|term| musts.contains(term));
    let fits = match (musts.is_empty(), scored.is_empty()) {
        (false, _) => group_is_free,
        (true, true) => !parts.filters.is_empty(),
        (true, false) => !group.is_empty() && scored.iter().all(|(term, _)| group.contains(term)),
    };
    if !fits {
        return None;
    }
    let must = musts.clone();
    let terms = scored.iter().flat_map(|(term, times)| {
        let occur = match must.contains(term) {
            true => Occur::Must,
            false => Occur::Should,
        };
        std::iter::repeat_n((term.clone(), occur), *times as usize)
    });
    Some(parts.query(terms))
}

/// The flat query whose matches meet the condition, with scores that mean nothing; none if there is no such query.
fn flat_unscored(condition: &Condition) -> Option<Query> {
    let parts = parts(condition)?;
    let group = parts.group.clone().unwrap_or_default();
    let must = parts.must.clone();
    let group_is_free = group.is_empty() || group.iter().any(|term| must.contains(term));
    let fits = match (must.is_empty(), group.is_empty()) {
        (true, true) => !parts.filters.is_empty(),
        (true, false) => true,
        (false, _) => group_is_free,
    };
    if !fits {
        return None;
    }
    let terms = match must.is_empty() {
        true => group
            .into_iter()
            .map(|term| (term, Occur::Should))
            .collect::<Vec<_>>(),
        false => must.into_iter().map(|term| (term, Occur::Must)).collect(),
    };
    Some(parts.query(terms))
}

fn parts(condition: &Condition) -> Option<Parts> {
    let conditions = match condition {
        And(all) => &all[..],
        one => std::slice::from_ref(one),
    };
    let mut parts = Parts::default();
    conditions
        .iter()
        .all(|condition| parts.take(condition))
        .then_some(parts)
}

/// The sets of documents of a condition.
pub fn select(condition: &Condition) -> Select {
    if let Some(query) = flat_unscored(condition) {
        return Select::Query(query);
    }
    match condition {
        All => Select::All,
        Nothing => Select::Nothing,
        Ids(ids) => Select::Ids(ids.clone()),
        Not(inner) => Select::Not(Box::new(select(inner))),
        And(all) => {
            let (simple, others): (Vec<_>, Vec<_>) = all.iter().partition(|condition| {
                let inner = match condition {
                    Not(inner) => inner,
                    other => *other,
                };
                matches!(inner, Term(_) | Value { .. } | Condition::Phrase(_))
            });
            let simple: Vec<Condition> = simple.into_iter().cloned().collect();
            match flat_unscored(&And(simple)) {
                Some(query) => {
                    let others = others.into_iter().map(select);
                    Select::And(
                        std::iter::once(Select::Query(query))
                            .chain(others)
                            .collect(),
                    )
                }
                None => Select::And(all.iter().map(select).collect()),
            }
        }
        Or(any) => {
            let (terms, others): (Vec<_>, Vec<_>) = any
                .iter()
                .partition(|condition| matches!(condition, Term(_)));
            let terms: Vec<Condition> = terms.into_iter().cloned().collect();
            let mut sets: Vec<Select> = others.into_iter().map(select).collect();
            sets.extend(flat_unscored(&or(terms)).map(Select::Query));
            Select::Or(sets)
        }
        // They are flat.
        Term(_) | Value { .. } | Condition::Phrase(_) => Select::Nothing,
    }
}

/// The terms that a document may have because it meets the condition, for highlighting.
pub fn terms(condition: &Condition, into: &mut Vec<String>) {
    match condition {
        Term(term) => into.push(term.clone()),
        Condition::Phrase(terms) => into.extend(terms.iter().cloned()),
        And(inner) | Or(inner) => inner.iter().for_each(|condition| terms(condition, into)),
        All | Nothing | Value { .. } | Ids(_) | Not(_) => {}
    }
}
