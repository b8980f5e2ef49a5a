//! Nothing is ignored in silence: a member or parameter that is not known is an error with its name, wherever it stands.

use proptest::prelude::*;
use serde_json::{Map, json};

use super::*;

/// Requests with every member that has objects inside: the method, the path, and the lines of the body.
fn requests() -> Vec<(&'static str, &'static str, Vec<Value>)> {
    let queries = [
        json!({"match_all": {"boost": 1}}),
        json!({"match_none": {}}),
        json!({"match": {"content": {"query": "wing", "operator": "and", "fuzziness": "AUTO", "lenient": true}}}),
        json!({"multi_match": {"query": "wing", "fields": ["content"], "type": "phrase", "slop": 0}}),
        json!({"multi_match": {"query": "wing", "fields": ["content"], "tie_breaker": 0.5, "zero_terms_query": "all"}}),
        json!({"match_phrase": {"content": {"query": "boundary layer", "slop": 0}}}),
        json!({"term": {"year": {"value": 1959, "boost": 1}}}),
        json!({"terms": {"year": [1959, 1960], "boost": 2}}),
        json!({"ids": {"values": ["a", "b"]}}),
        json!({"exists": {"field": "_id"}}),
        json!({"constant_score": {"filter": {"term": {"year": 1959}}, "boost": 2}}),
        json!({"query_string": {"query": "+wing -flow", "default_field": "content"}}),
        json!({"simple_query_string": {"query": "wing flow", "fields": ["content"]}}),
        json!({"bool": {
            "must": [{"match": {"content": "wing"}}],
            "should": {"bool": {"should": [{"match": {"content": {"query": "flow"}}}]}},
            "filter": [{"bool": {"must_not": [{"term": {"year": {"value": 1}}}]}}],
            "must_not": {"ids": {"values": []}},
            "minimum_should_match": 0,
        }}),
    ];
    let shown = json!({
        "query": {"match": {"content": "wing"}},
        "from": 0,
        "size": 3,
        "sort": [{"_score": {"order": "desc"}}, {"_doc": "asc"}],
        "_source": {"includes": ["c*"], "excludes": ["year"]},
        "highlight": {"pre_tags": ["<b>"], "post_tags": ["</b>"], "fields": {"content": {"fragment_size": 40}}},
        "explain": true,
        "track_total_hits": true,
        "min_score": 0.0,
        "timeout": "5s",
    });
    let listed = json!({"highlight": {"encoder": "html", "fields": [{"content": {"number_of_fragments": 1}}]}});
    let mapping = json!({
        "dynamic": "strict",
        "date_detection": false,
        "_source": {"enabled": true},
        "dynamic_templates": [{"texts": {"match_mapping_type": "string", "mapping": {"type": "text", "fields":
            {"keyword": {"type": "keyword", "ignore_above": 10}}}}}],
        "properties": {
            "title": {"type": "text", "analyzer": "english", "similarity": "mine", "fields": {"raw": {"type": "keyword"}}},
            "at": {"properties": {"place": {"type": "keyword"}, "time": {"type": "date"}}},
            "vector": {"type": "dense_vector", "dims": 3},
            "raw": {"type": "object", "enabled": false},
        },
    });
    let settings = json!({"index": {"number_of_shards": 1, "similarity": {"mine": {"type": "BM25", "k1": 1.0, "b": 0.5}}}});
    let search = ("POST", "/books/_search");
    let mut requests: Vec<_> = queries
        .into_iter()
        .map(|query| json!({ "query": query }))
        .chain([shown, listed])
        .map(|body| (search.0, search.1, vec![body]))
        .collect();
    let query = json!({"query": {"term": {"year": {"value": 1959}}}});
    requests.extend([
        ("POST", "/books/_count", vec![query.clone()]),
        ("POST", "/books/_delete_by_query", vec![json!({"query": {"ids": {"values": []}}})]),
        ("POST", "/_msearch", vec![json!({"index": "books", "search_type": "dfs_query_then_fetch"}), query]),
        ("POST", "/_mget", vec![json!({"docs": [{"_index": "books", "_id": "a", "_source": {"includes": ["year"]}}]})]),
        ("POST", "/books/_bulk", vec![json!({"index": {"_id": "a"}}), json!({"content": "x"}), json!({"delete": {"_id": "x"}})]),
        ("PUT", "/new", vec![json!({"mappings": mapping, "settings": settings})]),
        ("PUT", "/books/_mapping", vec![json!({"properties": {"tag": {"type": "keyword"}, "o": {"properties": {}}}})]),
        ("PUT", "/books/_settings", vec![json!({"index": {"refresh_interval": "1s"}})]),
    ]);
    requests
}

