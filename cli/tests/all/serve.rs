//! `tokapi serve`: started, asked and ended as users do it.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::folder::{Folder, TOKAPI, json as printed_json, one_line, printed};
use crate::heed_signals;

const DOCUMENTS: &str = "\
{\"id\": \"1\", \"contents\": \"the boundary layer of a wing\", \"lang\": \"en\"}
{\"id\": \"2\", \"contents\": \"die Grenzschicht\", \"lang\": \"de\"}
{\"id\": \"3\", \"contents\": \"supersonic flow over a wing\", \"lang\": \"en\"}
";

/// A folder with the documents `docs.jsonl`, and an index of them.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.put("docs.jsonl", DOCUMENTS);
    let build = "index docs.jsonl -o index --store --positions --field lang";
    printed(&folder, &build.split(' ').collect::<Vec<_>>());
    folder
}

/// `tokapi serve` in the folder, with temporary files in `out`, and without a delay at its end.
fn serve(folder: &Folder, args: &str) -> Command {
    let mut command = Command::new(TOKAPI);
    command.arg("serve").args(args.split_whitespace());
    command.current_dir(folder.0.path());
    command.env("TMPDIR", folder.path("out"));
    command.env("TOKAPI_SERVE_DRAIN_DELAY_MS", "0");
    command.stdin(Stdio::null());
    command
}

/// A server that runs; it is killed when dropped.
struct Server {
    child: Child,
    log: BufReader<ChildStderr>,
    address: String,
}

impl Server {
    fn start(mut command: Command) -> Self {
        heed_signals();
        command.args(["--listen", "127.0.0.1:0"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let log = BufReader::new(child.stderr.take().unwrap());
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut server = Server {
            child,
            log,
            address: String::new(),
        };
        let mut url = String::new();
        out.read_line(&mut url).unwrap();
        let address = url.strip_prefix("http://");
        let address = address.or(url.strip_prefix("https://"));
        let address = address.and_then(|rest| rest.strip_suffix("/\n"));
        match address {
            Some(address) => server.address = address.to_owned(),
            None => panic!("no URL: {url:?}, {}", server.rest_of_log()),
        }
        server
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.address).unwrap()
    }

    fn get(&self, path: &str) -> (u16, String) {
        let mut stream = self.connect();
        let accept = "Accept: text/html, */*";
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: localhost\r\n{accept}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        answer(&mut stream)
    }

    fn json(&self, path: &str) -> Value {
        let (status, body) = self.get(path);
        assert_eq!(status, 200, "{body}");
        serde_json::from_str(&body).unwrap()
    }

    fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).unwrap();
        kill(Pid::from_raw(id), signal).unwrap();
    }

    /// Reads the log up to the line with `part`.
    fn log_until(&mut self, part: &str) {
        let mut line = String::new();
        while !line.contains(part) {
            line.clear();
            let bytes = self.log.read_line(&mut line).unwrap();
            assert!(bytes > 0, "the log has no line with {part}");
        }
    }

    fn rest_of_log(&mut self) -> String {
        let mut log = String::new();
        self.log.read_to_string(&mut log).unwrap();
        log
    }

    fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    /// Ends it by SIGTERM. Gives its status, and the rest of its log.
    fn end(mut self) -> (ExitStatus, String) {
        self.signal(Signal::SIGTERM);
        let log = self.rest_of_log();
        (self.wait(), log)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads an answer to the end of its connection: the status and the body.
fn answer(stream: &mut TcpStream) -> (u16, String) {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, body.to_owned())
}

fn ids(answer: &Value) -> Vec<&str> {
    let hits = answer["hits"].as_array().unwrap().iter();
    hits.map(|hit| hit["id"].as_str().unwrap()).collect()
}

/// Runs a server that must not start: one line of error with all `parts`.
#[track_caller]
fn refused(folder: &Folder, args: &str, status: i32, parts: &[&str]) {
    let run = serve(folder, args).output().unwrap();
    one_line(&run, status, parts);
    assert_eq!(run.stdout, b"", "{args}");
    assert_eq!(folder.written(), [""; 0], "{args}");
}

#[test]
fn an_index_is_served_until_a_signal() {
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let folder = folder();
        let mut server = Server::start(serve(&folder, "index"));
        assert_eq!(server.get("/live"), (200, "live\n".into()));
        assert_eq!(server.get("/ready"), (200, "ready\n".into()));
        assert!(server.get("/").1.contains("<html"));
        let found = server.json("/v1/indexes/index/search?q=wing");
        let same = printed_json(&folder, &["search", "index", "wing", "--json"]);
        assert_eq!(ids(&found), ids(&same));
        assert_eq!(ids(&found), ["3", "1"]);
        server.signal(signal);
        assert_eq!(server.wait().code(), Some(0), "{signal}");
        let log = server.rest_of_log();
        assert!(log.contains("all requests were answered"), "{log}");
    }
}

