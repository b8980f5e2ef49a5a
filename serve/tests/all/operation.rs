//! Health, metrics, ids of requests, the OpenAPI document, and checked settings.

use serde_json::{Value, json};
use tokapi_serve::{Options, Server, check};

use crate::fixture::Fixture;

#[test]
fn health_and_headers() {
    let fixture = Fixture::new();
    let mut client = fixture.client();
    assert_eq!(client.get("/live").text(), "live\n");
    assert_eq!(client.get("/ready").text(), "ready\n");
    let [first, second] = [client.get("/v1"), client.get("/v2")];
    assert_ne!(first.header("x-request-id"), second.header("x-request-id"));
    for answer in [first, second] {
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert!(answer.header("x-request-id").unwrap().len() > 16);
    }
    let given =
        |id: &str| format!("GET /v1 HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: {id}\r\n\r\n");
    let answer = client.send(&given("my-id"), b"");
    assert_eq!(answer.header("x-request-id"), Some("my-id"));
    let answer = client.send(&given("my id"), b"");
    assert_ne!(answer.header("x-request-id"), Some("my id"));
}

#[test]
fn metrics_count_requests() {
    let fixture = Fixture::new();
    let mut client = fixture.client();
    let body = json!({ "query": "flow" });
    for _ in 0..3 {
        client.post("/v1/indexes/full/search", &body);
    }
    client.get("/nowhere/at/all");
    let answer = client.get("/metrics");
    let text = answer.text();
    for line in [
        "tokapi_http_requests_total{route=\"/v1/indexes/{index}/search\",status=\"200\"} 3",
        "tokapi_http_requests_total{route=\"none\",status=\"404\"} 1",
        "tokapi_http_request_seconds_count{route=\"/v1/indexes/{index}/search\"} 3",
        "tokapi_http_connections 1",
        "tokapi_searches_by_cpu_total 1",
        "tokapi_cache_hits_total 2",
        "tokapi_cache_misses_total 1",
        "tokapi_searches_waiting 0",
        "tokapi_index_documents{index=\"full\"} 1400",
        "tokapi_index_epoch{index=\"full\"} 1",
        "tokapi_ready 1",
    ] {
        assert!(
            text.lines().any(|found| found == line),
            "{line} is missing:\n{text}"
        );
    }
    assert!(text.ends_with("# EOF\n"));
}

/// Calls `each` with every object of a value.
fn walk(value: &Value, each: &mut impl FnMut(&serde_json::Map<String, Value>)) {
    match value {
        Value::Object(object) => {
            each(object);
            object.values().for_each(|value| walk(value, each));
        }
        Value::Array(values) => values.iter().for_each(|value| walk(value, each)),
        _ => {}
    }
}

#[test]
fn the_openapi_document_describes_every_route() {
    let fixture = Fixture::new();
    let mut client = fixture.client();
    let document = client.get("/v1/openapi.json").json();
    assert!(document["openapi"].as_str().unwrap().starts_with("3."));
    let paths = document["paths"].as_object().unwrap();
    assert_eq!(paths.len(), 18);
    for (path, methods) in paths {
        for (method, operation) in methods.as_object().unwrap() {
            assert!(operation["summary"].is_string(), "{path}");
            let responses = &operation["responses"];
            assert!(responses["200"].is_object(), "{path}");
            let filled = path.replace("{index}", "full").replace("{id}", "17");
            let filled = filled.replace("{term}", "flow").replace("{field}", "year");
            let is_change = ["/merge", "/bulk", "/restore"]
                .iter()
                .any(|end| path.ends_with(end));
            let answer = match method.as_str() {
                // This server keeps none.
                "get" if path.starts_with("/v1/snapshots") => {
                    client.get(&filled).problem(403, "forbidden");
                    continue;
                }
                "get" => client.get(&filled),
                // Changes have tests of their own; this server takes none.
                "put" => {
                    let answer = client.put(&filled, &json!({ "text": "" }));
                    answer.problem(403, "forbidden");
                    continue;
                }
                "delete" => {
                    client.delete(&filled).problem(403, "forbidden");
                    continue;
                }
                _ if is_change => {
                    let answer = client.post_text(&filled, "application/x-ndjson", b"");
                    answer.problem(403, "forbidden");
                    continue;
                }
                _ => client.post(
                    &filled,
                    &match path.ends_with("searches") {
                        true => json!({ "searches": [] }),
                        false => json!({}),
                    },
                ),
            };
            assert_eq!(answer.status, 200, "{method} {path}: {}", answer.text());
        }
    }
    let schemas = document["components"]["schemas"].as_object().unwrap();
    for name in [
        "SearchRequest",
        "SearchAnswer",
        "Problem",
        "FilterRequest",
        "TermAnswer",
    ] {
        assert!(schemas.contains_key(name), "{name}");
    }
    assert_eq!(schemas["SearchRequest"]["additionalProperties"], false);
    // Every reference leads somewhere.
    walk(&document, &mut |object| {
        if let Some(Value::String(reference)) = object.get("$ref") {
            let place = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(place).is_some(), "{reference}");
        }
    });
}

#[test]
fn checked_settings_and_names() {
    let fixture = Fixture::new();
    let path = fixture.full.path().to_path_buf();
    let mut options = Options::default();
    options.indexes.insert("a".into(), path.clone());
    check(&options).unwrap();
    options.indexes.insert("_b".into(), path.clone());
    let error = check(&options).unwrap_err().to_string();
    assert!(error.contains("`_b` is not a name for an index"), "{error}");
    options.indexes = [("a".to_owned(), path.join("nothing"))].into();
    check(&options).unwrap_err();
    options.indexes = [("a".to_owned(), path)].into();
    options.listen = fixture.server().address();
    let error = Server::start(&options).err().unwrap().to_string();
    assert!(error.contains("--listen"), "{error}");
}
