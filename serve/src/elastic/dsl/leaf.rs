//! Queries without queries inside: words, phrases, exact values, ids.

use super::node::{Fields, Kind, Minimum, Node, Words};
use crate::elastic::error::{Refusal, Result};
use crate::elastic::reader::{Members, Place, names, texts, wrong};
use crate::elastic::tree::Tree;

/// Bytes of the text of a query.
const MOST_TEXT_BYTES: usize = 1 << 16;
/// Values of `terms`, and ids of `ids`.
const MOST_VALUES: usize = 1 << 16;

/// The one field of a query such as `{"title": ...}`, with its value.
fn one_field<'a>(tree: &'a Tree, place: &Place, what: &str) -> Result<(&'a str, &'a Tree)> {
    match tree {
        Tree::Object(members) if members.len() == 1 => Ok((&members[0].0, &members[0].1)),
        Tree::Object(members) => Err(Refusal::parsing(format!(
            "[{what}] takes one field, and {place} has {}: {}; write a `bool` query with one [{what}] a field",
            members.len(),
            names(members)
        ))),
        other => Err(wrong(place, other, "an object with one field")),
    }
}

/// Takes `boost`.
pub fn boost(members: &mut Members<'_>) -> Result<f64> {
    Ok(members.number("boost")?.unwrap_or(1.0))
}

/// Takes `_name`, which marks hits: not supported.
fn unnamed(members: &mut Members<'_>) -> Result<()> {
    let advice = "named queries are not supported; leave it out";
    members.only("_name", &[], advice)
}

/// Ends a query of the kind `what`: takes `boost`, and has nothing left.
fn ended(mut members: Members<'_>, what: &str, place: Place, kind: Kind) -> Result<Node> {
    let boost = boost(&mut members)?;
    unnamed(&mut members)?;
    members.finish(what)?;
    Ok(Node { place, kind, boost })
}

/// Takes the text of a query: a string, a number or a boolean.
fn query_text(members: &mut Members<'_>, what: &str) -> Result<String> {
    let place = members.place.member("query");
    let tree = members.take("query");
    let tree = tree.ok_or_else(|| {
        Refusal::parsing(format!(
            "[{what}] needs the member `query` at {}",
            members.place
        ))
    })?;
    let text = tree
        .as_value()
        .ok_or_else(|| wrong(&place, tree, "a string"))?;
    checked(text, &place)
}

/// A text that is not too long.
pub fn checked(text: String, place: &Place) -> Result<String> {
    match text.len() > MOST_TEXT_BYTES {
        true => Err(Refusal::illegal(format!(
            "the text at {place} has {} bytes; send at most {MOST_TEXT_BYTES}",
            text.len()
        ))),
        false => Ok(text),
    }
}

/// Takes `operator`: whether all words must occur.
pub fn operator(members: &mut Members<'_>, name: &'static str) -> Result<bool> {
    let place = members.place.member(name);
    match members.text(name)? {
        None => Ok(false),
        Some(text) if text.eq_ignore_ascii_case("or") => Ok(false),
        Some(text) if text.eq_ignore_ascii_case("and") => Ok(true),
        Some(text) => Err(Refusal::illegal(format!(
            "{place} is `{text}`; it must be `or` or `and`"
        ))),
    }
}

/// Takes `minimum_should_match`.
pub fn minimum(members: &mut Members<'_>) -> Result<Option<Minimum>> {
    let place = members.place.member("minimum_should_match");
    let Some(tree) = members.take("minimum_should_match") else {
        return Ok(None);
    };
    let minimum = tree.as_value().and_then(|text| Minimum::parse(&text));
    minimum.map(Some).ok_or_else(|| {
        Refusal::illegal(format!(
            "{place} must be a number such as 2 or -1, or a share such as 75%"
        ))
    })
}

/// Takes `fuzziness` and the members that go with it. Words are matched exactly: a value other than 0 is noted in
/// `warnings`.
fn fuzziness(members: &mut Members<'_>, warnings: &mut Vec<String>) {
    let place = members.place.member("fuzziness");
    let fuzzy = members.take("fuzziness").and_then(Tree::as_value);
    for name in [
        "prefix_length",
        "max_expansions",
        "fuzzy_transpositions",
        "fuzzy_rewrite",
    ] {
        members.take(name);
    }
    if let Some(value) = fuzzy.filter(|value| value != "0") {
        warnings.push(format!(
            "{place} [{value}] is answered without fuzziness: words match exactly"
        ));
    }
}

