//! The answers of `_search` and `_count`.

use serde_json::{Map, Value, json};
use tokapi::{Explained, Highlighter, Hit, Index, Query, Result, SearchOptions};

use super::{SHARDS, push};
use crate::elastic::dsl::{Highlight, Matching, Plan, SearchBody, Sort};
use crate::elastic::find::Found;
use crate::elastic::source;
use crate::elastic::tree::Tree;
use crate::limits::Room;

/// What an answer shows hits of.
pub struct Hits<'a> {
    /// The name of the index.
    pub name: &'a str,
    /// The index.
    pub index: &'a Index,
    /// The name of the text of documents that no client sent.
    pub text: &'a str,
    /// The search.
    pub body: &'a SearchBody,
    /// Its plan.
    pub plan: &'a Plan,
    /// The options of scores.
    pub options: SearchOptions,
    /// The most bytes of the answer.
    pub answer_bytes: usize,
}

/// The answer of `_search` without the member `took`: see [`with_took`].
///
/// # Errors
/// It is too large; the index is damaged.
pub fn search(of: &Hits<'_>, found: &Found) -> Result<Vec<u8>> {
    let mut json = Vec::with_capacity(256 + 512 * found.hits.len());
    json.extend_from_slice(b"{\"timed_out\":false,");
    json.extend_from_slice(format!("\"_shards\":{SHARDS},\"hits\":{{").as_bytes());
    if let Some(total) = found.total {
        let relation = match total.or_more {
            true => "gte",
            false => "eq",
        };
        let total = match of.body.plain_total {
            true => format!("\"total\":{},", total.value),
            false => format!(
                "\"total\":{{\"value\":{},\"relation\":\"{relation}\"}},",
                total.value
            ),
        };
        json.extend_from_slice(total.as_bytes());
    }
    json.extend_from_slice(b"\"max_score\":");
    push(&found.max_score, &mut json);
    json.extend_from_slice(b",\"hits\":[");
    let highlighter = match &of.body.highlight {
        Some(_) => Some(of.index.highlighter(&of.plan.marked)?),
        None => None,
    };
    for (place, hit) in found.hits.iter().enumerate() {
        if place > 0 {
            json.push(b',');
        }
        of.hit(hit, highlighter.as_ref(), &mut json)?;
        Room::new(of.answer_bytes).take(json.len())?;
    }
    json.extend_from_slice(b"]}}");
    Ok(json)
}

/// The answer `tail`, an object without the member `took`, with that member.
pub fn with_took(took_ms: u128, tail: &[u8]) -> Vec<u8> {
    let mut json = format!("{{\"took\":{took_ms},").into_bytes();
    json.extend_from_slice(tail.strip_prefix(b"{").unwrap_or(tail));
    json
}

/// The answer of `_count`.
pub fn count(count: u64) -> Vec<u8> {
    format!("{{\"count\":{count},\"_shards\":{SHARDS}}}").into_bytes()
}

impl Hits<'_> {
    fn hit(
        &self,
        hit: &Hit,
        highlighter: Option<&Highlighter<'_>>,
        json: &mut Vec<u8>,
    ) -> Result<()> {
        let (index, body) = (self.index, self.body);
        json.extend_from_slice(b"{\"_index\":");
        push(self.name, json);
        json.extend_from_slice(b",\"_id\":");
        push(&*index.id(hit.document)?, json);
        json.extend_from_slice(b",\"_score\":");
        push(&body.sort.by_score().then_some(hit.score), json);
        let text = match body.sources.enabled || highlighter.is_some() {
            true => Some(source::read(index, hit.document, self.text)?),
            false => None,
        };
        if let Some(shown) = text
            .as_deref()
            .and_then(|text| source::shown(text, &body.sources))
        {
            json.extend_from_slice(b",\"_source\":");
            json.extend_from_slice(shown.as_bytes());
        }
        if let (Some(highlighter), Some(text), Some(highlight)) =
            (highlighter, &text, &body.highlight)
        {
            let marked = marked(highlighter, text, highlight);
            if !marked.is_empty() {
                json.extend_from_slice(b",\"highlight\":");
                push(&marked, json);
            }
        }
        let sort = match body.sort {
            Sort::Default => None,
            Sort::Score => Some(json!([decimal(hit.score)])),
            Sort::ScoreAndAge => Some(json!([decimal(hit.score), hit.sequence])),
            Sort::Age => Some(json!([hit.sequence])),
        };
        if let Some(sort) = sort {
            json.extend_from_slice(b",\"sort\":");
            push(&sort, json);
        }
        if body.explain {
            json.extend_from_slice(b",\"_explanation\":");
            push(&self.explanation(hit)?, json);
        }
        json.push(b'}');
        Ok(())
    }

    /// The parts of a score, as a tree of values with descriptions.
    fn explanation(&self, hit: &Hit) -> Result<Value> {
        let nothing = Query::default();
        let query = match &self.plan.matching {
            Matching::Flat(query) | Matching::Set(_, query) => query,
            Matching::Everything | Matching::Nothing => &nothing,
        };
        let explained = self.index.explain(query, &self.options, hit.document)?;
        if explained.terms.is_empty() {
            return Ok(json!({
                "value": decimal(hit.score),
                "description": "a constant score: no word of the query is scored",
                "details": [],
            }));
        }
        let details = explained
            .terms
            .iter()
            .map(|term| term_json(&explained, term));
        Ok(json!({
            "value": decimal(explained.score),
            "description": "sum of:",
            "details": details.collect::<Vec<_>>(),
        }))
    }
}

