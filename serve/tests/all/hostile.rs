//! Clients that mean harm: slow, malformed, nested, with paths in names. They are refused, and nobody else notices.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::json;
use tokapi_serve::options::{Scope, TokenSettings};

use crate::client::Client;
use crate::fixture::Fixture;

const SEARCH: &str = "/v1/indexes/full/search";

fn head(length: usize) -> String {
    format!(
        "POST {SEARCH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    )
}

/// Sends `start`, and then one byte after the other for as long as the server takes them; gives its answer. A server
/// whose time limit began anew with each byte would take all of them.
fn drip(address: SocketAddr, start: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(start.as_bytes()).unwrap();
    let every = Duration::from_millis(20);
    stream.set_read_timeout(Some(every)).unwrap();
    let mut answer = Vec::new();
    let mut piece = [0; 1024];
    for _ in 0..3000 {
        let read = stream
            .write_all(b"x")
            .and_then(|()| stream.read(&mut piece));
        match read {
            Ok(read) if read > 0 => answer.extend_from_slice(&piece[..read]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Ok(_) | Err(_) => return String::from_utf8(answer).unwrap(),
        }
    }
    panic!("the server takes one byte after the other");
}

#[test]
fn a_head_or_body_that_drips_is_cut_off() {
    let fixture = Fixture::with(|options| {
        options.limits.read_ms = 300;
        options.limits.connections = 4;
    });
    let address = fixture.server().address();
    let starts = [
        "GET /live HTTP/1.1\r\nHost: localhost\r\nX-Drip: ",
        &head(100_000),
    ];
    std::thread::scope(|scope| {
        // Twice as many as there are connections, and a client that waits for its turn.
        let drips: Vec<_> = (0..8)
            .map(|number| scope.spawn(move || (number % 2, drip(address, starts[number % 2]))))
            .collect();
        let answer = Client::new(address).post(SEARCH, &json!({ "query": "flow" }));
        assert_eq!(answer.status, 200);
        for drip in drips {
            let (which, answer) = drip.join().unwrap();
            match which {
                // A head has no answer, or 408.
                0 => assert!(answer.is_empty() || answer.contains(" 408 "), "{answer}"),
                _ => assert!(answer.contains("slow-request"), "{answer}"),
            }
        }
    });
}

#[test]
fn malformed_heads_are_refused() {
    let fixture = Fixture::new();
    let many = "X-A: b\r\n".repeat(1000);
    let long = "a".repeat(1 << 20);
    for (request, statuses) in [
        ("\r\n\r\n\r\nnonsense\r\n\r\n".to_owned(), &[400][..]),
        ("GET\r\n\r\n".to_owned(), &[400]),
        ("GET /live HTTP/9.9\r\n\r\n".to_owned(), &[400, 505]),
        (format!("GET /live HTTP/1.1\r\n{many}\r\n"), &[431]),
        (
            format!("GET /live HTTP/1.1\r\nX-Long: {long}\r\n\r\n"),
            &[431],
        ),
        (
            format!("GET /{long} HTTP/1.1\r\nHost: localhost\r\n\r\n"),
            &[414, 431],
        ),
        (
            "POST /live HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab".to_owned(),
            &[400],
        ),
        (
            "POST /live HTTP/1.1\r\nContent-Length: -1\r\n\r\n".to_owned(),
            &[400],
        ),
        (
            "POST /live HTTP/1.1\r\nTransfer-Encoding: chunked, identity\r\n\r\n".to_owned(),
            &[400],
        ),
        ("GET /live HTTP/1.1\r\nHo st: x\r\n\r\n".to_owned(), &[400]),
        ("GET /live HTTP/1.1\r\nX: a\0b\r\n\r\n".to_owned(), &[400]),
    ] {
        let mut stream = TcpStream::connect(fixture.server().address()).unwrap();
        // The server may close before all has been sent.
        let _ = stream.write_all(request.as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer);
        let status: Option<u16> = answer
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        let start = &request[..request.len().min(60)];
        // A reset may take the answer with it.
        assert!(
            status.is_none_or(|status| statuses.contains(&status)),
            "{start:?}: {answer}"
        );
    }
    assert_eq!(fixture.client().get("/live").status, 200);
}

#[test]
fn a_body_of_two_lengths_is_not_two_requests() {
    let fixture = Fixture::new();
    let mut client = fixture.client();
    let hidden = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let chunks = format!("{:x}\r\n{hidden}\r\n0\r\n\r\n", hidden.len());
    client.write(
        format!(
            "POST {SEARCH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}"
        )
        .as_bytes(),
    );
    let first = client.read().unwrap();
    assert_eq!(first.status, 400);
    assert!(client.read().is_none_or(|second| second.status == 400));
}

#[test]
fn deeply_nested_json_is_refused() {
    let fixture = Fixture::with(|options| options.write = true);
    let mut client = fixture.client();
    let depth = 100_000;
    let list = "[".repeat(depth);
    let object = "{\"a\":".repeat(depth);
    let whole = format!("{{\"query\":{}1{}}}", "[".repeat(depth), "]".repeat(depth));
    let must = "{\"bool\":{\"must\":".repeat(20_000);
    let query = format!("{{\"query\":{must}");
    for path in [
        SEARCH,
        "/v1/indexes/full/searches",
        "/v1/indexes/full/count",
        "/full/_search",
        "/full/_count",
        "/full/_mget",
    ] {
        for body in [&list, &object, &whole, &query] {
            let answer = client.post_text(path, "application/json", body.as_bytes());
            assert_eq!(answer.status, 400, "{path}: {}", answer.text());
        }
    }
    // A query that is valid but for its depth.
    let deep = 5000;
    let nested = format!(
        "{{\"query\":{}{{\"match_all\":{{}}}}{}}}",
        "{\"bool\":{\"must\":".repeat(deep),
        "}}".repeat(deep)
    );
    let answer = client.post_text("/full/_search", "application/json", nested.as_bytes());
    assert_eq!(answer.status, 400, "{}", answer.text());
    for (path, kind) in [
        ("/v1/indexes/full/bulk", "application/x-ndjson"),
        ("/full/_msearch", "application/x-ndjson"),
        ("/full/_bulk", "application/x-ndjson"),
    ] {
        let lines = format!("{object}\n{list}\n");
        assert!(lines.len() < 1 << 20, "the limit of bodies is another one");
        let answer = client.post_text(path, kind, lines.as_bytes());
        assert!(answer.status < 500, "{path}: {}", answer.status);
        assert!(!answer.text().contains("\"created\""), "{path}");
    }
    assert_eq!(client.get("/live").status, 200);
}

/// All files below a folder.
fn files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}

#[test]
fn names_are_no_paths() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), "the secret").unwrap();
    let data = outside.path().join("data");
    let fixture = Fixture::with(|options| {
        options.write = true;
        options.data = Some(data.clone());
    });
    let before = files(outside.path());
    let mut client = fixture.client();
    let place = outside.path().to_str().unwrap();
    let absolute = format!("{place}/new");
    for name in [
        "..",
        ".",
        "../new",
        "../../new",
        "data/../../new",
        "..\\new",
        ".hidden",
        "a/b",
        "a\0b",
        "-rf",
        "secret\n",
        "%2e%2e%2fnew",
        &absolute,
        &"x".repeat(10_000),
        "\u{202e}new",
    ] {
        let name = crate::client::encoded(name);
        let answers = [
            client.put(&format!("/v1/indexes/{name}"), &json!({})),
            client.delete(&format!("/v1/indexes/{name}")),
            client.get(&format!("/v1/indexes/{name}")),
            client.get(&format!("/v1/indexes/{name}/documents/{name}")),
            client.put(
                &format!("/v1/indexes/{name}/documents/a"),
                &json!({ "text": "a" }),
            ),
            client.put(&format!("/{name}"), &json!({})),
            client.put(&format!("/{name}/_doc/1"), &json!({ "text": "a" })),
            client.delete(&format!("/{name}")),
            client.get(&format!("/{name}")),
            client.get(&format!("/{name}.js")),
        ];
        for answer in answers {
            let text = answer.text();
            assert!(
                (400..500).contains(&answer.status),
                "{name}: {} {text}",
                answer.status
            );
            assert!(!text.contains("the secret"), "{name}: {text}");
            // Names are shown as they were given, and other paths are not shown.
            let shown = text.replace(&absolute, "");
            assert!(!shown.contains(place), "{name}: {text}");
        }
    }
    assert_eq!(files(outside.path()), before);
    // Paths that are not encoded, as a proxy or a browser would never send them.
    for path in [
        "/../secret",
        "/../../../../etc/passwd",
        "//etc/passwd",
        "/v1/indexes/../../secret",
        "/style.css/../../secret",
        "/%2e%2e/secret",
        "/..%5csecret",
    ] {
        let answer = client.get(path);
        assert!(
            (400..500).contains(&answer.status),
            "{path}: {}",
            answer.status
        );
    }
    // An id is only a name, whatever it looks like.
    let id = crate::client::encoded("../../../etc/passwd");
    let document = format!("/v1/indexes/full/documents/{id}");
    assert_eq!(client.put(&document, &json!({ "text": "a" })).status, 200);
    assert_eq!(client.get(&document).json()["id"], "../../../etc/passwd");
}

