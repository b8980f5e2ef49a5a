//! A request of a client, and the form of the answer that it understands.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;

use super::Elastic;
use crate::api::read_body;
use crate::elastic::dsl::Sources;
use crate::elastic::error::{Refusal, Result};
use crate::elastic::source;
use crate::elastic::tree::Tree;
use crate::operate::Granted;
use crate::options::Scope;
use crate::problem::{Kind, Problem};

/// Bytes of the body of a write.
const MOST_WRITE_BYTES: usize = 100 << 20;
/// Bytes of all warnings of an answer. Clients and proxies limit the size of headers.
const MOST_WARNING_BYTES: usize = 4096;

/// A request of a client.
pub struct Ask {
    /// The parts of the path, by name.
    pub path: Vec<(String, String)>,
    /// The parameters of the URL.
    pub params: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
    /// The time when it arrived.
    pub started: Instant,
    /// Whether it may create indexes.
    pub may_create: bool,
}

impl Ask {
    /// A part of the path; empty if the route has no such part.
    pub fn place(&self, name: &str) -> &str {
        let place = self.path.iter().find(|(n, _)| n == name);
        place.map_or("", |(_, value)| value)
    }

    /// A parameter of the URL.
    pub fn param(&self, name: &str) -> Option<&str> {
        let param = self.params.iter().find(|(n, _)| n == name);
        param.map(|(_, value)| &**value)
    }

    /// The body as JSON; an empty object if there is none.
    ///
    /// # Errors
    /// It is not JSON.
    pub fn json(&self) -> Result<Tree> {
        Tree::parse(&self.body)
    }
}

impl FromRequest<Arc<Elastic>> for Ask {
    type Rejection = Response;

    async fn from_request(request: Request, elastic: &Arc<Elastic>) -> Result<Self, Response> {
        let started = Instant::now();
        let (mut parts, body) = request.into_parts();
        let path = Path::<Vec<(String, String)>>::from_request_parts(&mut parts, elastic).await;
        let query = parts.uri.query().unwrap_or_default().as_bytes();
        let params = form_urlencoded::parse(query).into_owned().collect();
        let mut limits = elastic.service.limits.clone();
        if is_write(parts.uri.path()) {
            limits.body_bytes = limits.body_bytes.max(MOST_WRITE_BYTES);
        }
        let Ok(Path(path)) = path else {
            let reason = "the path is not UTF-8; percent-encode its parts as UTF-8";
            return Err(refused(&Refusal::illegal(reason)));
        };
        content_type(&parts.headers).map_err(|refusal| refused(&refusal))?;
        let body = read_body(body, &parts.headers, &limits).await;
        let body = body.map_err(|problem| refused(&of_problem(problem)))?;
        let granted = parts.extensions.get::<Granted>();
        Ok(Ask {
            path,
            params,
            body,
            started,
            may_create: granted.is_none_or(|granted| granted.has(Scope::Admin)),
        })
    }
}

/// Whether a path is one of documents that are written.
fn is_write(path: &str) -> bool {
    let mut parts = path.split('/');
    parts.any(|part| matches!(part, "_bulk" | "_doc" | "_create"))
}

/// Checks that a body is JSON or lines of JSON.
fn content_type(headers: &HeaderMap) -> Result<()> {
    let Some(kind) = headers.get(header::CONTENT_TYPE) else {
        return Ok(());
    };
    let text = String::from_utf8_lossy(kind.as_bytes()).to_ascii_lowercase();
    let media = text.split(';').next().unwrap_or_default().trim();
    let is_known = matches!(
        media,
        "application/json"
            | "application/x-ndjson"
            | "application/vnd.elasticsearch+json"
            | "application/vnd.elasticsearch+x-ndjson"
    );
    match is_known {
        true => Ok(()),
        false => Err(Refusal::new(
            406,
            "media_type_header_exception",
            format!(
                "Content-Type header [{}] is not supported; send application/json or application/x-ndjson",
                text.escape_debug()
            ),
        )),
    }
}

/// The answer to a request.
pub struct Answer {
    /// The status of HTTP.
    pub status: u16,
    /// The body: JSON, or a text.
    pub body: Vec<u8>,
    /// Whether the body is JSON.
    pub is_json: bool,
    /// What is answered otherwise than Elasticsearch would.
    pub warnings: Vec<String>,
}

impl Answer {
    /// An answer of JSON with the status 200.
    pub fn ok(body: impl Into<Vec<u8>>) -> Self {
        Answer {
            status: 200,
            body: body.into(),
            is_json: true,
            warnings: Vec::new(),
        }
    }

    /// An answer of JSON.
    pub fn json(status: u16, body: &serde_json::Value) -> Self {
        Answer {
            status,
            ..Answer::ok(body.to_string())
        }
    }

