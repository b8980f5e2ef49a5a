//! Laws for any bytes that clients or operators send. The fuzz targets of `fuzz/` check the same ones.

use std::sync::{Mutex, OnceLock};

use axum::http::{HeaderValue, Method, Request, Response, Uri, header};
use serde_json::Value;
use tempfile::TempDir;
use tokapi_serve::elastic::dsl::{SearchBody, lower};
use tokapi_serve::elastic::mapping::{Mapping, Settings};
use tokapi_serve::elastic::store::Definition;
use tokapi_serve::elastic::tree::Tree;
use tokapi_serve::elastic::write::parse_bulk;
use tokapi_serve::options::{Scope, TokenSettings};
use tokapi_serve::search::{parse_cursor, print_cursor};
use tokapi_serve::{Embedded, Options};
use tokio::runtime::Runtime;

/// The documents of the servers.
const DOCUMENTS: &str = r#"{"id": "1", "contents": "the boundary layer of a wing", "lang": "en", "year": 1957}
{"id": "2", "contents": "die Grenzschicht", "lang": "de", "year": 1904}
{"id": "3", "contents": "supersonic flow over a wing", "lang": "en", "year": 1961, "topic": ["wings", "flow"]}
"#;

/// A server without connections, and its folder.
struct Server {
    server: Option<Embedded>,
    folder: TempDir,
    runtime: Runtime,
}

impl Server {
    fn new(change: impl FnOnce(&mut Options)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let documents = folder.path().join("docs.jsonl");
        std::fs::write(&documents, DOCUMENTS).unwrap();
        let corpus = tokapi::CorpusOptions::default().fields(["lang", "year", "topic"]);
        let corpus = tokapi::Corpus::open(&[documents], corpus).unwrap();
        let index = folder.path().join("data/docs");
        std::fs::create_dir(folder.path().join("data")).unwrap();
        let builder = tokapi::IndexBuilder::new(&index)
            .threads(1)
            .store(true)
            .positions(true);
        let builder = builder.field("lang").field("year").field("topic");
        builder.build(corpus).unwrap();
        let mut options = Options::default();
        options.data = Some(folder.path().join("data"));
        options.threads = 1;
        options.limits.body_bytes = 1 << 16;
        change(&mut options);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build();
        Server {
            server: Some(Embedded::open(&options).unwrap()),
            folder,
            runtime: runtime.unwrap(),
        }
    }

    fn answer(&self, request: Request<Vec<u8>>) -> Response<bytes::Bytes> {
        let server = self.server.as_ref().unwrap();
        self.runtime.block_on(server.answer(request)).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The writers close their files before the folder is removed.
        self.server = None;
    }
}

/// A request as text: a line `METHOD PATH`, lines of headers, an empty line, the body. None if it is no request.
fn request_of(bytes: &[u8]) -> Option<Request<Vec<u8>>> {
    let end = bytes.windows(2).position(|pair| pair == b"\n\n");
    let (head, body) = match end {
        Some(end) => (&bytes[..end], &bytes[end + 2..]),
        None => (bytes, &b""[..]),
    };
    let mut lines = head.split(|&byte| byte == b'\n');
    let first = lines.next()?;
    let space = first.iter().position(|&byte| byte == b' ')?;
    let method = Method::from_bytes(&first[..space]).ok()?;
    let uri = Uri::try_from(&first[space + 1..]).ok()?;
    let mut request = Request::builder().method(method).uri(uri);
    for line in lines {
        let colon = line.iter().position(|&byte| byte == b':')?;
        request = request.header(&line[..colon], line[colon + 1..].trim_ascii());
    }
    request.body(body.to_vec()).ok()
}