/// Takes the members that `match` and `multi_match` share.
fn words(
    members: &mut Members<'_>,
    what: &str,
    fields: Fields,
    warnings: &mut Vec<String>,
) -> Result<Words> {
    let text = query_text(members, what)?;
    let all = operator(members, "operator")?;
    let minimum = minimum(members)?;
    fuzziness(members, warnings);
    let advice = "the index has one analyzer for all texts";
    members.only("analyzer", &[], advice)?;
    // A value of another type than the field's is an error of its own; leniency has nothing to forgive.
    members.boolean("lenient")?;
    members.only(
        "auto_generate_synonyms_phrase_query",
        &["true", "false"],
        "",
    )?;
    let place = members.place.member("zero_terms_query");
    let empty_is_all = match members.text("zero_terms_query")? {
        None | Some("none" | "NONE") => false,
        Some("all" | "ALL") => true,
        Some(other) => {
            return Err(Refusal::illegal(format!(
                "{place} is `{other}`; it must be `none` or `all`"
            )));
        }
    };
    Ok(Words {
        fields,
        text,
        all,
        minimum,
        empty_is_all,
        in_one_field: false,
    })
}

/// `match`: `{"field": "text"}` or `{"field": {"query": "text", ...}}`.
pub fn match_words(tree: &Tree, place: Place, warnings: &mut Vec<String>) -> Result<Node> {
    let (field, value) = one_field(tree, &place, "match")?;
    let fields = Fields::One(field.to_owned());
    let within = place.member(field);
    if let Some(text) = value.as_value() {
        let words = Words {
            fields,
            text: checked(text, &within)?,
            all: false,
            minimum: None,
            empty_is_all: false,
            in_one_field: false,
        };
        return Ok(Node {
            place,
            kind: Kind::Words(words),
            boost: 1.0,
        });
    }
    let mut members = Members::of(value, within)?;
    let words = words(&mut members, "match", fields, warnings)?;
    ended(members, "match", place, Kind::Words(words))
}

/// `multi_match`.
pub fn multi_match(tree: &Tree, place: Place, warnings: &mut Vec<String>) -> Result<Node> {
    let mut members = Members::of(tree, place.clone())?;
    let fields = match members.texts("fields")? {
        Some(fields) if !fields.is_empty() => Fields::Several(fields),
        _ => Fields::Default,
    };
    let kind = members.text("type")?.unwrap_or("best_fields");
    // It weighs fields against each other, and there is one text.
    members.number("tie_breaker")?;
    let kind = match kind {
        "best_fields" | "most_fields" | "cross_fields" => {
            let in_one_field = kind != "cross_fields";
            let words = words(&mut members, "multi_match", fields, warnings)?;
            Kind::Words(Words {
                in_one_field,
                ..words
            })
        }
        "phrase" => Kind::Phrase {
            text: phrase_text(&mut members, "multi_match")?,
            fields,
        },
        other => {
            return Err(Refusal::illegal(format!(
                "the type `{other}` of [multi_match] at {place} is not supported; use best_fields, most_fields, cross_fields or phrase"
            )));
        }
    };
    ended(members, "multi_match", place, kind)
}

fn phrase_text(members: &mut Members<'_>, what: &str) -> Result<String> {
    let text = query_text(members, what)?;
    let advice = "the words of a phrase must be adjacent; use slop 0";
    members.only("slop", &["0"], advice)?;
    let advice = "the index has one analyzer for all texts";
    members.only("analyzer", &[], advice)?;
    members.only("zero_terms_query", &["none"], "use `none`")?;
    Ok(text)
}

/// `match_phrase`.
pub fn match_phrase(tree: &Tree, place: Place) -> Result<Node> {
    let (field, value) = one_field(tree, &place, "match_phrase")?;
    let fields = Fields::One(field.to_owned());
    let within = place.member(field);
    if let Some(text) = value.as_value() {
        let text = checked(text, &within)?;
        return Ok(Node {
            place,
            kind: Kind::Phrase { fields, text },
            boost: 1.0,
        });
    }
    let mut members = Members::of(value, within)?;
    let text = phrase_text(&mut members, "match_phrase")?;
    ended(
        members,
        "match_phrase",
        place,
        Kind::Phrase { fields, text },
    )
}

