//! A query of the language becomes a search: the terms that are scored, and the condition that documents meet.
//!
//! A score is the sum of the weights of the scored terms that a document has. So a query is exact here if each of its
//! words adds to the score of every match that has the word. Where Elasticsearch adds it under a condition only, the
//! query is refused by name. The condition itself can be any.

use tokapi::Query;

use super::condition::{self, Condition, Scored, and, not, or};
use super::fields::{Lookup, Searched};
use super::node::{Bool, Kind, Node, Words};
use super::plan::{Matching, Plan};
use crate::elastic::error::{Refusal, Result};
use crate::elastic::mapping::{Mapping, Target};

/// The most times that a word may count, as a boost.
const MOST_TIMES: f64 = 16.0;

/// Whether and how a query adds to scores.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Every match meets it.
    Required,
    /// A match need not meet it.
    Optional,
    /// It adds nothing.
    Unscored,
}

impl Role {
    /// The role of a query that every document meets.
    fn certain(self) -> Role {
        match self {
            Role::Optional => Role::Required,
            other => other,
        }
    }
}

struct Lowering<'a> {
    mapping: &'a Mapping,
    cut: &'a dyn Fn(&str) -> Vec<String>,
    scored: Vec<Scored>,
    /// The sum of constant scores, and where one comes from.
    constant: f64,
    constant_of: Option<String>,
    /// Whether an exact value is scored, by a constant of this server.
    scores_value: bool,
    warnings: &'a mut Vec<String>,
}

/// Plans the search of `node`. `cut` cuts a text into terms. Without `scores` the order of matches means nothing.
///
/// # Errors
/// The query has no exact answer: the error names it, and the way out.
pub fn lower(
    node: &Node,
    mapping: &Mapping,
    cut: &dyn Fn(&str) -> Vec<String>,
    scores: bool,
    warnings: &mut Vec<String>,
) -> Result<Plan> {
    let mut lowering = Lowering {
        mapping,
        cut,
        scored: Vec::new(),
        constant: 0.0,
        constant_of: None,
        scores_value: false,
        warnings,
    };
    let role = match scores {
        true => Role::Required,
        false => Role::Unscored,
    };
    let condition = lowering.node(node, role, 1.0)?;
    let Lowering {
        scored,
        mut constant,
        constant_of,
        scores_value,
        ..
    } = lowering;
    if let Some(place) = constant_of.filter(|_| !scored.is_empty()) {
        return Err(Refusal::illegal(format!(
            "{place} adds a constant to the scores of words, which the server does not; move it into `filter`"
        )));
    }
    if scored.is_empty() && scores_value && constant == 0.0 {
        constant = 1.0;
    }
    let mut marked: Vec<String> = scored.iter().map(|(term, _)| term.clone()).collect();
    condition::terms(&condition, &mut marked);
    Ok(Plan {
        matching: Matching::of(&condition, &scored, scores),
        constant: constant as f32,
        marked: Query::any(marked),
    })
}