/// Puts a certificate of this machine and its key into the folder.
fn put_certificate(folder: &Folder) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    folder.put("tls.pem", made.cert.pem());
    folder.put("tls.key", made.signing_key.serialize_pem());
}

#[test]
fn sighup_reads_the_certificate_again() {
    let folder = folder();
    put_certificate(&folder);
    let args = "index --tls-certificate tls.pem --tls-key tls.key";
    let run = serve(&folder, &format!("{args} --check")).output().unwrap();
    assert!(run.status.success(), "{run:?}");
    let mut command = serve(&folder, args);
    // Only at the signal.
    command.env("TOKAPI_SERVE_TLS_RELOAD_MS", "3600000");
    let mut server = Server::start(command);
    // Without TLS it is told so.
    let (status, answer) = server.get("/live");
    assert!(status == 400 && answer.contains("https://"), "{answer}");
    folder.put("tls.pem", "nothing");
    server.signal(Signal::SIGHUP);
    server.log_until("the new certificate is not used");
    put_certificate(&folder);
    server.signal(Signal::SIGHUP);
    server.log_until("the certificate was read again");
    let (status, log) = server.end();
    assert_eq!(status.code(), Some(0));
    assert!(log.contains("all requests were answered"), "{log}");
}

#[test]
fn a_private_key_that_all_can_read_is_a_warning() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder();
    put_certificate(&folder);
    for (mode, warns) in [(0o604, true), (0o640, false)] {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(folder.path("tls.key"), permissions).unwrap();
        let mut command = serve(&folder, "index");
        command.env("TOKAPI_SERVE_TLS_CERTIFICATE", "tls.pem");
        command.env("TOKAPI_SERVE_TLS_KEY", "tls.key");
        let (_, log) = Server::start(command).end();
        assert_eq!(log.contains("can read the private key"), warns, "{log}");
    }
}