/// The number of objects in a value.
fn objects(value: &Value) -> usize {
    match value {
        Value::Object(members) => 1 + members.values().map(objects).sum::<usize>(),
        Value::Array(items) => items.iter().map(objects).sum(),
        _ => 0,
    }
}

/// The object of a number, counted from 0; the number that is left if there are fewer.
fn object_at(value: &mut Value, number: usize) -> Result<&mut Map<String, Value>, usize> {
    match value {
        Value::Object(members) => match number.checked_sub(1) {
            None => Ok(members),
            Some(number) => first(members.values_mut(), number),
        },
        Value::Array(items) => first(items.iter_mut(), number),
        _ => Err(number),
    }
}

fn first<'a>(
    values: impl Iterator<Item = &'a mut Value>,
    mut number: usize,
) -> Result<&'a mut Map<String, Value>, usize> {
    for value in values {
        match object_at(value, number) {
            Ok(found) => return Ok(found),
            Err(left) => number = left,
        }
    }
    Err(number)
}

fn lines(body: &[Value]) -> String {
    body.iter().map(|line| format!("{line}\n")).collect()
}

/// Whether an answer is an error, of the request or of an item, whose text has `name`.
fn names(reply: &Reply, name: &str) -> bool {
    let json = reply.json();
    let parts = json["responses"].as_array();
    let failed = reply.status >= 400
        || json["errors"] == true
        || parts.is_some_and(|parts| parts.iter().any(|part| part.get("error").is_some()));
    failed && reply.text.contains(name)
}

#[test]
fn the_requests_are_known() {
    let client = Client::with_books();
    for (method, path, body) in requests() {
        let reply = client.send(method, path, &lines(&body));
        assert_eq!(reply.status, 200, "{path} {body:?}: {}", reply.text);
        assert!(!names(&reply, ""), "{path} {body:?}: {}", reply.text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(6) })]

    #[test]
    fn an_unknown_member_is_named_at_every_depth(
        name in "zz_[a-z]{1,8}",
        value in prop::sample::select(vec![json!(null), json!(1), json!("x"), json!(true), json!([]), json!({})]),
    ) {
        let client = Client::with_books();
        for (method, path, body) in requests() {
            for (at, line) in body.iter().enumerate() {
                // The document of a bulk request has any fields.
                let is_document = path.ends_with("_bulk") && at == 1;
                for number in 0..if is_document { 0 } else { objects(line) } {
                    let mut changed = body.clone();
                    let members = object_at(&mut changed[at], number).unwrap();
                    members.insert(name.clone(), value.clone());
                    let sent = lines(&changed);
                    let reply = client.send(method, path, &sent);
                    // Any name may be that of a field to mark: one that no document has is told.
                    let told = reply.warnings().iter().any(|told| told.contains(&name));
                    prop_assert!(names(&reply, &name) || told, "{path} {sent}: {} {}", reply.status, reply.text);
                }
            }
        }
    }
}

#[test]
fn an_unknown_parameter_is_named_on_every_route() {
    let client = Client::with_books();
    let head = "{\"index\": {\"_id\": \"x\"}}\n{}\n";
    for (method, path, body) in [
        ("GET", "/books", ""),
        ("PUT", "/new", "{}"),
        ("DELETE", "/books", ""),
        ("GET", "/_cluster/health", ""),
        ("GET", "/_cat/indices", ""),
        ("GET", "/books/_search", ""),
        ("POST", "/books/_msearch", "{}\n{}\n"),
        ("GET", "/books/_count", ""),
        ("GET", "/books/_mget", "{\"ids\": [\"a\"]}"),
        ("POST", "/_bulk", head),
        ("POST", "/books/_refresh", ""),
        ("POST", "/books/_flush", ""),
        ("POST", "/books/_forcemerge", ""),
        ("GET", "/books/_alias", ""),
        ("GET", "/books/_mapping", ""),
        ("PUT", "/books/_mapping", "{}"),
        ("GET", "/books/_settings", ""),
        ("PUT", "/books/_settings", "{}"),
        ("POST", "/books/_doc", "{}"),
        ("PUT", "/books/_doc/x", "{}"),
        ("GET", "/books/_doc/a", ""),
        ("DELETE", "/books/_doc/a", ""),
        ("PUT", "/books/_create/x", "{}"),
        ("GET", "/books/_source/a", ""),
        (
            "POST",
            "/books/_delete_by_query",
            "{\"query\": {\"match_all\": {}}}",
        ),
    ] {
        let reply = client.send(method, &format!("{path}?zz_unknown=1"), body);
        assert!(
            names(&reply, "zz_unknown"),
            "{method} {path}: {}",
            reply.text
        );
    }
    assert_eq!(client.send("GET", "/books/_count", "").json()["count"], 4);
}