/// Every answer has the form that it names, no failure is the server's, and no path of the machine is in it.
fn check(server: &Server, request: Request<Vec<u8>>) -> u16 {
    let shown = format!("{request:?}");
    let has_body = request.method() != Method::HEAD;
    let answer = server.answer(request);
    let status = answer.status().as_u16();
    // The request may name a time that is too short.
    assert!(status < 500 || status == 504, "{shown}: {answer:?}");
    let headers = answer.headers();
    assert!(headers.contains_key("x-request-id"), "{shown}");
    let body = answer.body();
    let kind = headers
        .get(header::CONTENT_TYPE)
        .map(|kind| kind.to_str().unwrap());
    match kind.unwrap_or_default() {
        _ if !has_body => assert!(body.is_empty(), "{shown}: {body:?}"),
        "application/problem+json" => {
            let problem: Value = serde_json::from_slice(body).unwrap();
            assert_eq!(problem["status"], status, "{shown}");
            let detail = problem["detail"].as_str().unwrap();
            assert!(
                !detail.is_empty() && !detail.contains('\n'),
                "{shown}: {detail}"
            );
        }
        "application/x-ndjson" => {
            for line in body
                .split(|&byte| byte == b'\n')
                .filter(|line| !line.is_empty())
            {
                serde_json::from_slice::<Value>(line).unwrap();
            }
        }
        kind if kind.contains("json") && !body.is_empty() => {
            let json: Value =
                serde_json::from_slice(body).unwrap_or_else(|_| panic!("{shown}: {body:?}"));
            let is_error = json.get("error").is_some();
            assert!(
                status < 400 || is_error || json["found"] == false || json["result"] == "not_found",
                "{shown}: {json}"
            );
        }
        _ => {}
    }
    let folder = server.folder.path().to_str().unwrap().as_bytes();
    assert!(
        !body.windows(folder.len()).any(|part| part == folder),
        "{shown}: {body:?}"
    );
    status
}

/// Any request to a server that takes no changes.
pub fn request(bytes: &[u8]) {
    static SERVER: OnceLock<Mutex<Server>> = OnceLock::new();
    if let Some(request) = request_of(bytes) {
        let server = SERVER.get_or_init(|| Server::new(|_| {}).into());
        check(&server.lock().unwrap(), request);
    }
}

/// Any request to a server that takes changes.
pub fn change(bytes: &[u8]) {
    /// Requests until the server is a new one, so that its indexes stay few and small.
    const REQUESTS: usize = 200;
    static SERVER: Mutex<Option<(Server, usize)>> = Mutex::new(None);
    if let Some(request) = request_of(bytes) {
        let mut server = SERVER.lock().unwrap();
        let (server, count) =
            server.get_or_insert_with(|| (Server::new(|options| options.write = true), 0));
        check(server, request);
        *count += 1;
        if *count == REQUESTS {
            // What it has written is whole.
            let all = Request::get("/_search?size=100&explain=true")
                .body(Vec::new())
                .unwrap();
            check(server, all);
            *SERVER.lock().unwrap() = None;
        }
    }
}

/// The header `authorization` of a request to a server with a token: only the token opens it.
pub fn token(bytes: &[u8]) {
    const TOKEN: &str = "correct horse";
    /// `printf %s 'correct horse' | sha256sum`
    const SHA256: &str = "4104d36f8da2c254349f85836793ebe029e0c957063a34c91c2e9203187b5631";
    static SERVER: OnceLock<Mutex<Server>> = OnceLock::new();
    let tokens = |options: &mut Options| {
        options.tokens = vec![TokenSettings {
            name: "fuzz".to_owned(),
            sha256: SHA256.to_owned(),
            scopes: vec![Scope::Search],
            rate: None,
            burst: None,
        }];
    };
    let Ok(value) = HeaderValue::from_bytes(bytes) else {
        return;
    };
    let is_right = std::str::from_utf8(bytes).is_ok_and(|text| {
        let (scheme, token) = text.split_once(' ').unwrap_or_default();
        let is_scheme = ["bearer", "apikey"]
            .iter()
            .any(|known| scheme.eq_ignore_ascii_case(known));
        is_scheme && token.trim() == TOKEN
    });
    let request = Request::get("/v1/indexes/docs").header(header::AUTHORIZATION, value);
    let server = SERVER.get_or_init(|| Server::new(tokens).into());
    let status = check(&server.lock().unwrap(), request.body(Vec::new()).unwrap());
    assert_eq!(
        status,
        if is_right { 200 } else { 401 },
        "{:?}",
        String::from_utf8_lossy(bytes)
    );
}

