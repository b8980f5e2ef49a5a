//! Pages behind each other are the whole ranking.

use serde_json::{Value, json};

use crate::fixture::Fixture;

#[test]
fn pages_add_up_to_the_ranking() {
    let fixture = Fixture::new();
    let mut client = fixture.client();
    for (query, filters) in [
        ("boundary layer flow", json!([])),
        // Equal scores of 0.
        ("", json!(["kind:report"])),
        ("wing", json!(["-year:1950"])),
    ] {
        let mut body = json!({ "query": query, "filters": filters, "k": 5000, "snippets": false });
        let all = client.post("/v1/indexes/full/search", &body).json();
        assert_eq!(all.get("next"), None);
        let all = all["hits"].as_array().unwrap().clone();
        assert!(all.len() > 100);
        // The last page may be full.
        for k in [7, 100, all.len() - 1, all.len()] {
            let mut paged: Vec<Value> = Vec::new();
            body["k"] = k.into();
            body["after"] = Value::Null;
            loop {
                let page = client.post("/v1/indexes/full/search", &body).json();
                let hits = page["hits"].as_array().unwrap();
                assert!((1..=k).contains(&hits.len()));
                paged.extend(hits.clone());
                match page.get("next") {
                    Some(next) => body["after"] = next.clone(),
                    None => break,
                }
            }
            assert_eq!(paged, all, "{query} {k}");
        }
    }
}

#[test]
fn a_place_that_is_none_is_refused() {
    let fixture = Fixture::new();
    let mut client = fixture.client();
    for after in ["x", "7fc00000-0", "00000000", ""] {
        let body = json!({ "query": "flow", "after": after });
        let answer = client.post("/v1/indexes/full/search", &body);
        let detail = answer.problem(400, "invalid-request");
        assert!(detail.starts_with("after: "), "{detail}");
    }
}
