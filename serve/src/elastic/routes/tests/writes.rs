//! Indexes and documents that clients write.

use super::*;

#[test]
fn a_document_is_visible_when_it_is_answered() {
    let client = Client::new();
    let reply = client.send(
        "PUT",
        "/notes/_doc/1?refresh=wait_for",
        r#"{"title": "A wing", "day": "2020-01-01"}"#,
    );
    assert_eq!(
        (reply.status, &reply.json()["result"]),
        (201, &"created".into())
    );
    let reply = client.send("PUT", "/notes/_doc/1", r#"{"title": "A layer"}"#);
    assert_eq!(
        (reply.status, &reply.json()["result"]),
        (200, &"updated".into())
    );
    let reply = client.send("PUT", "/notes/_create/1", r#"{"title": "A layer"}"#);
    assert_eq!(reply.status, 409);
    assert_eq!(
        reply.json()["error"]["type"],
        "version_conflict_engine_exception"
    );
    let id = client
        .send("POST", "/notes/_doc", r#"{"title": "Heat"}"#)
        .json()["_id"]
        .clone();
    let found = client.send("GET", "/notes/_search?q=heat", "");
    assert_eq!(found.json()["hits"]["hits"][0]["_id"], id);
    assert_eq!(
        client.send("DELETE", "/notes/_doc/1", "").json()["result"],
        "deleted"
    );
    let reply = client.send("DELETE", "/notes/_doc/1", "");
    assert_eq!(
        (reply.status, &reply.json()["result"]),
        (404, &"not_found".into())
    );
    assert_eq!(client.send("GET", "/notes/_count", "").json()["count"], 1);
}

#[test]
fn a_bulk_request_has_an_answer_for_every_line() {
    let client = Client::with_books();
    let lines = [
        r#"{"create": {"_id": "a"}}"#,
        r#"{"content": "again"}"#,
        r#"{"index": {"_index": "new", "_id": "1"}}"#,
        r#"{"title": "New"}"#,
        r#"{"index": {"_id": "e"}}"#,
        r#"{"year": "no number"}"#,
        r#"{"delete": {"_id": "nothing"}}"#,
        r#"{"update": {"_id": "a"}}"#,
        r#"{"doc": {}}"#,
        r#"{"delete": {"_index": "none", "_id": "1"}}"#,
        "",
    ];
    let reply = client.send("PUT", "/books/_bulk", &lines.join("\n"));
    let json = reply.json();
    assert_eq!(json["errors"], true);
    let items = json["items"].as_array().unwrap();
    let status: Vec<_> = items
        .iter()
        .map(|item| item.as_object().unwrap().values().next().unwrap()["status"].clone())
        .collect();
    assert_eq!(status, [409, 201, 400, 404, 400, 404]);
    assert_eq!(
        items[0]["create"]["error"]["type"],
        "version_conflict_engine_exception"
    );
    assert_eq!(items[1]["index"]["_index"], "new");
    assert!(
        items[2]["index"]["error"]["reason"]
            .as_str()
            .unwrap()
            .contains("`no number`")
    );
    assert_eq!(items[3]["delete"]["result"], "not_found");
    assert_eq!(client.send("GET", "/books/_count", "").json()["count"], 4);
}

#[test]
fn documents_that_match_are_removed() {
    let client = Client::with_books();
    let query = r#"{"query": {"bool": {"filter": {"term": {"metadata.source": "y"}}}}}"#;
    let reply = client.send("POST", "/books/_delete_by_query?refresh=true", query);
    assert_eq!(reply.json()["deleted"], 2, "{}", reply.text);
    assert_eq!(client.search("{}").ids(), ["a", "d"]);
    let reply = client.send(
        "POST",
        "/books/_delete_by_query",
        r#"{"query": {"match_all": {}}}"#,
    );
    assert_eq!(reply.json()["deleted"], 2);
    assert_eq!(client.search("{}").ids(), [""; 0]);
}

#[test]
fn indexes_are_described_as_they_were_created() {
    let client = Client::new();
    // As the BM25 strategy of LangChain creates it.
    let body = r#"{"mappings": {"properties": {"text_field": {"type": "text", "similarity": "custom_bm25"}}},
        "settings": {"similarity": {"custom_bm25": {"type": "BM25", "k1": 2.0, "b": 0.5}}}}"#;
    let reply = client.send("PUT", "/chain", body);
    assert_eq!(reply.json()["acknowledged"], true, "{}", reply.text);
    let described = client.send("GET", "/chain", "").json();
    assert_eq!(
        described["chain"]["mappings"]["properties"]["text_field"]["type"],
        "text"
    );
    assert_eq!(
        described["chain"]["settings"]["index"]["similarity"]["custom_bm25"]["k1"],
        2.0
    );
    // As Haystack creates it.
    let body = r#"{"mappings": {"properties": {"embedding": {"type": "dense_vector", "index": true, "similarity": "cosine"},
        "content": {"type": "text"}}, "dynamic_templates": [{"strings": {"path_match": "*",
        "match_mapping_type": "string", "mapping": {"type": "keyword"}}}]}}"#;
    let reply = client.send("PUT", "/stack", body);
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert!(
        reply.warnings()[0].contains("dense_vector"),
        "{:?}",
        reply.warnings()
    );
    let described = client.send("GET", "/stack", "").json();
    let again = serde_json::json!({
        "mappings": described["stack"]["mappings"], "settings": described["stack"]["settings"],
    });
    assert_eq!(client.send("PUT", "/again", &again.to_string()).status, 200);
    let mappings =
        |name: &str| client.send("GET", &format!("/{name}/_mapping"), "").json()[name].clone();
    assert_eq!(mappings("again"), mappings("stack"));
    assert_eq!(client.send("HEAD", "/stack", "").status, 200);
    assert_eq!(client.send("HEAD", "/nothing", "").status, 404);
    let reply = client.send(
        "PUT",
        "/stack/_mapping",
        r#"{"properties": {"page": {"type": "long"}}}"#,
    );
    assert_eq!(reply.status, 200, "{}", reply.text);
    let reply = client.send(
        "PUT",
        "/stack/_mapping",
        r#"{"properties": {"page": {"type": "text"}}}"#,
    );
    assert!(reply.reason().contains("`page`"), "{}", reply.text);
    assert_eq!(
        mappings("stack")["mappings"]["properties"]["page"]["type"],
        "long"
    );
    assert_eq!(
        client.send("DELETE", "/stack", "").json()["acknowledged"],
        true
    );
    assert_eq!(client.send("DELETE", "/stack", "").status, 404);
    assert_eq!(
        client
            .send("DELETE", "/stack?ignore_unavailable=true", "")
            .status,
        200
    );
}

