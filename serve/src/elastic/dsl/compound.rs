//! Queries by name, and those with queries inside.

use super::leaf;
use super::node::{Bool, Kind, Node};
use super::simple;
use crate::elastic::error::{Refusal, Result};
use crate::elastic::reader::{Members, Place, names, wrong};
use crate::elastic::tree::Tree;

/// Levels of queries inside queries.
const MOST_LEVELS: usize = 30;
/// Queries of a body.
const MOST_QUERIES: usize = 1024;

/// What a parser of queries carries along.
#[derive(Debug, Default)]
pub struct Budget {
    level: usize,
    queries: usize,
    /// What is answered otherwise than Elasticsearch would.
    pub warnings: Vec<String>,
}

/// Queries of the language that have no answer here, each with advice.
const UNSUPPORTED: [(&str, &str); 24] = [
    ("range", "filter by exact values with `term` or `terms`"),
    ("prefix", "use `term` with the whole value"),
    ("wildcard", "use `term` with the whole value"),
    ("regexp", "use `term` with the whole value"),
    ("fuzzy", "words match exactly: use `match`"),
    ("match_bool_prefix", "use `match`"),
    ("match_phrase_prefix", "use `match_phrase` with whole words"),
    ("combined_fields", "use `multi_match` over all text fields"),
    (
        "dis_max",
        "use `bool` with `should`, whose scores are added",
    ),
    ("boosting", "exclude documents with `must_not`"),
    (
        "function_score",
        "sort by `_score` and rank again in the client",
    ),
    (
        "script_score",
        "sort by `_score` and rank again in the client",
    ),
    ("script", "filter by exact values with `term`"),
    (
        "nested",
        "fields of objects have dotted names: use `term` on them",
    ),
    ("has_child", "documents have no relations here"),
    ("has_parent", "documents have no relations here"),
    ("more_like_this", "use `match` with the text"),
    (
        "knn",
        "vectors are kept in `_source` and are not searched: use `match`",
    ),
    (
        "sparse_vector",
        "use `match`: the server weighs words by BM25",
    ),
    ("semantic", "use `match`"),
    ("terms_set", "use `terms`, or one `term` for each value"),
    ("distance_feature", "sort by `_score`"),
    ("rank_feature", "sort by `_score`"),
    ("geo_distance", "places are not searched"),
];

/// Parses a query: an object with one member, its name.
pub fn query(tree: &Tree, place: Place, budget: &mut Budget) -> Result<Node> {
    budget.queries += 1;
    if budget.queries > MOST_QUERIES {
        return Err(Refusal::illegal(format!(
            "the body has more than {MOST_QUERIES} queries; send fewer clauses"
        )));
    }
    if budget.level == MOST_LEVELS {
        return Err(Refusal::illegal(format!(
            "queries are nested more than {MOST_LEVELS} levels deep, at {place}; nest fewer"
        )));
    }
    let (name, value) = match tree {
        Tree::Object(members) if members.len() == 1 => (&*members[0].0, &members[0].1),
        Tree::Object(members) => {
            return Err(Refusal::parsing(format!(
                "{place} must be an object with one member, the name of the query, and has {}: {}; combine queries with `bool`",
                members.len(),
                names(members)
            )));
        }
        other => return Err(wrong(&place, other, "an object with the name of a query")),
    };
    budget.level += 1;
    let node = named(name, value, place.member(name), budget);
    budget.level -= 1;
    node
}

fn named(name: &str, value: &Tree, place: Place, budget: &mut Budget) -> Result<Node> {
    match name {
        "match_all" => plain(Kind::All, name, value, place),
        "match_none" => plain(Kind::Nothing, name, value, place),
        "match" => leaf::match_words(value, place, &mut budget.warnings),
        "multi_match" => leaf::multi_match(value, place, &mut budget.warnings),
        "match_phrase" => leaf::match_phrase(value, place),
        "term" => leaf::term(value, place),
        "terms" => leaf::terms(value, place),
        "ids" => leaf::ids(value, place),
        "exists" => leaf::exists(value, place),
        "bool" => boolean(value, place, budget),
        "constant_score" => constant(value, place, budget),
        "query_string" | "simple_query_string" => simple::query(name, value, place),
        other => Err(unsupported(other, &place)),
    }
}

fn unsupported(name: &str, place: &Place) -> Refusal {
    match UNSUPPORTED.iter().find(|(known, _)| *known == name) {
        Some((_, advice)) => Refusal::parsing(format!(
            "the query [{name}] at {place} is not supported; {advice}"
        )),
        None => Refusal::parsing(format!(
            "unknown query [{name}] at {place}; supported are match, multi_match, match_phrase, match_all, match_none, term, terms, ids, exists, bool, constant_score, query_string and simple_query_string"
        )),
    }
}

/// A query without members of its own.
fn plain(kind: Kind, name: &str, value: &Tree, place: Place) -> Result<Node> {
    let mut members = Members::of(value, place.clone())?;
    let boost = leaf::boost(&mut members)?;
    members.finish(name)?;
    Ok(Node { place, kind, boost })
}

fn constant(value: &Tree, place: Place, budget: &mut Budget) -> Result<Node> {
    let mut members = Members::of(value, place.clone())?;
    let within = place.member("filter");
    let filter = members.take("filter").ok_or_else(|| {
        Refusal::parsing(format!(
            "[constant_score] needs the member `filter` at {place}"
        ))
    })?;
    let filter = query(filter, within, budget)?;
    let boost = leaf::boost(&mut members)?;
    members.finish("constant_score")?;
    Ok(Node {
        place,
        kind: Kind::Constant(Box::new(filter)),
        boost,
    })
}

fn boolean(value: &Tree, place: Place, budget: &mut Budget) -> Result<Node> {
    let mut members = Members::of(value, place.clone())?;
    let mut clauses = |members: &mut Members<'_>, name| match members.take(name) {
        None => Ok(Vec::new()),
        Some(Tree::List(items)) => {
            let items = items.iter().enumerate();
            let place = place.member(name);
            items
                .map(|(at, item)| query(item, place.item(at), budget))
                .collect()
        }
        Some(one) => Ok(vec![query(one, place.member(name), budget)?]),
    };
    let must = clauses(&mut members, "must")?;
    let filter = clauses(&mut members, "filter")?;
    let should = clauses(&mut members, "should")?;
    let not = clauses(&mut members, "must_not")?;
    let minimum = leaf::minimum(&mut members)?;
    let boost = leaf::boost(&mut members)?;
    members.only(
        "_name",
        &[],
        "named queries are not supported; leave it out",
    )?;
    members.finish("bool")?;
    Ok(Node {
        place,
        kind: Kind::Bool(Bool {
            must,
            should,
            filter,
            not,
            minimum,
        }),
        boost,
    })
}
