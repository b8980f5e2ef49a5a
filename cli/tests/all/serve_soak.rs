//! A server under all kinds of requests for long: neither its memory nor its open files grow.
//!
//! `TOKAPI_SOAK=100` sends 10 million requests.
#![cfg(target_os = "linux")]

use std::process::Command;
use std::time::{Duration, Instant};

use crate::folder::{Folder, Random, TOKAPI, rounds};
use crate::server::{Connection, Server};

const REQUESTS: u64 = 100_000;
const CLIENTS: u64 = 4;
/// Documents that are put and deleted in turn.
const DOCUMENTS: u64 = 400;
const WORDS: u64 = 300;
const INDEX: &str = "/v1/indexes/soak";

/// The memory and the open files of a process.
#[derive(Debug, Clone, Copy)]
struct Held {
    resident_kb: u64,
    files: usize,
}

impl Held {
    fn by(server: &Server) -> Self {
        let process = format!("/proc/{}", server.child.id());
        let status = std::fs::read_to_string(format!("{process}/status")).unwrap();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let resident = resident.unwrap().split_whitespace().next().unwrap();
        Held {
            resident_kb: resident.parse().unwrap(),
            files: std::fs::read_dir(format!("{process}/fd")).unwrap().count(),
        }
    }
}

fn words(random: &mut Random, count: u64) -> String {
    let words = (0..count).map(|_| format!("w{}", random.below(WORDS)));
    words.collect::<Vec<_>>().join(" ")
}

/// Requests that are refused, with their statuses.
const WRONG: [(&str, &str, &str, u16); 7] = [
    ("POST", "/search", "{\"query\": ", 400),
    ("POST", "/search", "{\"quary\": \"w1\"}", 400),
    ("POST", "/search", "{\"query\": \"w1\", \"k\": 0}", 400),
    ("GET", "/documents/..%2F..%2Fetc%2Fpasswd", "", 404),
    ("GET", "/none", "", 404),
    ("PATCH", "/search", "", 405),
    ("PUT", "/documents/wrong", "{\"text\": 5}", 400),
];

struct Client<'a> {
    server: &'a Server,
    connection: Connection,
    random: Random,
}

impl Client<'_> {
    fn request(&mut self) {
        let random = &mut self.random;
        match random.below(1000) {
            0..3 => {
                let id = random.below(DOCUMENTS);
                let length = 1 + random.below(60);
                let body = format!("{{\"text\": \"{}\"}}", words(random, length));
                self.ask("PUT", &format!("/documents/d{id}"), &body, &[200]);
            }
            3 => {
                let id = random.below(DOCUMENTS);
                self.ask("DELETE", &format!("/documents/d{id}"), "", &[200, 404]);
            }
            4..24 => {
                let (method, path, body, status) = WRONG[random.below(WRONG.len() as u64) as usize];
                self.ask(method, path, body, &[status]);
            }
            24..27 => {
                // Not HTTP: the server says so and closes the connection.
                let hello = b"\x16\x03\x01 hello\r\n\r\n";
                self.connection.write(hello).unwrap();
                assert!(
                    self.connection
                        .read()
                        .is_ok_and(|(status, _)| status == 400)
                );
                self.reconnect();
            }
            27..33 => {
                // The client goes away in the middle of a request, or before the answer.
                let body = "{\"query\": \"w1 w2 w3\"}";
                let head = format!(
                    "POST {INDEX}/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                    body.len()
                );
                let end = 1 + random.below(head.len() as u64) as usize;
                self.connection.write(&head.as_bytes()[..end]).unwrap();
                self.reconnect();
            }
            33..43 => {
                let id = random.below(DOCUMENTS);
                self.ask("GET", &format!("/documents/d{id}"), "", &[200, 404]);
            }
            43..48 => self.ask("GET", "/terms?prefix=w1&limit=20", "", &[200]),
            48..53 => self.ask("GET", "/statistics", "", &[200]),
            53..63 => {
                let query = words(random, 2).replace(' ', "%20");
                self.ask("GET", &format!("/count?q={query}"), "", &[200]);
            }
            63..83 => {
                let query = words(random, 3);
                let body = format!(
                    "{{\"query\": \"{query}\", \"explain\": true, \"count\": true, \"text\": true}}"
                );
                self.ask("POST", "/search", &body, &[200]);
            }
            _ => {
                let length = 1 + random.below(3);
                let body = format!("{{\"query\": \"{}\"}}", words(random, length));
                self.ask("POST", "/search", &body, &[200]);
            }
        }
    }

    fn ask(&mut self, method: &str, path: &str, body: &str, statuses: &[u16]) {
        let sent = self
            .connection
            .send(method, &format!("{INDEX}{path}"), body);
        let (status, answer) = sent.unwrap();
        assert!(
            statuses.contains(&status),
            "{method} {path} {body}: {status} {answer}"
        );
    }

    fn reconnect(&mut self) {
        self.connection.close();
        self.connection = self.server.connect().unwrap();
    }
}

/// Sends requests from all clients, and waits until the server has closed their connections.
fn soak(server: &Server, requests: u64, seed: u64) -> Held {
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            scope.spawn(move || {
                let mut client = Client {
                    server,
                    connection: server.connect().unwrap(),
                    random: Random((seed + client) * 2 + 1),
                };
                (0..requests / CLIENTS).for_each(|_| client.request());
            });
        }
    });
    // Nothing changes any more: merges and connections come to their end.
    let mut held = Held::by(server);
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut same = 0;
    while same < 20 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(50));
        let now = Held::by(server);
        same = if now.files == held.files { same + 1 } else { 0 };
        held = now;
    }
    held
}

#[test]
fn memory_and_files_do_not_grow() {
    let folder = Folder::new();
    // A cache that is full after the first part.
    let options = ["--cache", "4MB", "--queue-ms", "0"];
    let server = Server::start(Command::new(TOKAPI), &folder, &options);
    let created = server.connect().unwrap().send("PUT", INDEX, "{}").unwrap();
    assert_eq!(created.0, 200, "{}", created.1);
    let requests = rounds(REQUESTS);
    let warm = soak(&server, requests / 5, 100);
    let started = Instant::now();
    let end = soak(&server, requests - requests / 5, 200);
    println!(
        "{requests} requests: after a fifth of them {warm:?}, at the end {end:?}; {:.0} a second",
        (requests - requests / 5) as f64 / started.elapsed().as_secs_f64()
    );
    // An index has a few files a part, and the number of its parts varies.
    assert!(end.files <= warm.files + 40, "{warm:?} {end:?}");
    // 16 bytes a request would add 160 MB to 10 million.
    let most = warm.resident_kb + warm.resident_kb / 4 + 16 * 1024;
    assert!(end.resident_kb <= most, "{warm:?} {end:?}");
}