impl Lowering<'_> {
    fn node(&mut self, node: &Node, role: Role, factor: f64) -> Result<Condition> {
        let factor = factor * node.boost;
        if !(factor.is_finite() && factor >= 0.0) {
            return Err(Refusal::illegal(format!(
                "the boost of {} must be a number of at least 0",
                node.place
            )));
        }
        match &node.kind {
            Kind::All => {
                self.constant(node, role.certain(), factor)?;
                Ok(Condition::All)
            }
            Kind::Nothing => Ok(Condition::Nothing),
            Kind::Words(words) => self.words(node, words, role, factor),
            Kind::Phrase { fields, text } => {
                match Lookup::new(self.mapping, &node.place, self.warnings).searched(fields)? {
                    Searched::Text { several } => {
                        if several {
                            self.warn_joined(node);
                        }
                        let terms = (self.cut)(text);
                        self.phrase(node, terms, role, factor)
                    }
                    other => self.elsewhere(node, other, vec![text.clone()], role, factor),
                }
            }
            Kind::Values {
                field,
                values,
                constant,
            } => self.values(node, field, values, *constant, role, factor),
            Kind::Ids(ids) => {
                self.constant(node, role, factor)?;
                Ok(ids_of(ids.clone()))
            }
            Kind::Exists(field) => self.exists(node, field, role, factor),
            Kind::Bool(bool) => self.boolean(node, bool, role, factor),
            Kind::Constant(filter) => {
                self.constant(node, role, factor)?;
                self.node(filter, Role::Unscored, 1.0)
            }
        }
    }

    fn words(&mut self, node: &Node, words: &Words, role: Role, factor: f64) -> Result<Condition> {
        let several =
            match Lookup::new(self.mapping, &node.place, self.warnings).searched(&words.fields)? {
                Searched::Text { several } => several,
                other => {
                    return self.elsewhere(node, other, vec![words.text.clone()], role, factor);
                }
            };
        let terms = (self.cut)(&words.text);
        if terms.is_empty() {
            if words.empty_is_all {
                self.constant(node, role, factor)?;
                return Ok(Condition::All);
            }
            return Ok(Condition::Nothing);
        }
        let count = terms.len();
        let least = match (words.all, words.minimum) {
            (true, _) => count,
            (false, minimum) => minimum.map_or(1, |minimum| minimum.of(count).max(1)),
        };
        if least > count {
            return Ok(Condition::Nothing);
        }
        let distinct = terms.iter().map(|term| Condition::Term(term.clone()));
        if least == 1 {
            if several {
                self.warn_joined(node);
            }
            let condition = or(distinct);
            self.score(node, terms, role, factor)?;
            return Ok(condition);
        }
        if least < count {
            return Err(Refusal::illegal(format!(
                "minimum_should_match at {} asks for {least} of {count} words; the server answers 1 word or all words: leave it out, or use \"operator\": \"and\"",
                node.place
            )));
        }
        let condition = and(distinct);
        let is_one = matches!(condition, Condition::Term(_));
        if several && words.in_one_field && !is_one {
            return Err(Refusal::illegal(format!(
                "all words in one of several fields, at {}, is not supported, because the fields are indexed as one text; use the type cross_fields",
                node.place
            )));
        }
        if several {
            self.warn_joined(node);
        }
        if role == Role::Optional && !is_one {
            return Err(conditional(node));
        }
        self.score(node, terms, role, factor)?;
        Ok(condition)
    }

    fn phrase(
        &mut self,
        node: &Node,
        terms: Vec<String>,
        role: Role,
        factor: f64,
    ) -> Result<Condition> {
        match &terms[..] {
            [] => Ok(Condition::Nothing),
            [term] => {
                let condition = Condition::Term(term.clone());
                self.score(node, terms, role, factor)?;
                Ok(condition)
            }
            _ if role == Role::Optional => Err(conditional(node)),
            _ => {
                let condition = Condition::Phrase(terms.clone());
                if role == Role::Required {
                    self.warnings.push(format!(
                        "the score of the phrase at {} is the sum of the scores of its words",
                        node.place
                    ));
                }
                self.score(node, terms, role, factor)?;
                Ok(condition)
            }
        }
    }

    fn values(
        &mut self,
        node: &Node,
        field: &str,
        values: &[String],
        constant: bool,
        role: Role,
        factor: f64,
    ) -> Result<Condition> {
        let searched = Lookup::new(self.mapping, &node.place, self.warnings).of_one(field)?;
        let Searched::Text { .. } = searched else {
            if constant {
                self.constant(node, role, factor)?;
                return self.elsewhere(node, searched, values.to_vec(), Role::Unscored, factor);
            }
            return self.elsewhere(node, searched, values.to_vec(), role, factor);
        };
        match constant {
            true => self.constant(node, role, factor)?,
            false => self.score(node, values.to_vec(), role, factor)?,
        }
        Ok(or(values.iter().cloned().map(Condition::Term)))
    }

    /// A query on something else than the text: a document has one of the values.
    fn elsewhere(
        &mut self,
        node: &Node,
        searched: Searched,
        values: Vec<String>,
        role: Role,
        factor: f64,
    ) -> Result<Condition> {
        match searched {
            Searched::Exact(field) => {
                match role {
                    Role::Unscored => {}
                    Role::Optional => return Err(conditional(node)),
                    Role::Required => {
                        self.scores_value = true;
                        self.warnings.push(format!(
                            "the exact value at {} does not count in scores",
                            node.place
                        ));
                    }
                }
                Ok(or(values.into_iter().map(|value| Condition::Value {
                    field: field.clone(),
                    value,
                })))
            }
            Searched::Ids => {
                self.constant(node, role, factor)?;
                Ok(ids_of(values))
            }
            Searched::Text { .. } | Searched::Missing => Ok(Condition::Nothing),
        }
    }

    fn exists(&mut self, node: &Node, field: &str, role: Role, factor: f64) -> Result<Condition> {
        self.constant(node, role, factor)?;
        match self.mapping.target(field) {
            Target::Id => Ok(Condition::All),
            Target::Missing if !self.mapping.names().any(|name| is_inside(name, field)) => {
                Ok(Condition::Nothing)
            }
            _ => Err(Refusal::parsing(format!(
                "the query [exists] at {} is not supported for the field `{field}`, because the index does not list the documents that have it; use `term` or `terms` with values",
                node.place
            ))),
        }
    }

    fn boolean(&mut self, node: &Node, bool: &Bool, role: Role, factor: f64) -> Result<Condition> {
        let Bool {
            must,
            should,
            filter,
            not: excluded,
            minimum,
        } = bool;
        let requires = !must.is_empty() || !filter.is_empty();
        let parts = must.len() + should.len() + filter.len() + excluded.len();
        if parts == 0 {
            self.constant(node, role, factor)?;
            return Ok(Condition::All);
        }
        let least = match minimum {
            Some(minimum) => minimum.of(should.len()),
            None => usize::from(!requires),
        };
        let least = match requires || should.is_empty() {
            true if should.is_empty() && minimum.is_none() => 0,
            true => least,
            false => least.max(1),
        };
        if least > should.len() {
            return Ok(Condition::Nothing);
        }
        // The scores of an optional query with conditions count only where the conditions hold.
        let depends = role == Role::Optional && parts > 1;
        let before = (self.scored.len(), self.constant);
        let mut conditions = Vec::new();
        for inner in must {
            conditions.push(self.node(inner, role, factor)?);
        }
        if depends && parts > should.len() && (self.scored.len(), self.constant) != before {
            return Err(conditional(node));
        }
        for inner in filter {
            conditions.push(self.node(inner, Role::Unscored, 1.0)?);
        }
        conditions.push(self.should(node, should, least, role, factor)?);
        if depends && parts > should.len() && (self.scored.len(), self.constant) != before {
            return Err(conditional(node));
        }
        for inner in excluded {
            conditions.push(not(self.node(inner, Role::Unscored, 1.0)?));
        }
        Ok(and(conditions))
    }

    fn should(
        &mut self,
        node: &Node,
        should: &[Node],
        least: usize,
        role: Role,
        factor: f64,
    ) -> Result<Condition> {
        let all = least == should.len();
        if !all && least > 1 {
            return Err(Refusal::illegal(format!(
                "minimum_should_match at {} asks for {least} of {} queries; the server answers 0, 1 or all of them",
                node.place,
                should.len()
            )));
        }
        if role == Role::Optional && all && least > 1 {
            return Err(conditional(node));
        }
        let inner_role = match role {
            Role::Required if !all => Role::Optional,
            other => other,
        };
        let mut conditions = Vec::with_capacity(should.len());
        for inner in should {
            conditions.push(self.node(inner, inner_role, factor)?);
        }
        Ok(match (all, least) {
            (true, _) => and(conditions),
            (false, 0) => Condition::All,
            (false, _) => or(conditions),
        })
    }

    /// Notes the score of the terms.
    fn score(&mut self, node: &Node, terms: Vec<String>, role: Role, factor: f64) -> Result<()> {
        if role == Role::Unscored {
            return Ok(());
        }
        if factor.fract() != 0.0 || !(1.0..=MOST_TIMES).contains(&factor) {
            return Err(Refusal::illegal(format!(
                "the boost {factor} at {} is not supported for words; use a whole number from 1 to {MOST_TIMES}",
                node.place
            )));
        }
        let times = factor as u32;
        self.scored
            .extend(terms.into_iter().map(|term| (term, times)));
        Ok(())
    }

    /// Notes a constant score.
    fn constant(&mut self, node: &Node, role: Role, factor: f64) -> Result<()> {
        match role {
            Role::Unscored => Ok(()),
            Role::Optional => Err(conditional(node)),
            Role::Required => {
                self.constant += factor;
                self.constant_of
                    .get_or_insert_with(|| node.place.to_string());
                Ok(())
            }
        }
    }

    fn warn_joined(&mut self, node: &Node) {
        self.warnings.push(format!(
            "the text fields at {} are searched as one text, and scores are those of the joined text",
            node.place
        ));
    }
}

/// The error for a query whose scores count only for some matches.
fn conditional(node: &Node) -> Refusal {
    Refusal::illegal(format!(
        "{} would change the scores of some matches only, which the server cannot compute; put it into `filter` or `must`, or use `match` with the operator `or`",
        node.place
    ))
}

fn ids_of(ids: Vec<String>) -> Condition {
    match ids.is_empty() {
        true => Condition::Nothing,
        false => Condition::Ids(ids),
    }
}

/// Whether the field `name` stands in the object `object`.
fn is_inside(name: &str, object: &str) -> bool {
    name.strip_prefix(object)
        .is_some_and(|rest| rest.starts_with('.'))
}
