//! Searches and documents.

use super::*;

#[test]
fn a_search_has_the_shape_that_clients_read() {
    let client = Client::with_books();
    let body = r#"{"query": {"match": {"content": "wing"}}, "_source": ["year", "metadata.source"], "explain": true,
        "sort": ["_score", {"_doc": "asc"}], "highlight": {"fields": {"content": {}}}}"#;
    let reply = client.search(body);
    let json = reply.json();
    assert_eq!(json["timed_out"], false);
    assert_eq!(json["_shards"]["failed"], 0);
    assert_eq!(
        json["hits"]["total"],
        serde_json::json!({"value": 2, "relation": "eq"})
    );
    let mut ids = reply.ids();
    let first = &json["hits"]["hits"][0];
    assert_eq!(json["hits"]["max_score"], first["_score"]);
    assert_eq!(first["sort"][0], first["_score"]);
    assert_eq!(first["_index"], "books");
    assert_eq!(first["_explanation"]["value"], first["_score"]);
    let a = ids.iter().position(|id| id == "a").unwrap();
    let a = &json["hits"]["hits"][a];
    assert_eq!(
        a["_source"].to_string(),
        r#"{"metadata":{"source":"x"},"year":1959}"#
    );
    assert_eq!(
        a["highlight"]["content"][0],
        "<em>Wing</em> flow at the <em>wing</em>"
    );
    ids.sort();
    assert_eq!(ids, ["a", "d"]);
}