#[test]
fn the_cluster_and_its_lists() {
    let client = Client::with_books();
    assert_eq!(
        client
            .send("GET", "/_cluster/health?wait_for_status=yellow", "")
            .json()["status"],
        "green"
    );
    assert!(
        client
            .send("GET", "/_cat/indices?v=true", "")
            .text
            .starts_with("health status index")
    );
    let rows = client.send("GET", "/_cat/indices?format=json", "").json();
    assert_eq!(rows[0]["docs.count"], "4");
    assert_eq!(
        client.send("POST", "/books/_refresh", "").json()["_shards"]["failed"],
        0
    );
    assert_eq!(
        client.send("GET", "/_alias", "").json()["books"]["aliases"],
        serde_json::json!({})
    );
    assert_eq!(client.send("HEAD", "/_alias/x", "").status, 404);
    let waits = r#"{"index": {"refresh_interval": "-1"}}"#;
    assert_eq!(
        client.send("PUT", "/books/_settings", waits).json()["acknowledged"],
        true
    );
    let formula = r#"{"similarity": {"default": {"type": "BM25", "k1": 2}}}"#;
    let reply = client.send("PUT", "/books/_settings", formula);
    assert!(
        reply.reason().contains("cannot be changed"),
        "{}",
        reply.text
    );
    let merged = client.send("POST", "/books/_forcemerge?max_num_segments=1", "");
    assert!(merged.warnings()[0].contains("in the background"));
    assert_eq!(
        client
            .send("GET", "/_cluster/health?wait_for_nodes=3", "")
            .status,
        400
    );
    let settings = client.send("GET", "/books/_settings", "").json();
    assert_eq!(
        settings["books"]["settings"]["index"]["number_of_shards"],
        "1"
    );
}