    /// Adds what is answered otherwise than Elasticsearch would.
    pub fn warn(mut self, warnings: Vec<String>) -> Self {
        for warning in warnings {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
        self
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.body));
        *response.status_mut() = StatusCode::from_u16(self.status).unwrap_or_default();
        let kind = match self.is_json {
            true => HeaderValue::from_static("application/json"),
            false => HeaderValue::from_static("text/plain; charset=UTF-8"),
        };
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        let mut bytes = 0;
        for warning in self.warnings {
            let warning = warning_header(&warning);
            bytes += warning.len();
            if bytes > MOST_WARNING_BYTES {
                break;
            }
            if let Ok(value) = HeaderValue::from_str(&warning) {
                response.headers_mut().append(header::WARNING, value);
            }
        }
        response
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        refused(&self)
    }
}

fn refused(refusal: &Refusal) -> Response {
    let mut response = Answer::json(refusal.status, &refusal.body()).into_response();
    if refusal.status == 429 {
        let second = HeaderValue::from_static("1");
        response.headers_mut().insert(header::RETRY_AFTER, second);
    }
    response
}

/// A warning in the form that clients of Elasticsearch show: ASCII only, quotes escaped.
fn warning_header(text: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let mut header = format!("299 Tokapi-{version} \"");
    for character in text.chars() {
        match character {
            '"' | '\\' => header.extend(['\\', character]),
            ' '..='~' => header.push(character),
            _ => header.push('?'),
        }
    }
    header.push('"');
    header
}

/// A problem of the server in Elasticsearch's shape.
pub fn of_problem(problem: Problem) -> Refusal {
    let kind = match problem.kind() {
        Kind::UnknownIndex => "index_not_found_exception",
        Kind::Overloaded => "es_rejected_execution_exception",
        Kind::Timeout | Kind::SlowRequest => "timeout_exception",
        Kind::BodyTooLarge => "content_too_long_exception",
        Kind::Unavailable => "node_closed_exception",
        Kind::Internal => "exception",
        Kind::Conflict | Kind::StorageFull => "cluster_block_exception",
        _ => "illegal_argument_exception",
    };
    Refusal::new(problem.status().as_u16(), kind, problem.detail.clone())
}

/// An error of the engine in Elasticsearch's shape.
pub fn of_error(error: tokapi::Error) -> Refusal {
    of_problem(Problem::from(error))
}

/// The form of an answer: what every answer to a request gets.
pub async fn form(State(elastic): State<Arc<Elastic>>, request: Request, next: Next) -> Response {
    let accept = request.headers().get(header::ACCEPT).cloned();
    let query = request.uri().query().unwrap_or_default();
    let filter = form_urlencoded::parse(query.as_bytes());
    let filter = filter.filter(|(name, _)| name == "filter_path");
    let filter: Vec<String> = filter
        .flat_map(|(_, value)| value.split(',').map(str::to_owned).collect::<Vec<_>>())
        .collect();
    let mut response = next.run(request).await;
    if !filter.is_empty() && response.status().is_success() {
        response = filtered(response, filter).await;
    }
    let headers = response.headers_mut();
    let is_json = headers
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind == "application/json");
    if let (true, Some(version)) = (is_json, accept.as_ref().and_then(compatible)) {
        let kind = format!("application/vnd.elasticsearch+json;compatible-with={version}");
        if let Ok(kind) = HeaderValue::from_str(&kind) {
            headers.insert(header::CONTENT_TYPE, kind);
        }
    }
    if elastic.options.product {
        let name = HeaderValue::from_static("Elasticsearch");
        headers.insert("x-elastic-product", name);
    }
    response
}

/// The version N of `application/vnd.elasticsearch+json; compatible-with=N`.
fn compatible(accept: &HeaderValue) -> Option<u8> {
    let text = accept.to_str().ok()?;
    let (_, after) = text.split_once("application/vnd.elasticsearch+json")?;
    let (_, after) = after.split_once("compatible-with=")?;
    after
        .bytes()
        .next()
        .filter(u8::is_ascii_digit)
        .map(|digit| digit - b'0')
}

/// The parts of an answer that `filter_path` names; names after `-` are left out.
async fn filtered(response: Response, filter: Vec<String>) -> Response {
    let (mut parts, body) = response.into_parts();
    let Ok(body) = axum::body::to_bytes(body, usize::MAX).await else {
        return refused(&Refusal::illegal(
            "the answer cannot be filtered; leave out filter_path",
        ));
    };
    let (excludes, includes) = filter
        .into_iter()
        .partition(|name: &String| name.starts_with('-'));
    let sources = Sources {
        enabled: true,
        includes,
        excludes: excludes.iter().map(|name| name[1..].to_owned()).collect(),
    };
    let text = String::from_utf8_lossy(&body);
    let cut = source::shown(&text, &sources).unwrap_or_default();
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(cut))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_headers() {
        let header = warning_header("a \"b\" ü");
        assert!(header.ends_with(r#" "a \"b\" ?""#), "{header}");
        assert!(HeaderValue::from_str(&header).is_ok());
    }

    #[test]
    fn compatible_versions() {
        let of = |text| compatible(&HeaderValue::from_static(text));
        assert_eq!(
            of("application/vnd.elasticsearch+json; compatible-with=9"),
            Some(9)
        );
        assert_eq!(
            of("application/vnd.elasticsearch+json;compatible-with=8,text/plain"),
            Some(8)
        );
        assert_eq!(of("application/json"), None);
        assert_eq!(of("*/*"), None);
    }
}
