//! What the types alone do not say: the limits of this server, the values of fields, members that are never null.

use serde_json::{Value, json};
use tokapi_text::analyze::STEMMERS;

use crate::limits::Limits;
use crate::search::CURSORS;

/// The filters that are strings.
const FILTERS: &str = "^[^:]+:";

/// Each operation with its path and method.
pub fn operations(document: &mut Value) -> impl Iterator<Item = (String, String, &mut Value)> {
    let paths = document["paths"].as_object_mut().into_iter().flatten();
    paths.flat_map(|(path, methods)| {
        let methods = methods.as_object_mut().into_iter().flatten();
        methods.map(move |(method, operation)| (path.clone(), method.clone(), operation))
    })
}

/// States the limits of a server, and what else the types leave open.
pub fn state(document: &mut Value, limits: &Limits) {
    let bounds = bounds(limits);
    for (path, _, operation) in operations(document) {
        let parameters = operation.get_mut("parameters");
        let parameters = parameters.and_then(Value::as_array_mut);
        for parameter in parameters.into_iter().flatten() {
            let name = parameter["name"].as_str().unwrap_or_default().to_owned();
            let schema = &mut parameter["schema"];
            without_null(schema);
            bound(&bounds, &name, schema);
            if path.ends_with("/search") && name == "after" {
                schema["pattern"] = CURSORS.into();
            }
            if name == "filter" {
                schema["items"]["pattern"] = FILTERS.into();
            }
        }
    }
    let schemas = document["components"]["schemas"].as_object_mut();
    for (name, schema) in schemas.into_iter().flatten() {
        let is_request = name.ends_with("Request");
        if !is_request {
            without_null(schema);
        }
        let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
        for (name, member) in properties.into_iter().flatten() {
            if is_request {
                bound(&bounds, name, member);
            }
            let has_no_default = member.get("default").is_some_and(Value::is_null);
            if let (true, Some(member)) = (has_no_default, member.as_object_mut()) {
                member.remove("default");
            }
        }
    }
    let schemas = &mut document["components"]["schemas"];
    schemas["SearchRequest"]["properties"]["after"]["pattern"] = CURSORS.into();
    schemas["FilterRequest"]["oneOf"][0]["pattern"] = FILTERS.into();
    for line in schemas["BulkLine"]["oneOf"]
        .as_array_mut()
        .into_iter()
        .flatten()
    {
        line["additionalProperties"] = false.into();
    }
    for request in ["DocumentRequest", "NewDocument"] {
        schemas[request]["properties"]["fields"]["additionalProperties"] = values(true);
    }
    schemas["HitAnswer"]["properties"]["fields"]["additionalProperties"] = values(false);
    schemas["DocumentAnswer"]["allOf"][1]["properties"]["fields"]["additionalProperties"] =
        values(false);
    let index = &mut schemas["IndexRequest"]["properties"];
    let names = |names: &[&str]| -> Value {
        let names = names.iter().map(|name| Value::from(*name));
        names.chain([Value::Null]).collect()
    };
    index["analyzer"]["enum"] = names(&["unicode", "plain", "python", "whitespace"]);
    index["stop_words"]["enum"] = names(&["none", "english"]);
    index["stemmer"]["enum"] = names(&STEMMERS.map(|(name, _)| name));
    index["fields"]["uniqueItems"] = true.into();
    index["fields"]["items"]["minLength"] = 1.into();
}

/// The limits: the name of a parameter or of a member of requests, a keyword of JSON Schema, and its value.
fn bounds(limits: &Limits) -> [(&'static str, &'static str, Value); 9] {
    [
        ("k", "maximum", limits.k.into()),
        ("limit", "maximum", limits.page.into()),
        (
            "snippet_characters",
            "maximum",
            limits.snippet_characters.into(),
        ),
        ("timeout_ms", "maximum", limits.longest_timeout_ms.into()),
        ("filter", "maxItems", limits.query_terms.into()),
        ("filters", "maxItems", limits.query_terms.into()),
        ("facet", "maxItems", limits.facets.into()),
        ("facets", "maxItems", limits.facets.into()),
        ("searches", "maxItems", limits.batch.into()),
    ]
}

fn bound(bounds: &[(&str, &str, Value)], name: &str, schema: &mut Value) {
    for (_, keyword, value) in bounds.iter().filter(|(of, ..)| *of == name) {
        schema[*keyword] = value.clone();
    }
}

/// Takes `null` from all types of a schema: answers leave a member out instead, and a URL has no null.
fn without_null(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::Array(types)) = members.get_mut("type") {
                types.retain(|kind| kind != "null");
                if let [one] = &types[..] {
                    let one = one.clone();
                    members.insert("type".to_owned(), one);
                }
            }
            members.values_mut().for_each(without_null);
        }
        Value::Array(items) => items.iter_mut().for_each(without_null),
        _ => {}
    }
}

/// The schema of the value of a field, or the list of its values; `null` is no value.
fn values(null: bool) -> Value {
    let types = |list: bool| {
        let names = ["string", "number", "boolean"].into_iter();
        let names = names
            .chain(null.then_some("null"))
            .chain(list.then_some("array"));
        names.collect::<Vec<_>>()
    };
    json!({"type": types(true), "items": {"type": types(false)}})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::openapi::document;

    #[test]
    fn the_document_has_the_limits_of_the_server() {
        let limits = Limits {
            k: 77,
            facets: 3,
            ..Limits::default()
        };
        let document = document(&limits, false);
        let schema = &document["components"]["schemas"]["SearchRequest"]["properties"];
        assert_eq!(schema["k"]["maximum"], 77);
        assert_eq!(schema["facets"]["maxItems"], 3);
        let by_url = &document["paths"]["/v1/indexes/{index}/search"]["get"]["parameters"];
        let k = by_url.as_array().unwrap().iter().find(|p| p["name"] == "k");
        assert_eq!(k.unwrap()["schema"]["maximum"], 77);
        let answer = &document["components"]["schemas"]["SearchAnswer"]["properties"];
        assert!(answer["facets"].get("maxItems").is_none());
        assert_eq!(answer["next"]["type"], "string");
    }

    #[test]
    fn nothing_is_described_by_null() {
        fn check(value: &Value, path: &str) {
            match value {
                Value::Object(members) => members
                    .iter()
                    .for_each(|(name, value)| check(value, &format!("{path}/{name}"))),
                Value::Array(items) => items.iter().for_each(|item| check(item, path)),
                value => assert!(!value.is_null() || path.ends_with("/enum"), "{path}"),
            }
        }
        check(&document(&Limits::default(), true), "");
    }

    #[test]
    fn tokens_are_described_if_they_are_wanted() {
        for wants in [false, true] {
            let document = document(&Limits::default(), wants);
            assert_eq!(document.get("security").is_some(), wants);
            let search = &document["paths"]["/v1/indexes/{index}/search"]["post"];
            assert_eq!(search["responses"].get("401").is_some(), wants);
        }
    }
}