#[test]
fn a_request_under_way_is_answered_after_sigterm() {
    let folder = folder();
    let mut server = Server::start(serve(&folder, "index"));
    let body = json!({ "query": "wing" }).to_string();
    let mut stream = server.connect();
    let head = format!(
        "POST /v1/indexes/index/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nExpect: 100-continue\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    // The server has the head of the request, and asks for its body.
    let mut go_on = [0; 25];
    stream.read_exact(&mut go_on).unwrap();
    assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
    server.signal(Signal::SIGTERM);
    server.log_until("shutting down");
    stream.write_all(body.as_bytes()).unwrap();
    let (status, body) = answer(&mut stream);
    assert_eq!(status, 200, "{body}");
    assert_eq!(ids(&serde_json::from_str(&body).unwrap()), ["3", "1"]);
    server.log_until("all requests were answered");
    assert_eq!(server.wait().code(), Some(0));
}

#[test]
fn documents_in_place_of_an_index() {
    let folder = folder();
    let args = "docs.jsonl --field lang --stemmer english";
    let server = Server::start(serve(&folder, args));
    assert_eq!(folder.written().len(), 1);
    let found = server.json("/v1/indexes/docs/search?q=wings&filter=lang:en&facet=lang");
    assert_eq!(ids(&found), ["3", "1"]);
    assert!(found["hits"][0]["snippet"].is_string());
    assert_eq!(found["facets"]["lang"][0]["count"], 2);
    let (status, log) = server.end();
    assert_eq!(status.code(), Some(0));
    assert!(log.contains("a temporary index of 3 documents"), "{log}");
    assert_eq!(folder.written(), [""; 0]);
}

#[test]
fn indexes_have_names() {
    let folder = folder();
    let server = Server::start(serve(&folder, "index news=index docs.jsonl old=docs.jsonl"));
    let names = &server.json("/v1")["indexes"];
    assert_eq!(*names, json!(["docs", "index", "news", "old"]));
    assert_eq!(server.get("/v1/indexes/nothing").0, 404);
    assert_eq!(server.end().0.code(), Some(0));
    assert_eq!(folder.written(), [""; 0]);
}

#[test]
fn flags_come_before_the_environment_and_that_before_the_file() {
    let folder = folder();
    let text = "listen = '127.0.0.1:7'\nlog = 'json'\n[indexes]\nfiled = 'index'\n[limits]\nk = 20\nbatch = 1\n";
    folder.put("serve.toml", text);
    let mut command = serve(&folder, "named=index --config serve.toml --log text");
    command.env("TOKAPI_SERVE_LIMITS_K", "30");
    command.env("TOKAPI_SERVE_ACCESS_LOG", "true");
    let server = Server::start(command);
    let names = &server.json("/v1")["indexes"];
    assert_eq!(*names, json!(["filed", "named"]));
    assert_eq!(server.get("/v1/indexes/filed/search?k=30").0, 200);
    assert_eq!(server.get("/v1/indexes/filed/search?k=31").0, 400);
    let (status, log) = server.end();
    assert_eq!(status.code(), Some(0));
    assert!(log.contains(" INFO request "), "{log}");
    assert!(log.contains("/v1/indexes/{index}/search"), "{log}");
}

#[test]
fn log_lines_name_the_trace_of_the_client() {
    let folder = folder();
    let server = Server::start(serve(&folder, "index --access-log"));
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let mut stream = server.connect();
    let head = format!(
        "GET /live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\ntraceparent: 00-{trace}-00f067aa0ba902b7-01\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    assert_eq!(answer(&mut stream).0, 200);
    server.get("/ready");
    let (_, log) = server.end();
    let line = |route: &str| log.lines().find(|line| line.contains(route)).unwrap();
    assert!(
        line("/live").contains(&format!("trace=\"{trace}\"")),
        "{log}"
    );
    assert!(!line("/ready").contains("trace="), "{log}");
    // This build sends no spans; the environment may name a collector for other programs.
    if !cfg!(feature = "otel") {
        folder.put(
            "traces.toml",
            "traces = 'http://127.0.0.1:4318/v1/traces'\n",
        );
        let parts = ["traces: ", "--features otel"];
        refused(&folder, "index --config traces.toml", 2, &parts);
        let mut command = serve(&folder, "index --check");
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");
        assert!(command.output().unwrap().status.success());
    }
}

#[test]
fn settings_are_checked_without_a_server() {
    let folder = folder();
    folder.put("serve.toml", "[indexes]\nnews = 'index'\n");
    for args in ["index docs.jsonl --check", "--config serve.toml --check"] {
        let run = serve(&folder, args).output().unwrap();
        assert!(run.status.success(), "{run:?}");
        let said = "the settings are valid, and the indexes can be opened\n";
        assert_eq!(String::from_utf8_lossy(&run.stdout), said);
        assert_eq!(folder.written(), [""; 0]);
    }
    // The address is not taken.
    let busy = TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = format!("index --check --listen {}", busy.local_addr().unwrap());
    assert!(serve(&folder, &listen).output().unwrap().status.success());
    refused(&folder, "_a=docs.jsonl --check", 2, &["`_a` is not a name"]);
    for (file, part) in [
        ("part-1/lengths", "lengths"),
        ("epoch-1.json", "epoch-1.json"),
    ] {
        folder.put(&format!("index/{file}"), "damage");
        refused(&folder, "index --check", 1, &[part, "damaged"]);
        refused(&folder, "index", 1, &[part, "damaged"]);
    }
}

#[test]
fn wrong_settings_are_one_line() {
    let folder = folder();
    folder.put("unknown.toml", "queue = 5\nqueu = 6\n");
    let parts = ["unknown.toml, line 2, `queu = 6`", "unknown field `queu`"];
    refused(&folder, "index --config unknown.toml", 2, &parts);
    folder.put("broken.toml", "queue = \n");
    refused(&folder, "--config broken.toml", 2, &["broken.toml, line 1"]);
    refused(&folder, "--config nothing.toml", 1, &["nothing.toml"]);
    folder.put("small.toml", "limits.k = 5\n");
    for index in ["index", "docs.jsonl"] {
        let args = format!("{index} --config small.toml");
        refused(&folder, &args, 2, &["limits.k is 5"]);
    }
    folder.put("empty.toml", "");
    refused(&folder, "--config empty.toml", 2, &["nothing to serve"]);
    for (name, value, part) in [
        ("TOKAPI_SERVE_QUEU", "5", "unknown field `queu`"),
        ("TOKAPI_SERVE_LIMITS_K", "many", "invalid type"),
        ("TOKAPI_SERVE_LISTEN", "here", "socket address"),
    ] {
        let run = serve(&folder, "index").env(name, value).output().unwrap();
        one_line(&run, 2, &[name, part]);
    }
}

#[test]
fn wrong_uses_are_one_line() {
    let folder = folder();
    refused(&folder, "nothing.jsonl", 1, &["nothing.jsonl"]);
    refused(&folder, "a=nothing", 1, &["nothing"]);
    refused(&folder, "_a=index", 2, &["`_a` is not a name", "NAME=PATH"]);
    refused(
        &folder,
        "index index",
        2,
        &["two indexes are named `index`"],
    );
    // Before a temporary index is built.
    refused(&folder, "docs=index docs.jsonl", 2, &["`docs`", "NAME="]);
    let busy = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = busy.local_addr().unwrap().to_string();
    let listen = format!("index --listen {address}");
    refused(&folder, &listen, 2, &[&address, "--listen"]);
    // Before a temporary index is built: the note of it would be a second line.
    let listen = format!("docs.jsonl --listen {address}");
    refused(&folder, &listen, 2, &[&address, "--listen"]);
    let tls = "docs.jsonl --tls-certificate nothing.pem --tls-key nothing.key";
    refused(&folder, tls, 1, &["nothing.pem"]);
    refused(
        &folder,
        "index --tls-key nothing.key",
        2,
        &["without tls.certificate"],
    );
    let run = serve(&folder, "").output().unwrap();
    assert_eq!(run.status.code(), Some(2), "{run:?}");
}
