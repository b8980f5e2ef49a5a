//! Spans of requests, as a collector gets them.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread::JoinHandle;

use tokapi_serve::{Options, Server};

use crate::client::Client;
use crate::fixture::Fixture;

const TRACE: u128 = 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736;
const SPAN: u64 = 0x00f0_67aa_0ba9_02b7;

/// A collector that takes one request: its URL, and the head and the body of the request.
fn collector() -> (String, JoinHandle<(String, Vec<u8>)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1/traces", listener.local_addr().unwrap());
    let take = move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut bytes = Vec::new();
        let mut piece = [0; 4096];
        loop {
            let read = stream.read(&mut piece).unwrap();
            assert!(read > 0, "the request has no end");
            bytes.extend_from_slice(&piece[..read]);
            let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
                continue;
            };
            let head = String::from_utf8(bytes[..end].to_vec())
                .unwrap()
                .to_lowercase();
            let length = head.split("content-length: ").nth(1).unwrap();
            let length: usize = length.lines().next().unwrap().parse().unwrap();
            if bytes.len() == end + 4 + length {
                stream
                    .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                    .unwrap();
                return (head, bytes.split_off(end + 4));
            }
        }
    };
    (url, std::thread::spawn(take))
}

fn has(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[test]
fn a_collector_gets_the_spans_of_requests() {
    let (url, collected) = collector();
    let mut fixture = Fixture::with(|options| options.traces = Some(url));
    let server = fixture.take();
    let mut client = Client::new(server.address());
    let parent = format!("00-{TRACE:032x}-{SPAN:016x}-01");
    let headers = [("traceparent", &*parent), ("x-request-id", "my-request")];
    let search = "/v1/indexes/full/search?q=flow";
    assert_eq!(client.send_with("GET", search, &headers, b"").status, 200);
    // A parent that is not recorded.
    let parent = format!("00-{:032x}-{SPAN:016x}-00", TRACE + 1);
    let headers = [("traceparent", &*parent), ("x-request-id", "not-recorded")];
    client.send_with("GET", "/live", &headers, b"");
    // No parent.
    client.get("/v1/indexes/none");
    drop(client);
    server.stopper().stop();
    server.wait().unwrap();
    let (head, body) = collected.join().unwrap();
    assert!(head.starts_with("post /v1/traces http/1.1"), "{head}");
    assert!(
        head.contains("content-type: application/x-protobuf"),
        "{head}"
    );
    for part in [
        &TRACE.to_be_bytes()[..],
        &SPAN.to_be_bytes(),
        b"GET /v1/indexes/{index}/search",
        b"GET /v1/indexes/{index}",
        b"http.response.status_code",
        b"my-request",
        b"tokapi",
    ] {
        assert!(has(&body, part), "{} is missing", part.escape_ascii());
    }
    assert!(!has(&body, b"not-recorded"));
}

#[test]
fn a_collector_that_is_away_costs_no_request() {
    let fixture = Fixture::with(|options| {
        options.traces = Some("http://127.0.0.1:9/v1/traces".to_owned());
    });
    let mut client = fixture.client();
    for _ in 0..3 {
        assert_eq!(client.get("/v1/indexes/full/search?q=flow").status, 200);
    }
}

#[test]
fn a_wrong_url_is_told() {
    for url in [
        "https://127.0.0.1:4318/v1/traces",
        "127.0.0.1:4318",
        "http:///x",
        "",
    ] {
        let mut options = Options::default();
        options.listen.set_port(0);
        options.traces = Some(url.to_owned());
        let error = Server::start(&options).err().unwrap().to_string();
        assert!(
            error.starts_with("traces: ") && error.contains("no URL of http"),
            "{error}"
        );
    }
}