/// A body of `_search`: it has a plan, or it is an error with a reason of one line.
pub fn elastic(bytes: &[u8]) {
    let mapping = |text: &str| {
        let tree = Tree::parse(text.as_bytes()).unwrap();
        Mapping::parse(&tree, &mut Vec::new()).unwrap()
    };
    let mappings = [
        mapping(
            r#"{"properties": {"contents": {"type": "text"}, "tag": {"type": "keyword"}, "year": {"type": "long"}}}"#,
        ),
        mapping(
            r#"{"properties": {"title": {"type": "text", "fields": {"keyword": {"type": "keyword"}}}, "body": {"type": "text"}}}"#,
        ),
    ];
    let cut = |text: &str| text.split_whitespace().map(str::to_owned).collect();
    let parsed = Tree::parse(bytes).and_then(|tree| SearchBody::parse(&tree, &[]));
    let search = match parsed {
        Ok(search) => search,
        Err(refusal) => return assert!(!refusal.reason.is_empty() && refusal.status == 400),
    };
    assert!(search.from + search.size <= 10_000);
    for mapping in &mappings {
        for scores in [false, true] {
            if let Err(refusal) = lower(&search.query, mapping, &cut, scores, &mut Vec::new()) {
                assert!(!refusal.reason.is_empty() && refusal.status == 400);
            }
        }
    }
}

/// Lines of `_bulk`: each has an operation or a reason, and a document that is taken leaves a mapping that survives as
/// text.
pub fn bulk(bytes: &[u8]) {
    let Ok(lines) = parse_bulk(bytes, Some("docs")) else {
        return;
    };
    let mut definition = Definition::new();
    for line in lines {
        let Ok(operation) = line.operation else {
            continue;
        };
        let before = definition.mapping.clone();
        if operation.prepare(&mut definition.mapping).is_err() {
            assert_eq!(definition.mapping, before);
        }
    }
    survives(&definition);
}

/// The mapping of an index and, behind the byte 0xff, its settings: a definition that is taken survives as text.
pub fn definition(bytes: &[u8]) {
    let (mapping, settings) = match bytes.iter().position(|&byte| byte == 0xff) {
        Some(at) => (&bytes[..at], &bytes[at + 1..]),
        None => (bytes, &b"{}"[..]),
    };
    let (Ok(mapping), Ok(settings)) = (Tree::parse(mapping), Tree::parse(settings)) else {
        return;
    };
    let Ok(mapping) = Mapping::parse(&mapping, &mut Vec::new()) else {
        return;
    };
    if let Ok(settings) = Settings::parse(&settings, &mapping, &mut Vec::new()) {
        survives(&Definition {
            mapping,
            settings,
            ..Definition::new()
        });
    }
}

fn survives(definition: &Definition) {
    let text = definition.to_text();
    let again = Definition::of_text(&text).unwrap_or_else(|refusal| panic!("{text}: {refusal:?}"));
    assert_eq!(again, *definition);
}

/// A file of settings: an error names its place, in one line.
pub fn settings(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match Options::parse(&text, "serve.toml") {
        Ok(options) => drop(options.check()),
        Err(error) => {
            let error = error.to_string();
            assert!(
                error.starts_with("serve.toml") && !error.contains('\n'),
                "{error}"
            );
        }
    }
}

/// A place in a ranking: it has one text.
pub fn cursor(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(rank) = parse_cursor(&text) {
        assert!(rank.score.is_finite());
        let printed = print_cursor(rank);
        let (score, sequence) = text.split_once('-').unwrap();
        let sequence = sequence.trim_start_matches('0');
        let sequence = if sequence.is_empty() { "0" } else { sequence };
        assert_eq!(printed, format!("{score}-{sequence}"));
    }
}