/// `term`: `{"field": value}` or `{"field": {"value": value}}`.
pub fn term(tree: &Tree, place: Place) -> Result<Node> {
    let (field, value) = one_field(tree, &place, "term")?;
    let within = place.member(field);
    let (value, boost) = match value.as_value() {
        Some(value) => (value, 1.0),
        None => {
            let mut members = Members::of(value, within)?;
            let tree = members.take("value").ok_or_else(|| {
                Refusal::parsing(format!(
                    "[term] needs the member `value` at {}",
                    members.place
                ))
            })?;
            let advice = "values are matched as they are written";
            members.only("case_insensitive", &["false"], advice)?;
            let boost = boost(&mut members)?;
            unnamed(&mut members)?;
            let place = members.place.member("value");
            members.finish("term")?;
            let value = tree.as_value();
            (
                value.ok_or_else(|| wrong(&place, tree, "a string, a number or a boolean"))?,
                boost,
            )
        }
    };
    Ok(Node {
        place,
        kind: Kind::Values {
            field: field.to_owned(),
            values: vec![value],
            constant: false,
        },
        boost,
    })
}

/// `terms`: `{"field": [values]}`, with `boost` beside the field.
pub fn terms(tree: &Tree, place: Place) -> Result<Node> {
    let mut members = Members::of(tree, place.clone())?;
    let boost = boost(&mut members)?;
    unnamed(&mut members)?;
    let (field, list) = match members.rest()[..] {
        [(field, list)] => (field, list),
        ref others => {
            let names: Vec<&str> = others.iter().map(|(name, _)| *name).collect();
            return Err(Refusal::parsing(format!(
                "[terms] takes one field, and {place} has {}: {}; write a `bool` query with one [terms] a field",
                others.len(),
                names.join(", ")
            )));
        }
    };
    let within = place.member(field);
    let Tree::List(items) = list else {
        return Err(wrong(
            &within,
            list,
            "a list of values (terms lookup is not supported)",
        ));
    };
    count(items.len(), &within)?;
    let values = items.iter().enumerate().map(|(at, item)| {
        let value = item.as_value();
        value.ok_or_else(|| wrong(&within.item(at), item, "a string, a number or a boolean"))
    });
    Ok(Node {
        kind: Kind::Values {
            field: field.to_owned(),
            values: values.collect::<Result<_>>()?,
            constant: true,
        },
        place,
        boost,
    })
}

/// `ids`.
pub fn ids(tree: &Tree, place: Place) -> Result<Node> {
    let mut members = Members::of(tree, place.clone())?;
    let within = place.member("values");
    let ids = match members.take("values") {
        Some(Tree::List(items)) => {
            let items = items.iter().enumerate().map(|(at, item)| match item {
                Tree::Number(number) => Ok(number.to_string()),
                Tree::Text(id) => Ok(id.clone()),
                other => Err(wrong(&within.item(at), other, "a string")),
            });
            items.collect::<Result<Vec<String>>>()?
        }
        Some(other) => texts(other, &within)?,
        None => {
            let reason = format!("[ids] needs the member `values` at {place}");
            return Err(Refusal::parsing(reason));
        }
    };
    count(ids.len(), &within)?;
    ended(members, "ids", place, Kind::Ids(ids))
}

/// `exists`.
pub fn exists(tree: &Tree, place: Place) -> Result<Node> {
    let mut members = Members::of(tree, place.clone())?;
    let field = members
        .text("field")?
        .ok_or_else(|| Refusal::parsing(format!("[exists] needs the member `field` at {place}")))?;
    let kind = Kind::Exists(field.to_owned());
    ended(members, "exists", place, kind)
}

fn count(count: usize, place: &Place) -> Result<()> {
    match count > MOST_VALUES {
        true => Err(Refusal::illegal(format!(
            "{place} has {count} values; send at most {MOST_VALUES}"
        ))),
        false => Ok(()),
    }
}
