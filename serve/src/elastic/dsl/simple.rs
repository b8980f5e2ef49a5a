//! `query_string` and `simple_query_string`, as far as both mean the same: words and phrases, with `+` and `-`.

use super::leaf;
use super::node::{Bool, Fields, Kind, Node, Words};
use crate::elastic::error::{Refusal, Result};
use crate::elastic::reader::{Members, Place};
use crate::elastic::tree::Tree;

/// The characters with a meaning in one of the two languages, besides quotes and signs before words.
const OPERATORS: [char; 18] = [
    '(', ')', '[', ']', '{', '}', '*', '?', '~', '^', ':', '/', '\\', '|', '<', '>', '!', '&',
];

/// `query_string` or `simple_query_string`.
pub fn query(name: &str, value: &Tree, place: Place) -> Result<Node> {
    let mut members = Members::of(value, place.clone())?;
    let text = members
        .text("query")?
        .ok_or_else(|| Refusal::parsing(format!("[{name}] needs the member `query` at {place}")))?;
    let text = leaf::checked(text.to_owned(), &place.member("query"))?;
    let fields = members.texts("fields")?;
    let default = members.text("default_field")?.filter(|field| *field != "*");
    let fields = match (fields, default) {
        (Some(fields), _) if !fields.is_empty() => Fields::Several(fields),
        (_, Some(field)) => Fields::One(field.to_owned()),
        _ => Fields::Default,
    };
    let all = leaf::operator(&mut members, "default_operator")?;
    members.boolean("lenient")?;
    members.only(
        "analyze_wildcard",
        &["false"],
        "wildcards are not supported",
    )?;
    members.only(
        "type",
        &["best_fields", "most_fields", "cross_fields"],
        "use best_fields",
    )?;
    let boost = leaf::boost(&mut members)?;
    members.finish(name)?;
    if name == "simple_query_string" && !all && has_sign(&text) {
        return Err(Refusal::parsing(format!(
            "`+` and `-` in [{name}] at {place} have another meaning than in [query_string]; use [query_string], or the default_operator `and`"
        )));
    }
    let mut node = parse(&text, &fields, all, place)?;
    node.boost = boost;
    Ok(node)
}

/// Parses the text of such a query.
///
/// A text of plain words is one [`Words`]; with signs or quotes, each part is a query of its own.
pub fn parse(text: &str, fields: &Fields, all: bool, place: Place) -> Result<Node> {
    let mut bool = Bool::default();
    let mut plain = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (sign, from) = match rest.as_bytes()[0] {
            sign @ (b'+' | b'-') => (sign, &rest[1..]),
            _ => (b' ', rest),
        };
        let kind;
        if let Some(quoted) = from.strip_prefix('"') {
            let (phrase, after) = quoted.split_once('"').ok_or_else(|| {
                Refusal::parsing(format!(
                    "a quote is not closed in the text at {place}; close it"
                ))
            })?;
            kind = Kind::Phrase {
                fields: fields.clone(),
                text: phrase.to_owned(),
            };
            rest = after;
        } else {
            let end = from.find(|c: char| c.is_whitespace() || c == '"');
            let (word, after) = from.split_at(end.unwrap_or(from.len()));
            plain_word(word, &place)?;
            rest = after;
            if sign == b' ' && !all {
                plain.push(word);
            }
            kind = words(fields, word.to_owned(), all);
        }
        let node = Node {
            place: place.clone(),
            kind,
            boost: 1.0,
        };
        match sign {
            b'+' => bool.must.push(node),
            b'-' => bool.not.push(node),
            _ if all => bool.must.push(node),
            _ => bool.should.push(node),
        }
        rest = rest.trim_start();
    }
    let only_plain =
        plain.len() == bool.should.len() && bool.must.is_empty() && bool.not.is_empty();
    let kind = match only_plain {
        true => words(fields, text.to_owned(), all),
        false => Kind::Bool(bool),
    };
    Ok(Node {
        place,
        kind,
        boost: 1.0,
    })
}

/// Whether a part of the text has a sign before it.
fn has_sign(text: &str) -> bool {
    let mut parts = text.split(|c: char| c.is_whitespace() || c == '"');
    parts.any(|part| part.starts_with(['+', '-']))
}

fn words(fields: &Fields, text: String, all: bool) -> Kind {
    Kind::Words(Words {
        fields: fields.clone(),
        text,
        all,
        minimum: None,
        empty_is_all: false,
        in_one_field: false,
    })
}

fn plain_word(word: &str, place: &Place) -> Result<()> {
    let operator = word.chars().find(|c| OPERATORS.contains(c));
    if let Some(operator) = operator {
        return Err(Refusal::parsing(format!(
            "`{operator}` in the text at {place} is an operator that is not supported; words, \"phrases\", +must and -not are: write the rest as a `bool` query"
        )));
    }
    match word {
        "" => Err(Refusal::parsing(format!(
            "a sign in the text at {place} has no word behind it; write it directly before the word"
        ))),
        "AND" | "OR" | "NOT" => Err(Refusal::parsing(format!(
            "`{word}` in the text at {place} is an operator of one of the two languages only; use +must and -not"
        ))),
        _ => Ok(()),
    }
}
