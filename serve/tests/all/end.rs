//! The end of a server: no request is lost.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;

use crate::client::Client;
use crate::fixture::Fixture;

#[test]
fn all_requests_are_answered_before_the_end() {
    let mut fixture = Fixture::with(|options| {
        (options.drain_delay_ms, options.cache_bytes) = (1000, 0);
    });
    let server = fixture.take();
    let (address, stopper) = (server.address(), server.stopper());
    let answered = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let body = json!({ "query": "boundary layer flow", "k": 20, "explain": true });
                let mut client = Client::new(address);
                loop {
                    let answer = client.post("/v1/indexes/full/search", &body);
                    assert_eq!(answer.status, 200);
                    answered.fetch_add(1, Ordering::Relaxed);
                    if answer.header("connection") == Some("close") {
                        break;
                    }
                }
            });
        }
        while answered.load(Ordering::Relaxed) < 50 {
            std::thread::sleep(Duration::from_millis(5));
        }
        stopper.stop();
        while !server.service().is_draining() {
            std::thread::sleep(Duration::from_millis(5));
        }
        // New connections are still answered, and told that this server ends.
        let ready = Client::new(address).get("/ready");
        ready.problem(503, "unavailable");
        assert_eq!(ready.header("connection"), Some("close"));
        server.wait().unwrap();
    });
    assert!(std::net::TcpStream::connect(address).is_err());
}

#[test]
fn an_accepted_search_is_answered_though_the_server_ends() {
    let mut fixture = Fixture::with(|options| (options.threads, options.cache_bytes) = (1, 0));
    let server = fixture.take();
    let mut client = Client::new(server.address());
    let slow = json!({ "query": "the of a and in", "k": 200, "explain": true, "text": true });
    let body = json!({ "searches": vec![slow; 20] }).to_string();
    client.write(
        format!(
            "POST /v1/indexes/full/searches HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .as_bytes(),
    );
    std::thread::sleep(Duration::from_millis(50));
    server.stopper().stop();
    let waiting = std::thread::spawn(|| server.wait());
    let answer = client.read().unwrap().json();
    let answers = answer["answers"].as_array().unwrap();
    assert_eq!(answers.len(), 20);
    assert!(answers.iter().all(|answer| answer["hits"].is_array()));
    waiting.join().unwrap().unwrap();
}