#[test]
fn tokens_are_compared_as_a_whole_and_taken_from_one_place() {
    let fixture = Fixture::with(|options| {
        options.tokens = vec![TokenSettings {
            name: "reader".to_owned(),
            // The hash of `read me`.
            sha256: "3f22095641508576e91dc7c6c7f7e08a093985d53ea998043c6619ad240dc92c".to_owned(),
            scopes: vec![Scope::Search],
            rate: None,
            burst: None,
        }];
    });
    let mut client = fixture.client();
    let long = "x".repeat(100_000);
    for token in [
        "read",
        "read me2",
        "READ ME",
        "read  me",
        "\"read me\"",
        "3f22095641508576e91dc7c6c7f7e08a093985d53ea998043c6619ad240dc92c",
        &long,
    ] {
        let bearer = format!("Bearer {token}");
        let headers = [("authorization", &*bearer)];
        let answer = client.send_with("GET", "/v1", &headers, b"");
        answer.problem(401, "unauthorized");
    }
    for (path, headers) in [
        ("/v1?token=read%20me", vec![]),
        ("/v1?access_token=read%20me", vec![]),
        ("/v1", vec![("cookie", "token=read me")]),
        ("/v1", vec![("x-api-key", "read me")]),
        ("/v1", vec![("authorization", "read me")]),
        ("/v1", vec![("authorization", "Basic read me")]),
        // The first one counts.
        (
            "/v1",
            vec![
                ("authorization", "Bearer x"),
                ("authorization", "Bearer read me"),
            ],
        ),
    ] {
        let answer = client.send_with("GET", path, &headers, b"");
        answer.problem(401, "unauthorized");
    }
    let headers = [("authorization", "Bearer read me")];
    assert_eq!(client.send_with("GET", "/v1", &headers, b"").status, 200);
}

#[test]
fn a_client_that_reads_nothing_does_not_keep_the_server_from_its_end() {
    let mut fixture = Fixture::with(|options| {
        options.drain_ms = 300;
        options.limits.answer_bytes = 1 << 30;
    });
    let server = fixture.take();
    // Requests whose answers fill the buffers of the connection, and a body that does not come.
    let mut deaf = TcpStream::connect(server.address()).unwrap();
    let body =
        json!({ "query": "the of a and in", "k": 1400, "text": true, "explain": true }).to_string();
    for _ in 0..4 {
        deaf.write_all((head(body.len()) + &body).as_bytes())
            .unwrap();
    }
    let mut slow = TcpStream::connect(server.address()).unwrap();
    slow.write_all(head(1000).as_bytes()).unwrap();
    let mut client = Client::new(server.address());
    assert_eq!(client.get("/live").status, 200);
    server.stopper().stop();
    server.wait().unwrap();
}
