//! Tokens and their scopes.

use serde_json::json;
use tokapi_serve::options::{Scope, TokenSettings};

use crate::fixture::Fixture;

fn token(name: &str, sha256: &str, scope: Scope) -> TokenSettings {
    TokenSettings {
        name: name.to_owned(),
        sha256: sha256.to_owned(),
        scopes: vec![scope],
        rate: None,
        burst: None,
    }
}

#[test]
fn a_request_needs_a_token_with_its_scope() {
    // The hashes of `read me`, `change me` and `rule me`.
    let fixture = Fixture::with(|options| {
        options.write = true;
        options.tokens = vec![
            token("reader", READ, Scope::Search),
            token("writer", CHANGE, Scope::Write),
            token("operator", RULE, Scope::Admin),
        ];
    });
    let mut client = fixture.client();
    for path in ["/", "/live", "/ready", "/app.js"] {
        assert_eq!(client.get(path).status, 200, "{path}");
    }
    let body = json!({ "query": "flow" }).to_string();
    let search = "/v1/indexes/full/search";
    let mut ask = |method: &str, path: &str, authorization: &str| {
        let headers = [
            ("content-type", "application/json"),
            ("authorization", authorization),
        ];
        client.send_with(method, path, &headers, body.as_bytes())
    };
    for (authorization, part) in [
        ("", "requires a token"),
        ("Basic cmVhZCBtZQ==", "requires a token"),
        ("Bearer", "requires a token"),
        ("Bearer read you", "token is unknown"),
        ("Bearer ", "requires a token"),
    ] {
        let answer = ask("POST", search, authorization);
        assert!(
            answer.problem(401, "unauthorized").contains(part),
            "{authorization}"
        );
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
    }
    for scheme in ["Bearer", "bearer", "ApiKey"] {
        assert_eq!(
            ask("POST", search, &format!("{scheme} read me")).status,
            200
        );
    }
    let document = "/v1/indexes/full/documents/new";
    let detail = ask("PUT", document, "Bearer read me").problem(403, "forbidden");
    assert!(detail.contains("scope write"), "{detail}");
    ask("POST", search, "Bearer change me").problem(403, "forbidden");
    ask("GET", "/metrics", "Bearer read me").problem(403, "forbidden");
    assert_eq!(ask("GET", "/metrics", "Bearer rule me").status, 200);
    ask("DELETE", "/v1/indexes/full", "Bearer change me").problem(403, "forbidden");
    // It passes, and then the body has no text.
    ask("PUT", document, "Bearer change me").problem(400, "invalid-request");
    // Paths without a route are not told to strangers.
    ask("GET", "/nowhere/at/all", "").problem(401, "unauthorized");
    ask("POST", "/full/_search", "").problem(401, "unauthorized");
}

#[test]
fn a_token_has_a_rate() {
    let fixture = Fixture::with(|options| {
        let mut reader = token("reader", READ, Scope::Search);
        // One request in eleven days.
        (reader.rate, reader.burst) = (Some(1e-6), Some(2));
        let free = token("free", CHANGE, Scope::Search);
        options.tokens = vec![reader, free, token("operator", RULE, Scope::Admin)];
    });
    let mut client = fixture.client();
    let mut ask = |path: &str, token: &str| {
        let bearer = format!("Bearer {token}");
        client.send_with("GET", path, &[("authorization", &bearer)], b"")
    };
    let search = "/v1/indexes/full/search?q=flow";
    assert_eq!(ask(search, "read me").status, 200);
    // Requests without the scope count; those that need no token do not.
    ask("/metrics", "read me").problem(403, "forbidden");
    assert_eq!(ask("/live", "read me").status, 200);
    for _ in 0..3 {
        let answer = ask(search, "read me");
        let detail = answer.problem(429, "rate-exceeded");
        let seconds = answer.header("retry-after").unwrap();
        assert!(seconds.parse::<u64>().unwrap() > 900_000, "{seconds}");
        assert!(
            detail.ends_with(&format!("retry after {seconds} s")),
            "{detail}"
        );
    }
    for _ in 0..50 {
        assert_eq!(ask(search, "change me").status, 200);
    }
    ask(search, "nobody").problem(401, "unauthorized");
    let metrics = ask("/metrics", "rule me");
    let line = "tokapi_http_requests_over_rate_total{token=\"reader\"} 3";
    assert!(
        metrics.text().lines().any(|found| found == line),
        "{}",
        metrics.text()
    );
}

#[test]
fn a_server_without_tokens_has_a_rate() {
    let fixture = Fixture::with(|options| {
        (options.limits.rate, options.limits.burst) = (Some(1e-6), Some(3));
    });
    let mut client = fixture.client();
    for _ in 0..3 {
        assert_eq!(client.get("/v1").status, 200);
    }
    client.get("/v1").problem(429, "rate-exceeded");
    for path in ["/", "/live", "/app.js"] {
        assert_eq!(client.get(path).status, 200, "{path}");
    }
}

const READ: &str = "3f22095641508576e91dc7c6c7f7e08a093985d53ea998043c6619ad240dc92c";
const CHANGE: &str = "64ba009cceac4ab8b3c877ae1b6b010e8fc5a15ab567238e3a6107cd4dfe147d";
const RULE: &str = "d514ac99cdbf6611846f1d0a44e4ed12251ec6f3db6ca3f4c821808148c402a6";
