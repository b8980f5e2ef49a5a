//! Every limit refuses what is beyond it, and nothing else.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokapi_serve::model::SearchRequest;
use tokapi_serve::search::{Deadline, answer, plan};

use crate::client::{Answer, Client};
use crate::fixture::Fixture;

const SEARCH: &str = "/v1/indexes/full/search";

#[test]
fn a_body_of_the_limit_is_taken_and_no_larger_one() {
    let fixture = Fixture::with(|options| options.limits.body_bytes = 1000);
    let mut client = fixture.client();
    let body = |bytes: usize| {
        let body = json!({ "query": "flow" }).to_string();
        let spaces = " ".repeat(bytes - body.len());
        (body + &spaces).into_bytes()
    };
    assert_eq!(
        client
            .post_text(SEARCH, "application/json", &body(1000))
            .status,
        200
    );
    let answer = client.post_text(SEARCH, "application/json", &body(1001));
    assert!(answer.problem(413, "body-too-large").contains("1000 bytes"));
    // The length is not announced.
    let mut client = fixture.client();
    let head = format!(
        "POST {SEARCH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    let chunk = format!("190\r\n{}\r\n", " ".repeat(400));
    let answer = client.send(&(head + &chunk.repeat(3)), b"");
    answer.problem(413, "body-too-large");
}

#[test]
fn each_number_has_its_limit() {
    let fixture = Fixture::with(|options| {
        let limits = &mut options.limits;
        (limits.query_bytes, limits.query_terms, limits.k) = (50, 5, 20);
        (limits.batch, limits.page, limits.snippet_characters) = (2, 10, 300);
        (limits.facets, limits.longest_timeout_ms, limits.batch_k) = (1, 2000, 25);
        limits.timeout_ms = 1000;
    });
    let mut client = fixture.client();
    let filters = |count: usize| vec!["kind:report"; count];
    let cases: [(Value, Value); 8] = [
        (
            json!({ "query": "x".repeat(50) }),
            json!({ "query": "x".repeat(51) }),
        ),
        (
            json!({ "query": "a b c d e" }),
            json!({ "query": "a b c d e f" }),
        ),
        (
            json!({ "query": "\"a b\" c" }),
            json!({ "query": "\"a b c\"" }),
        ),
        (
            json!({ "filters": filters(5) }),
            json!({ "filters": filters(6) }),
        ),
        (json!({ "k": 20 }), json!({ "k": 21 })),
        (
            json!({ "snippet_characters": 300 }),
            json!({ "snippet_characters": 301 }),
        ),
        (
            json!({ "facets": ["kind"] }),
            json!({ "facets": ["kind", "year"] }),
        ),
        (json!({ "timeout_ms": 2000 }), json!({ "timeout_ms": 2001 })),
    ];
    for (within, beyond) in cases {
        let answer = client.post(SEARCH, &within);
        assert_eq!(answer.status, 200, "{within}: {}", answer.text());
        client.post(SEARCH, &beyond).problem(400, "limit-exceeded");
    }
    client
        .post(SEARCH, &json!({ "timeout_ms": 0 }))
        .problem(400, "limit-exceeded");
    let count = json!({ "query": "a b c d e f" });
    client
        .post("/v1/indexes/full/count", &count)
        .problem(400, "limit-exceeded");
    let searches = |count: usize| json!({ "searches": vec![json!({ "query": "flow" }); count] });
    assert_eq!(
        client
            .post("/v1/indexes/full/searches", &searches(2))
            .status,
        200
    );
    let answer = client.post("/v1/indexes/full/searches", &searches(3));
    answer.problem(400, "limit-exceeded");
    let searches = |k: usize| json!({ "searches": [{ "k": k }, { "k": 15 }] });
    let answer = client.post("/v1/indexes/full/searches", &searches(10));
    assert_eq!(answer.status, 200);
    let answer = client.post("/v1/indexes/full/searches", &searches(11));
    answer.problem(400, "limit-exceeded");
    for route in ["terms", "terms/flow/postings", "fields/year/values"] {
        let url = |limit: usize| format!("/v1/indexes/full/{route}?limit={limit}");
        assert_eq!(client.get(&url(10)).status, 200);
        client.get(&url(11)).problem(400, "limit-exceeded");
    }
}

#[test]
fn answers_have_a_size() {
    let fixture = Fixture::with(|options| options.limits.answer_bytes = 2000);
    let mut client = fixture.client();
    let many = "the of a and in flow boundary layer";
    let plain = |k: usize| json!({ "query": "flow", "k": k, "snippets": false, "fields": [] });
    let cases: [(Value, Value); 5] = [
        (plain(10), plain(100)),
        (
            json!({ "query": "flow", "k": 1, "fields": [] }),
            json!({ "query": "flow", "k": 20, "fields": [] }),
        ),
        (
            json!({ "query": "flow", "k": 10, "snippets": false }),
            json!({ "query": "flow", "k": 30, "snippets": false }),
        ),
        (
            json!({ "query": "flow", "k": 2, "snippets": false, "explain": true }),
            json!({ "query": many, "k": 10, "snippets": false, "explain": true }),
        ),
        (
            json!({ "query": "flow", "k": 2, "snippets": false }),
            json!({ "query": "flow", "k": 5, "snippets": false, "text": true }),
        ),
    ];
    let refused = |answer: Answer| {
        let detail = answer.problem(400, "limit-exceeded");
        assert!(
            detail.contains("larger than 2000 bytes") && detail.contains("ask for fewer"),
            "{detail}"
        );
    };
    for (within, beyond) in &cases {
        let answer = client.post(SEARCH, within);
        assert_eq!(answer.status, 200, "{within}: {}", answer.text());
        refused(client.post(SEARCH, beyond));
        // Also when one might have been kept.
        refused(client.post(SEARCH, beyond));
    }
    // All answers of a batch share the room; a single problem is an answer.
    let searches = |count: usize| json!({ "searches": vec![plain(10); count] });
    let batch = "/v1/indexes/full/searches";
    assert_eq!(client.post(batch, &searches(2)).status, 200);
    refused(client.post(batch, &searches(6)));
    let one = json!({ "searches": [plain(1), plain(100)] });
    let answers = client.post(batch, &one).json();
    assert!(answers["answers"][0]["hits"].is_array(), "{answers}");
    assert_eq!(answers["answers"][1]["status"], 400, "{answers}");
    let index = "/v1/indexes/full";
    let get = |client: &mut Client, path: &str| client.get(&format!("{index}/{path}"));
    assert_eq!(get(&mut client, "terms/flow/postings?limit=5").status, 200);
    refused(get(&mut client, "terms/flow/postings?limit=100"));
    assert_eq!(get(&mut client, "fields/year/values?limit=25").status, 200);
    refused(get(&mut client, "documents/17/vector"));
    refused(get(&mut client, "terms?limit=1000"));
    // Elasticsearch's interface.
    for (method, path, body, status) in [
        (
            "POST",
            "full/_search",
            json!({ "size": 1, "_source": false }),
            200,
        ),
        ("POST", "full/_search", json!({ "size": 50 }), 400),
        ("POST", "full/_mget", json!({ "ids": ["1"] }), 200),
        ("POST", "full/_mget", json!({ "ids": vec!["1"; 20] }), 400),
    ] {
        let kind = [("content-type", "application/json")];
        let body = body.to_string();
        let answer = client.send_with(method, &format!("/{path}"), &kind, body.as_bytes());
        assert_eq!(answer.status, status, "{path} {body}: {}", answer.text());
        let is_told = answer.text().contains("larger than 2000 bytes");
        assert_eq!(is_told, status == 400, "{path} {body}");
    }
    let one = "{}\n{\"size\": 10, \"_source\": false}\n";
    for (count, status) in [(1, 200), (4, 400)] {
        let body = one.repeat(count);
        let answer = client.post_text("/full/_msearch", "application/x-ndjson", body.as_bytes());
        assert_eq!(answer.status, status, "{count}: {}", answer.text());
    }
    let fixture = Fixture::with(|options| options.limits.answer_bytes = 700);
    let mut client = fixture.client();
    let facets =
        |field: &str| json!({ "query": "flow", "k": 1, "snippets": false, "facets": [field] });
    assert_eq!(client.post(SEARCH, &facets("kind")).status, 200);
    let refused = |answer: Answer| answer.problem(400, "limit-exceeded");
    refused(client.post(SEARCH, &facets("year")));
    refused(get(&mut client, "fields/year/values?limit=25"));
    refused(get(&mut client, "documents/17"));
    for path in ["/full/_doc/17", "/full/_source/17"] {
        let answer = client.get(path);
        assert!(
            answer.status == 400 && answer.text().contains("700 bytes"),
            "{path}"
        );
    }
}

#[test]
fn facets_have_the_most_frequent_values() {
    let fixture = Fixture::with(|options| options.limits.facet_values = 2);
    let body = json!({ "query": "flow", "k": 1, "facets": ["year", "kind"] });
    let answer = fixture.client().post(SEARCH, &body).json();
    for field in ["year", "kind"] {
        assert_eq!(answer["facets"][field].as_array().unwrap().len(), 2);
    }
}

#[test]
fn slow_clients_are_let_go() {
    let fixture = Fixture::with(|options| options.limits.read_ms = 200);
    let mut client = fixture.client();
    client.write(b"GET /v1 HTTP/1.1\r\nHost");
    if let Some(answer) = client.read() {
        assert_eq!(answer.status, 408);
    }
    let mut client = fixture.client();
    let head = format!(
        "POST {SEARCH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{{"
    );
    client.send(&head, b"").problem(408, "slow-request");
}

#[test]
fn a_full_queue_refuses_and_a_passed_deadline_is_told() {
    let fixture = Fixture::with(|options| {
        (options.queue, options.threads, options.cache_bytes) = (1, 1, 0);
        options.limits.answer_bytes = 1 << 30;
    });
    // Facets of all documents, and long snippets, keep the one thread busy.
    let slow = json!({ "searches": vec![json!({
        "query": "the of a and in flow boundary layer", "k": 1400, "explain": true, "text": true,
        "snippet_characters": 5000, "count": true, "facets": ["year"],
    }); 30]});
    let answer = fixture
        .client()
        .post("/v1/indexes/full/searches", &slow)
        .json();
    let answers = answer["answers"].as_array().unwrap();
    let refused: Vec<&Value> = answers
        .iter()
        .filter(|answer| answer["type"] == "urn:tokapi:problem:overloaded")
        .collect();
    let answered = answers
        .iter()
        .filter(|answer| answer["hits"].is_array())
        .count();
    assert_eq!(refused.len() + answered, 30);
    assert!(!refused.is_empty() && answered > 0, "{}", refused.len());
    assert_eq!(refused[0]["status"], 429);

    // The timeout of a search, and that of searches that name none.
    for (usual, body) in [
        (10_000, json!({ "query": "flow", "timeout_ms": 1 })),
        (1, json!({ "query": "flow" })),
    ] {
        let fixture = Fixture::with(|options| {
            (options.threads, options.cache_bytes) = (1, 0);
            options.limits.timeout_ms = usual;
            options.limits.answer_bytes = 1 << 30;
        });
        let address = fixture.server().address();
        let mut slow = slow.clone();
        let searches = slow["searches"].as_array_mut().unwrap();
        searches.truncate(2);
        for search in searches {
            search["timeout_ms"] = 60_000.into();
        }
        std::thread::scope(|scope| {
            let busy =
                scope.spawn(|| Client::new(address).post("/v1/indexes/full/searches", &slow));
            std::thread::sleep(Duration::from_millis(100));
            let late = Client::new(address).post(SEARCH, &body);
            let detail = late.problem(504, "timeout");
            assert!(detail.contains("1 ms"), "{detail}");
            assert_eq!(busy.join().unwrap().status, 200);
        });
    }
}

#[test]
fn a_refusal_says_when_to_retry() {
    let fixture = Fixture::with(|options| {
        (options.queue, options.threads, options.cache_bytes) = (0, 1, 0);
    });
    let answer = fixture.client().post(SEARCH, &json!({ "query": "flow" }));
    answer.problem(429, "overloaded");
    assert_eq!(answer.header("retry-after"), Some("1"));
}

#[test]
fn further_connections_wait() {
    let fixture = Fixture::with(|options| options.limits.connections = 2);
    let mut open = [fixture.client(), fixture.client()];
    for client in &mut open {
        assert_eq!(client.get("/live").status, 200);
    }
    let mut third = fixture.client();
    third.write(b"GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n");
    std::thread::sleep(Duration::from_millis(50));
    drop(open);
    assert_eq!(third.read().unwrap().status, 200);
}

#[test]
fn an_answer_that_is_too_late_is_not_made_to_its_end() {
    let fixture = Fixture::new();
    let service = fixture.server().service();
    let snapshot = service.catalog.snapshot("full").unwrap();
    let request = SearchRequest {
        query: "flow".to_owned(),
        ..SearchRequest::default()
    };
    let deadline = Deadline::after(&service.limits, Instant::now(), Some(1)).unwrap();
    let planned = plan(&service.limits, snapshot, request, deadline).unwrap();
    let search = &planned.search;
    let hits = search.index.search(&search.query, &search.options).unwrap();
    assert!(!hits.is_empty());
    while planned.deadline.check().is_ok() {}
    let late = answer(&planned, &hits);
    assert!(matches!(late, Err(tokapi::Error::Cancelled)), "{late:?}");
    // Without hits nothing is left to do.
    assert!(answer(&planned, &[]).is_ok());
}

#[test]
fn a_search_that_would_wait_too_long_is_refused_at_once() {
    let fixture = Fixture::with(|options| {
        (options.queue_ms, options.threads, options.cache_bytes) = (1, 1, 0);
    });
    let slow = json!({
        "query": "the of a and in flow boundary layer", "k": 1400, "explain": true, "text": true,
        "snippet_characters": 5000, "count": true, "facets": ["year"],
    });
    // The server knows then that such a search takes more than a millisecond.
    assert_eq!(fixture.client().post(SEARCH, &slow).status, 200);
    let body = slow.to_string();
    let request = format!(
        "POST {SEARCH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut clients: Vec<Client> = (0..40).map(|_| fixture.client()).collect();
    for client in &mut clients {
        client.write(request.as_bytes());
    }
    let answers: Vec<_> = clients
        .iter_mut()
        .map(|client| client.read().unwrap())
        .collect();
    let refused: Vec<_> = answers
        .iter()
        .filter(|answer| answer.status == 429)
        .collect();
    let answered = answers.iter().filter(|answer| answer.status == 200);
    assert_eq!(answered.count() + refused.len(), 40);
    // A few may always wait.
    assert!((1..=32).contains(&refused.len()), "{}", refused.len());
    assert_eq!(refused[0].header("retry-after"), Some("1"));
    assert!(
        refused[0]
            .problem(429, "overloaded")
            .contains("searches wait")
    );
    // One request with many searches does not fill the queue.
    let many = json!({ "searches": vec![slow; 12] });
    let answer = fixture.client().post("/v1/indexes/full/searches", &many);
    let answers = answer.json();
    let answers = answers["answers"].as_array().unwrap();
    let wrong = answers.iter().find(|answer| !answer["hits"].is_array());
    assert_eq!(wrong, None);
    let load = fixture.server().service().engine.load();
    assert_eq!(load.refused, refused.len() as u64);
}