/// A score with the digits that tell it apart: a wider type would show more of them.
fn decimal(score: f32) -> Value {
    score
        .to_string()
        .parse::<f64>()
        .map_or(Value::Null, Value::from)
}

fn term_json(explained: &Explained, term: &tokapi::ExplainedTerm) -> Value {
    let leaf =
        |value: Value, what: &str| json!({"value": value, "description": what, "details": []});
    json!({
        "value": f64::from(term.weight) * term.times,
        "description": format!("weight of `{}`, times its number in the query", term.term),
        "details": [
            leaf(decimal(term.weight), "weight of the word in the document"),
            leaf(term.times.into(), "number of times that the query has the word"),
            leaf(term.tf.into(), "number of times that the document has the word (tf)"),
            leaf(term.df.into(), "number of documents that have the word (df)"),
            leaf(term.idf.into(), "idf"),
            leaf(explained.length.into(), "length of the document"),
        ],
    })
}

/// The best fragment of each asked field, with marked words. A field without a word of the query has none.
fn marked(highlighter: &Highlighter<'_>, text: &str, highlight: &Highlight) -> Map<String, Value> {
    let mut fields = Map::new();
    let Ok(tree) = Tree::parse(text.as_bytes()) else {
        return fields;
    };
    for (name, &characters) in &highlight.fields {
        let names: Vec<String> = match name.contains('*') {
            true => names_of(&tree, name),
            false => vec![name.clone()],
        };
        for name in names {
            let Some(text) = source::text_at(&tree, &name) else {
                continue;
            };
            let snippet = highlighter.snippet(&text, characters);
            if snippet.highlights.is_empty() {
                continue;
            }
            let mut fragment = String::new();
            let mut from = 0;
            for range in &snippet.highlights {
                escape(
                    &snippet.text[from..range.start],
                    highlight.html,
                    &mut fragment,
                );
                fragment += &highlight.before;
                escape(&snippet.text[range.clone()], highlight.html, &mut fragment);
                fragment += &highlight.after;
                from = range.end;
            }
            escape(&snippet.text[from..], highlight.html, &mut fragment);
            fields.insert(name, json!([fragment]));
        }
    }
    fields
}

/// The top-level names of a document that are of a pattern.
fn names_of(tree: &Tree, pattern: &str) -> Vec<String> {
    match tree {
        Tree::Object(members) => {
            let names = members.iter().map(|(name, _)| name);
            let names = names.filter(|name| crate::elastic::mapping::matches(pattern, name));
            names.cloned().collect()
        }
        _ => Vec::new(),
    }
}

fn escape(text: &str, html: bool, into: &mut String) {
    if !html {
        *into += text;
        return;
    }
    for character in text.chars() {
        match character {
            '<' => *into += "&lt;",
            '>' => *into += "&gt;",
            '&' => *into += "&amp;",
            '"' => *into += "&quot;",
            '\'' => *into += "&#x27;",
            '/' => *into += "&#x2F;",
            other => into.push(other),
        }
    }
}
