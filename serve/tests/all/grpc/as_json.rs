//! Requests of `/v1` as messages, and messages as the JSON of `/v1`.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};
use tokapi_serve::grpc::proto::{self, SearchRequest, SearchResponse};

use crate::random::number;

/// A search as a message.
pub fn request(json: &Map<String, Json>) -> SearchRequest {
    let text = |name: &str| json.get(name).and_then(Json::as_str).map(str::to_owned);
    let float = |name: &str| json.get(name).and_then(Json::as_f64);
    let flag = |name: &str| json.get(name).and_then(Json::as_bool);
    let count = |name: &str| json.get(name).and_then(Json::as_u64).map(|n| n as u32);
    let filter = |filter: &Json| match filter {
        Json::String(text) => {
            let (not, text) = match text.strip_prefix('-') {
                Some(rest) => (true, rest),
                None => (false, text.as_str()),
            };
            let (field, value) = text.split_once(':').unwrap();
            let (field, value) = (field.to_owned(), value.to_owned());
            proto::Filter { field, value, not }
        }
        parts => proto::Filter {
            field: parts["field"].as_str().unwrap().to_owned(),
            value: parts["value"].as_str().unwrap().to_owned(),
            not: parts["not"].as_bool().unwrap(),
        },
    };
    let of_name = |name: &str, prefix: &str| format!("{prefix}_{}", name.to_uppercase());
    let mode = text("mode").map(|name| of_name(&name, "MODE"));
    let formula = text("formula").map(|name| of_name(&name, "FORMULA"));
    SearchRequest {
        index: "full".to_owned(),
        query: text("query").unwrap_or_default(),
        mode: mode.map_or(0, |name| proto::Mode::from_str_name(&name).unwrap().into()),
        operators: flag("operators"),
        filters: json.get("filters").map_or(Vec::new(), |filters| {
            filters.as_array().unwrap().iter().map(filter).collect()
        }),
        weighting: Some(proto::Weighting {
            formula: formula.map_or(0, |name| {
                proto::Formula::from_str_name(&name).unwrap().into()
            }),
            k1: float("k1"),
            b: float("b"),
            delta: float("delta"),
            avdl: float("avdl"),
        }),
        k: count("k"),
        snippets: flag("snippets"),
        snippet_characters: count("snippet_characters"),
        text: flag("text").unwrap_or(false),
        explain: flag("explain").unwrap_or(false),
        count: flag("count").unwrap_or(false),
        ..SearchRequest::default()
    }
}

/// Adds a member that is there.
pub fn set<T: Into<Json>>(object: &mut Json, name: &str, value: Option<T>) {
    if let Some(value) = value {
        object[name] = value.into();
    }
}

/// The members of the state of an index.
pub fn with_state(state: Option<proto::State>) -> Json {
    let state = state.unwrap();
    json!({ "index": state.index, "epoch": state.epoch, "complete": state.complete })
}

/// The values of the fields of a document.
pub fn fields(fields: BTreeMap<String, proto::Values>) -> Json {
    use proto::value::Kind;
    let value = |value: proto::Value| match value.kind.unwrap() {
        Kind::Text(text) => json!(text),
        Kind::Number(number) => json!(number),
        Kind::Integer(integer) => json!(integer),
        Kind::Boolean(boolean) => json!(boolean),
        Kind::Unsigned(integer) => json!(integer),
    };
    let values = fields.into_iter().map(|(name, values)| {
        let mut values: Vec<Json> = values.values.into_iter().map(value).collect();
        let values = match values.len() {
            1 => values.remove(0),
            _ => values.into(),
        };
        (name, values)
    });
    values.collect::<Map<_, _>>().into()
}

/// A term with its parts of a score.
pub fn term(term: proto::WeighedTerm) -> Json {
    let mut object = json!({ "term": term.term, "times": term.times, "df": term.df });
    object["weight"] = number(term.weight);
    set(&mut object, "tf", term.tf);
    set(&mut object, "impact", term.impact);
    set(&mut object, "idf", term.idf);
    set(&mut object, "scale", term.scale);
    object
}

/// Values and the numbers of their documents.
pub fn counts(values: Vec<proto::ValueCount>) -> Json {
    let counts = values.into_iter();
    let counts = counts.map(|of| json!({ "value": of.value, "count": of.count }));
    counts.collect()
}

fn hit(hit: proto::Hit) -> Json {
    let mut object = json!({ "id": hit.id, "sequence": hit.sequence });
    object["score"] = number(hit.score);
    if hit.snippet.is_some() {
        let highlights = hit.highlights.into_iter();
        object["highlights"] = highlights.map(|at| json!([at.from, at.to])).collect();
    }
    set(&mut object, "snippet", hit.snippet);
    if !hit.fields.is_empty() {
        object["fields"] = fields(hit.fields);
    }
    set(&mut object, "text", hit.text);
    if hit.length.is_some() {
        object["terms"] = hit.terms.into_iter().map(term).collect();
    }
    set(&mut object, "length", hit.length);
    object
}

/// An answer as that by HTTP, without its time.
pub fn answer(response: SearchResponse) -> Json {
    let mut object = with_state(response.state);
    object["hits"] = response.hits.into_iter().map(hit).collect();
    set(&mut object, "next", response.next);
    set(&mut object, "count", response.count);
    if !response.facets.is_empty() {
        let facets = response.facets.into_iter();
        let facets = facets.map(|(name, facet)| (name, counts(facet.values)));
        object["facets"] = facets.collect::<Map<_, _>>().into();
    }
    object
}

/// An answer by HTTP without its time.
pub fn without_time(mut answer: Json) -> Json {
    assert!(answer.as_object_mut().unwrap().remove("took_us").is_some());
    answer
}
