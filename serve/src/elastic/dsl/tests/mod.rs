//! Bodies and the searches that they become.

mod laws;
mod refused;
mod table;

use tokapi::{Occur, Query};

use super::{Matching, Plan, SearchBody, Select, lower};
use crate::elastic::error::Result;
use crate::elastic::mapping::Mapping;
use crate::elastic::tree::Tree;

/// One text field, and exact ones.
fn one_text() -> Mapping {
    mapping(
        r#"{"properties": {"content": {"type": "text"}, "tag": {"type": "keyword"}, "year": {"type": "long"},
            "embedding": {"type": "dense_vector"}, "metadata": {"properties": {"source": {"type": "keyword"}}},
            "name": {"type": "keyword", "fields": {"raw": {"type": "keyword"}}}}}"#,
    )
}

/// Two text fields, one with exact values.
fn two_texts() -> Mapping {
    mapping(
        r#"{"properties": {"title": {"type": "text", "fields": {"keyword": {"type": "keyword"}}},
            "body": {"type": "text"}, "tag": {"type": "keyword"}}}"#,
    )
}

fn mapping(text: &str) -> Mapping {
    Mapping::parse(&Tree::parse(text.as_bytes()).unwrap(), &mut Vec::new()).unwrap()
}

/// Cuts at everything that is no letter or digit.
fn cut(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

fn planned(query: &str, mapping: &Mapping, scores: bool) -> Result<(Plan, Vec<String>)> {
    let body = format!("{{\"query\": {query}}}");
    let search = SearchBody::parse(&Tree::parse(body.as_bytes())?, &[])?;
    let mut warnings = search.warnings;
    let plan = lower(&search.query, mapping, &cut, scores, &mut warnings)?;
    Ok((plan, warnings))
}

/// The plan in one line: `+must should -not field:value "a phrase"`.
fn show(plan: &Plan) -> String {
    let matching = match &plan.matching {
        Matching::Nothing => "nothing".into(),
        Matching::Everything => "everything".into(),
        Matching::Flat(query) => show_query(query),
        Matching::Set(select, ranked) => {
            format!("{} by [{}]", show_select(select), show_query(ranked))
        }
    };
    match plan.constant == 0.0 {
        true => matching,
        false => format!("{matching} ={}", plan.constant),
    }
}

fn show_query(query: &Query) -> String {
    let clauses = query.clauses.iter().map(|clause| match clause.occur {
        Occur::Must => format!("+{}", clause.term),
        Occur::Should => clause.term.clone(),
        Occur::Not => format!("-{}", clause.term),
    });
    let sign = |not| match not {
        true => "-",
        false => "",
    };
    let phrases = query.phrases.iter();
    let phrases =
        phrases.map(|phrase| format!("{}\"{}\"", sign(phrase.not), phrase.terms.join(" ")));
    let filters = query.filters.iter();
    let filters = filters.map(|f| format!("{}{}:{}", sign(f.not), f.field, f.value));
    let all: Vec<String> = clauses.chain(phrases).chain(filters).collect();
    all.join(" ")
}

fn show_select(select: &Select) -> String {
    let list = |sets: &[Select]| sets.iter().map(show_select).collect::<Vec<_>>();
    match select {
        Select::All => "all".into(),
        Select::Nothing => "none".into(),
        Select::Query(query) => format!("{{{}}}", show_query(query)),
        Select::Ids(ids) => format!("ids {}", ids.join(",")),
        Select::And(sets) => format!("({})", list(sets).join(" & ")),
        Select::Or(sets) => format!("({})", list(sets).join(" | ")),
        Select::Not(set) => format!("!{}", show_select(set)),
    }
}