#[test]
fn pages_go_on_behind_the_last_hit() {
    let client = Client::with_books();
    for query in [
        r#"{"match": {"content": "wing boundary layer flow"}}"#,
        r#"{"match_all": {}}"#,
        r#"{"bool": {"must": [{"match": {"content": "wing boundary"}}, {"match": {"content": "at flow"}}]}}"#,
        r#"{"bool": {"filter": {"terms": {"year": [1959, 1961]}}, "should": {"match": {"content": "heat"}}}}"#,
    ] {
        let whole = format!(r#"{{"query": {query}, "sort": ["_score", "_doc"]}}"#);
        let all = client.search(&whole);
        let mut after = String::new();
        for expected in all.json()["hits"]["hits"].as_array().unwrap() {
            let body =
                format!(r#"{{"query": {query}, "sort": ["_score", "_doc"], "size": 1{after}}}"#);
            let page = client.search(&body).json();
            assert_eq!(page["hits"]["hits"][0], *expected, "{query}");
            assert_eq!(
                page["hits"]["total"],
                all.json()["hits"]["total"],
                "{query}"
            );
            after = format!(r#", "search_after": {}"#, expected["sort"]);
        }
        let end = format!(r#"{{"query": {query}, "sort": ["_score", "_doc"]{after}}}"#);
        assert_eq!(client.search(&end).ids(), [""; 0], "{query}");
        let from = format!(r#"{{"query": {query}, "from": 1, "size": 2}}"#);
        assert_eq!(
            client.search(&from).ids(),
            all.ids()[1..all.ids().len().min(3)],
            "{query}"
        );
    }
    let by_age = client.search(r#"{"sort": "_doc", "size": 2}"#);
    assert_eq!(by_age.ids(), ["a", "b"]);
    let last = by_age.json()["hits"]["hits"][1]["sort"].to_string();
    let next = format!(r#"{{"sort": "_doc", "search_after": {last}}}"#);
    assert_eq!(client.search(&next).ids(), ["c", "d"]);
}

#[test]
fn sets_of_documents() {
    let client = Client::with_books();
    for (query, expected) in [
        (r#"{"terms": {"year": [1960, 1961]}}"#, "b d"),
        (r#"{"term": {"metadata.source.keyword": "y"}}"#, "b c"),
        (
            r#"{"bool": {"must_not": {"match": {"content": "wing"}}}}"#,
            "b c",
        ),
        (
            r#"{"bool": {"must_not": {"terms": {"metadata.source": ["x", "y"]}}}}"#,
            "d",
        ),
        (r#"{"ids": {"values": ["c", "nothing", "a"]}}"#, "a c"),
        (
            r#"{"bool": {"filter": [{"ids": {"values": ["c", "a"]}}, {"match": {"content": "wing"}}]}}"#,
            "a",
        ),
        (
            r#"{"bool": {"filter": {"match_phrase": {"content": "boundary layer"}}}}"#,
            "b",
        ),
        (
            r#"{"bool": {"should": [{"match_phrase": {"content": "boundary layer"}}]}}"#,
            "b",
        ),
        (r#"{"query_string": {"query": "+layer -heat"}}"#, "b"),
        (r#"{"match_none": {}}"#, ""),
        (r#"{"match": {"nofield": "x"}}"#, ""),
    ] {
        let reply = client.search(&format!(r#"{{"query": {query}}}"#));
        let mut ids = reply.ids();
        ids.sort();
        assert_eq!(ids.join(" "), expected, "{query}");
        assert_eq!(reply.json()["hits"]["total"]["value"], ids.len(), "{query}");
        let counted = client.send("POST", "/books/_count", &format!(r#"{{"query": {query}}}"#));
        assert_eq!(counted.json()["count"], ids.len(), "{query}");
    }
}

#[test]
fn numbers_are_equal_by_value_and_to_the_last_digit() {
    let client = Client::new();
    let document =
        r#"{"price": 10.0, "id": 9007199254740993, "big": 18446744073709551615, "small": 1e-3}"#;
    assert_eq!(client.send("PUT", "/shop/_doc/1", document).status, 201);
    for (field, value, count) in [
        ("price", "10", 1),
        ("price", "10.0", 1),
        ("price", "\"1e1\"", 1),
        ("price", "10.5", 0),
        ("id", "9007199254740993", 1),
        ("id", "9007199254740992", 0),
        ("big", "18446744073709551615", 1),
        ("big", "18446744073709551614", 0),
        ("small", "0.001", 1),
    ] {
        let query = format!(r#"{{"query": {{"term": {{"{field}": {value}}}}}}}"#);
        let counted = client.send("POST", "/shop/_count", &query).json();
        assert_eq!(counted["count"], count, "{query}");
    }
}

#[test]
fn the_least_score_and_totals() {
    let client = Client::with_books();
    let all = client.search(r#"{"query": {"match": {"content": "wing"}}}"#);
    let best = all.json()["hits"]["max_score"].to_string();
    let body = format!(r#"{{"query": {{"match": {{"content": "wing"}}}}, "min_score": {best}}}"#);
    let reply = client.search(&body);
    assert_eq!(
        reply.json()["hits"]["total"],
        serde_json::json!({"value": 1, "relation": "eq"})
    );
    let reply = client.search(r#"{"track_total_hits": false}"#);
    assert!(reply.json()["hits"].get("total").is_none());
    let reply = client.send(
        "GET",
        "/books/_search?rest_total_hits_as_int=true&size=0&q=wing",
        "",
    );
    assert_eq!(reply.json()["hits"]["total"], 2);
    assert_eq!(reply.ids(), [""; 0]);
    let reply = client.send(
        "GET",
        "/books/_search?filter_path=hits.hits._id,took&size=1",
        "",
    );
    assert_eq!(
        reply.json()["hits"],
        serde_json::json!({"hits": [{"_id": "a"}]})
    );
}

#[test]
fn several_searches() {
    let client = Client::with_books();
    let lines = [
        r#"{"index": "books", "search_type": "dfs_query_then_fetch"}"#,
        r#"{"query": {"multi_match": {"query": "heat", "type": "best_fields", "fields": ["content"], "tie_breaker": 0.5}}, "_source": false, "size": 3}"#,
        r#"{"index": "nothing"}"#,
        "{}",
        r#"{"index": ["books"]}"#,
        r#"{"aggs": {}}"#,
        "",
    ];
    let reply = client.send("GET", "/_msearch", &lines.join("\n"));
    let json = reply.json();
    let responses = json["responses"].as_array().unwrap();
    assert_eq!(responses[0]["hits"]["hits"][0]["_id"], "c");
    assert!(responses[0]["hits"]["hits"][0].get("_source").is_none());
    assert_eq!(responses[0]["status"], 200);
    assert_eq!(responses[1]["status"], 404);
    assert_eq!(responses[1]["error"]["type"], "index_not_found_exception");
    assert_eq!(responses[2]["status"], 400);
    let empty_head = client.send("POST", "/books/_msearch", "\n{\"size\": 1}\n{}\n{}\n");
    assert_eq!(
        empty_head.json()["responses"].as_array().unwrap().len(),
        2,
        "{}",
        empty_head.text
    );
}

#[test]
fn documents_by_id() {
    let client = Client::with_books();
    let reply = client.send("GET", "/books/_doc/a?_source_includes=year", "");
    assert_eq!(reply.json()["found"], true);
    assert_eq!(reply.json()["_source"].to_string(), r#"{"year":1959}"#);
    assert_eq!(
        client.send("GET", "/books/_source/d", "").text,
        r#"{"content": "Wing", "year": 1961}"#
    );
    let missing = client.send("GET", "/books/_doc/nothing", "");
    assert_eq!(
        (missing.status, &missing.json()["found"]),
        (404, &false.into())
    );
    assert_eq!(client.send("HEAD", "/books/_doc/a", "").status, 200);
    assert_eq!(client.send("HEAD", "/books/_doc/nothing", "").status, 404);
    let body = r#"{"docs": [{"_id": "a", "_source": false}, {"_index": "nothing", "_id": "b"}, {"_id": "x"}]}"#;
    let json = client.send("POST", "/books/_mget", body).json();
    assert_eq!(json["docs"][0]["found"], true);
    assert_eq!(
        json["docs"][1]["error"]["type"],
        "index_not_found_exception"
    );
    assert_eq!(json["docs"][2]["found"], false);
    assert_eq!(
        client
            .send("GET", "/books/_mget", r#"{"ids": ["a", "b"]}"#)
            .json()["docs"][1]["_id"],
        "b"
    );
}

#[test]
fn answers_have_the_form_that_was_asked_for() {
    let client = Client::with_books();
    let accept = [(
        "accept",
        "application/vnd.elasticsearch+json; compatible-with=9",
    )];
    let reply = client.send_with("GET", "/books/_search", "", &accept);
    assert_eq!(
        reply.headers["content-type"],
        "application/vnd.elasticsearch+json;compatible-with=9"
    );
    assert_eq!(reply.headers["x-elastic-product"], "Elasticsearch");
    let reply = client.send(
        "POST",
        "/books/_search",
        r#"{"query": {"multi_match": {"query": "a", "fuzziness": "AUTO"}}}"#,
    );
    assert_eq!(reply.headers["content-type"], "application/json");
    assert!(
        reply
            .warnings()
            .iter()
            .any(|warning| warning.starts_with("299 Tokapi-")),
        "{:?}",
        reply.warnings()
    );
    let kind = [("content-type", "text/xml")];
    assert_eq!(
        client
            .send_with("POST", "/books/_search", "{}", &kind)
            .status,
        406
    );
}

#[test]
fn faults_have_names() {
    let client = Client::with_books();
    for (method, path, body, status, part) in [
        (
            "POST",
            "/nothing/_search",
            "{}",
            404,
            "no such index [nothing]",
        ),
        ("POST", "/books/_search?scroll=1m", "{}", 400, "`scroll`"),
        (
            "POST",
            "/books/_search",
            r#"{"query": {"range": {}}}"#,
            400,
            "[range]",
        ),
        (
            "POST",
            "/books/_search",
            r#"{"size": 10, "size": 2}"#,
            400,
            "given twice",
        ),
        ("POST", "/books/_count", r#"{"size": 10}"#, 400, "[size]"),
        ("POST", "/books/_msearch", "", 400, "no requests added"),
        ("GET", "/books/_doc/a?routing=x", "", 400, "`routing`"),
        ("POST", "/books/_mget", "{}", 400, "0 documents"),
        ("DELETE", "/*", "", 400, "name the indexes to delete"),
        ("PUT", "/Books", "", 400, "Invalid index name [Books]"),
        ("PUT", "/books", "", 400, "already exists"),
        (
            "POST",
            "/books/_delete_by_query",
            "{}",
            400,
            "query is missing",
        ),
    ] {
        let reply = client.send(method, path, body);
        assert_eq!(reply.status, status, "{path} {body}: {}", reply.text);
        assert!(
            reply.reason().contains(part),
            "{path} {body}: {}",
            reply.text
        );
    }
}

#[test]
fn paths_without_a_route() {
    let of = |path: &str| {
        let request = Request::builder().uri(path).body(Body::empty()).unwrap();
        super::super::unknown(&request).map(|response| response.status().as_u16())
    };
    assert_eq!(of("/_sql"), Some(400));
    assert_eq!(of("/books/_update/1"), Some(400));
    assert_eq!(of("/_search/scroll"), Some(400));
    assert_eq!(of("/nothing/here"), None);
    assert_eq!(of("/"), None);
    let (elastic, _folder) = elastic();
    let root = super::super::root(&elastic);
    assert_eq!(root.headers()["x-elastic-product"], "Elasticsearch");
}
