//! Documents, terms, postings, statistics and values are those of the library.

use std::collections::HashMap;

use serde_json::{Value, json};
use tokapi::{Bm25, Formula, Query, SearchOptions};

use crate::client::encoded;
use crate::fixture::{Fixture, documents};
use crate::random::number;

#[test]
fn a_document_is_what_was_indexed() {
    let fixture = Fixture::new();
    let mut client = fixture.client();
    for (number, document) in documents().iter().enumerate().step_by(173) {
        let answer = client.get(&format!("/v1/indexes/full/documents/{}", document.id));
        let answer = answer.json();
        assert_eq!(answer["id"], document.id);
        assert_eq!(answer["text"], document.text);
        assert_eq!(answer["sequence"], number);
        assert_eq!(answer["fields"]["year"], 1940 + number % 25);
        assert_eq!(
            answer["length"],
            fixture.full.analyzer().terms(&document.text).count()
        );
    }
    let answer = client.get("/v1/indexes/full/documents/a%2Fb%20c");
    let detail = answer.problem(404, "unknown-document");
    assert!(detail.contains("`a/b c`"), "{detail}");
}

#[test]
fn a_vector_has_every_weight_of_a_document() {
    let fixture = Fixture::new();
    let mut client = fixture.client();
    let index = &fixture.full;
    let bm25 = Bm25::default().formula(Formula::Bm25Plus).k1(0.9);
    let url = "/v1/indexes/full/documents/17/vector?formula=bm25plus&k1=0.9";
    let answer = client.get(url).json();
    assert_eq!(answer["formula"], bm25.to_string());
    let document = &documents()[16];
    let mut tfs: HashMap<String, u64> = HashMap::new();
    for term in index.analyzer().terms(&document.text) {
        *tfs.entry(term).or_default() += 1;
    }
    let terms = answer["terms"].as_array().unwrap();
    assert_eq!(terms.len(), tfs.len());
    let options = SearchOptions::default().k(2000).bm25(bm25);
    for term in terms {
        let name = term["term"].as_str().unwrap();
        assert_eq!(term["tf"], tfs[name]);
        assert_eq!(term["df"], index.df(name).unwrap());
        // The score of a query of one term is its weight.
        let hits = index.search(&Query::any([name]), &options).unwrap();
        let hit = hits.iter().find(|hit| hit.document == 16).unwrap();
        assert_eq!(term["weight"], number(hit.score));
    }
    let detail = client
        .get("/v1/indexes/bare/documents/17/vector")
        .problem(400, "not-kept");
    assert!(detail.contains("texts"), "{detail}");
}

#[test]
fn terms_come_in_pages() {
    let fixture = Fixture::new();
    let mut client = fixture.client();
    let mut all: Vec<(String, u64)> = Vec::new();
    let push = |term: &[u8], df| all.push((String::from_utf8(term.to_vec()).unwrap(), df));
    fixture.full.each_term(push).unwrap();
    for prefix in ["", "a", "bound", "zzz"] {
        let expected: Vec<&(String, u64)> = all
            .iter()
            .filter(|(term, _)| term.starts_with(prefix))
            .collect();
        let (mut found, mut after) = (Vec::new(), String::new());
        loop {
            let url = format!("/v1/indexes/full/terms?prefix={prefix}&limit=997{after}");
            let page = client.get(&url).json();
            found.extend(page["terms"].as_array().unwrap().clone());
            match page.get("next") {
                Some(next) => after = format!("&after={}", encoded(next.as_str().unwrap())),
                None => break,
            }
        }
        let expected = expected.iter();
        let expected: Vec<Value> = expected
            .map(|(term, df)| json!({ "term": term, "df": df }))
            .collect();
        assert_eq!(found, expected, "{prefix}");
    }
}

#[test]
fn postings_come_in_pages() {
    let fixture = Fixture::new();
    let mut client = fixture.client();
    let index = &fixture.full;
    let query = Query::any(["flow"]);
    let documents = index.documents(&query).unwrap();
    let (mut found, mut after) = (Vec::new(), String::new());
    loop {
        let url = format!("/v1/indexes/full/terms/flow/postings?limit=100&formula=tfidf{after}");
        let page = client.get(&url).json();
        assert_eq!(page["df"], documents.len());
        found.extend(page["postings"].as_array().unwrap().clone());
        match page.get("next") {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    let options = SearchOptions::default().bm25(Bm25::default().formula(Formula::TfIdf));
    let expected = documents.iter().map(|&document| {
        let term = index
            .explain(&query, &options, document)
            .unwrap()
            .terms
            .remove(0);
        json!({ "id": index.id(document).unwrap(), "tf": term.tf, "weight": number(term.weight) })
    });
    assert_eq!(found, expected.collect::<Vec<_>>());
    client
        .get("/v1/indexes/full/terms/xyzzy/postings")
        .problem(404, "unknown-term");
}

#[test]
fn statistics_values_and_descriptions() {
    let fixture = Fixture::new();
    let mut client = fixture.client();
    let info = fixture.full.info();
    let statistics = client.get("/v1/indexes/full/statistics").json();
    assert_eq!(statistics["documents"], 1400);
    assert_eq!(statistics["total_length"], info.statistics.total_length);
    assert_eq!(
        statistics["average_length"],
        info.statistics.average_length()
    );
    assert_eq!(statistics["postings"], info.postings);
    assert_eq!(statistics["terms"], info.terms);
    let values = client
        .get("/v1/indexes/full/fields/tags/values?limit=2")
        .json();
    assert_eq!(values["distinct"], 3);
    assert_eq!(
        values["values"][0],
        json!({ "value": "tag1", "count": 350 })
    );
    assert_eq!(values["values"].as_array().unwrap().len(), 2);
    let detail = client
        .get("/v1/indexes/full/fields/no/values")
        .problem(400, "not-kept");
    assert!(detail.contains("year, kind, tags"), "{detail}");
    let server = client.get("/v1").json();
    assert_eq!(server["indexes"], json!(["bare", "full", "impacts"]));
    let full = client.get("/v1/indexes/full").json();
    assert_eq!(full["fields"], json!(["year", "kind", "tags"]));
    assert_eq!(
        (&full["keeps_text"], &full["keeps_positions"]),
        (&json!(true), &json!(true))
    );
    let indexes = client.get("/v1/indexes").json();
    assert_eq!(indexes["indexes"][1], full);
    assert!(indexes["indexes"][2]["impacts"].is_string());
    for query in ["boundary layer", "", "+flow -wing"] {
        let body = json!({ "query": query, "filters": ["kind:report"] });
        let by_body = client.post("/v1/indexes/full/count", &body).json();
        let url = format!(
            "/v1/indexes/full/count?q={}&filter=kind:report",
            encoded(query)
        );
        assert_eq!(by_body["count"], client.get(&url).json()["count"]);
        assert!(by_body["count"].as_u64().unwrap() > 10);
    }
}
