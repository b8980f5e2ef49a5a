//! Every error is a problem with its place and a way on.

use serde_json::{Value, json};

use crate::fixture::Fixture;

const SEARCH: &str = "/v1/indexes/full/search";

#[test]
fn wrong_addresses() {
    let fixture = Fixture::new();
    let mut client = fixture.client();
    let detail = client.get("/v2/x").problem(404, "unknown-route");
    assert!(
        detail.contains("/v2/x") && detail.contains("openapi"),
        "{detail}"
    );
    let detail = client
        .get("/v1/indexes/none/search")
        .problem(404, "unknown-index");
    assert!(
        detail.contains("`none`") && detail.contains("bare, full, impacts"),
        "{detail}"
    );
    let answer = client.send("DELETE /v1 HTTP/1.1\r\nHost: localhost\r\n\r\n", b"");
    answer.problem(405, "method-not-allowed");
    assert_eq!(answer.header("allow"), Some("GET,HEAD"));
    client
        .get("/v1/indexes/%FF/search")
        .problem(400, "invalid-request");
    let detail = client
        .get("/v1/indexes/full/search?q=a&kk=1")
        .problem(400, "invalid-request");
    assert!(
        detail.starts_with("unknown parameter `kk`: this route takes "),
        "{detail}"
    );
    let detail = client.get("/v1?x=1").problem(400, "invalid-request");
    assert!(detail.ends_with("takes none"), "{detail}");
    let detail = client
        .get("/v1/indexes/full/search?k=1&k=2")
        .problem(400, "invalid-request");
    assert!(detail.contains("2 times"), "{detail}");
    for (name, value) in [
        ("k", "ten"),
        ("k", "-1"),
        ("mode", "xor"),
        ("formula", "bm26"),
        ("explain", "yes"),
        ("k1", "x"),
    ] {
        let answer = client.get(&format!("{SEARCH}?{name}={value}"));
        let detail = answer.problem(400, "invalid-request");
        assert!(detail.starts_with(&format!("{name}: ")), "{detail}");
    }
}

#[test]
fn wrong_bodies() {
    let fixture = Fixture::new();
    let mut client = fixture.client();
    for (body, place) in [
        ("{\"query\": \"flow\",\n \"kk\": 1}", "unknown field `kk`"),
        ("{\"query\": \"flow\",\n}", "line 2 column 1"),
        ("{\"query\": 1}", "expected a string at line 1 column 11"),
        ("{\"query\": \"flow\"} x", "line 1 column 19"),
        ("[]", "the body"),
        ("", "the body"),
        ("\"flow\"", "expected an object"),
        ("{\"filters\": [1]}", "a filter: \"field:value\""),
        (
            "{\"filters\": [{\"field\": \"a\"}]}",
            "missing field `value`",
        ),
        (
            "{\"filters\": [{\"field\": \"a\", \"value\": \"b\", \"x\": 1}]}",
            "unknown field `x`",
        ),
        ("{\"mode\": \"xor\"}", "`or`, `and`, `phrase`"),
        ("{\"k\": -1}", "line 1 column"),
    ] {
        let answer = client.post_text(SEARCH, "application/json", body.as_bytes());
        let detail = answer.problem(400, "invalid-request");
        assert!(
            detail.starts_with("the body") && detail.contains(place),
            "{body}: {detail}"
        );
    }
    let searches = br#"{"searches": [["flow"]]}"#;
    let answer = client.post_text("/v1/indexes/full/searches", "application/json", searches);
    answer.problem(400, "invalid-request");
    let deep = "[".repeat(100_000);
    let answer = client.post_text(SEARCH, "application/json", deep.as_bytes());
    answer.problem(400, "invalid-request");
    let invalid = client.post_text(SEARCH, "application/json", b"{\"query\": \"\xff\"}");
    invalid.problem(400, "invalid-request");
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/jsonx",
    ] {
        let answer = client.post_text(SEARCH, kind, b"{}");
        let detail = answer.problem(415, "unsupported-media-type");
        assert!(detail.contains(kind), "{detail}");
    }
    for kind in ["application/json; charset=utf-8", "application/vnd.x+json"] {
        assert_eq!(client.post_text(SEARCH, kind, b"{}").status, 200, "{kind}");
    }
    let both = client.post_text(&format!("{SEARCH}?k=1"), "application/json", b"{}");
    both.problem(400, "invalid-request");
}

#[test]
fn wrong_searches() {
    let fixture = Fixture::new();
    let mut client = fixture.client();
    let cases: [(&str, Value, &str, &str); 8] = [
        ("full", json!({ "k": 0 }), "invalid-request", "k is 0"),
        ("full", json!({ "k1": -1.0 }), "invalid-request", "k1"),
        ("full", json!({ "b": 2.0 }), "invalid-request", "b"),
        (
            "full",
            json!({ "filters": ["nofield:x"] }),
            "not-kept",
            "year, kind, tags",
        ),
        (
            "full",
            json!({ "filters": ["nocolon"] }),
            "invalid-request",
            "field:value",
        ),
        (
            "bare",
            json!({ "query": "\"boundary layer\"" }),
            "not-kept",
            "positions",
        ),
        ("bare", json!({ "text": true }), "not-kept", "texts"),
        (
            "full",
            json!({ "filters": [format!("kind:{}", "x".repeat(1025))] }),
            "invalid-request",
            "1024",
        ),
    ];
    let unknown = ["fields", "facets"].map(|member| {
        let body = json!({ (member): ["nofield"] });
        ("full", body, "not-kept", "`nofield`")
    });
    for (index, body, kind, place) in cases.into_iter().chain(unknown) {
        let answer = client.post(&format!("/v1/indexes/{index}/search"), &body);
        let detail = answer.problem(400, kind);
        assert!(detail.contains(place), "{body}: {detail}");
        assert!(!detail.contains("/tmp"), "{detail}");
    }
}
