//! Errors for clients, as `application/problem+json` (RFC 9457): the fault, its place, and what to do.

use std::fmt;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tokapi::Error;
use utoipa::ToSchema;

/// The content type of problems.
const PROBLEM_JSON: &str = "application/problem+json";

/// The kinds of problems. Each has an HTTP status and a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// The request does not follow its schema.
    InvalidRequest,
    /// The request asks for more than a limit of the server.
    LimitExceeded,
    /// The index was built without something that the request needs.
    NotKept,
    /// The request has no valid token.
    Unauthorized,
    /// The server does not permit it.
    Forbidden,
    /// No index has the name.
    UnknownIndex,
    /// No document of the index has the id.
    UnknownDocument,
    /// No document of the index has the term.
    UnknownTerm,
    /// No snapshot has the name.
    UnknownSnapshot,
    /// No route has the path.
    UnknownRoute,
    /// The route has no such method.
    MethodNotAllowed,
    /// The client was too slow.
    SlowRequest,
    /// Another change is in the way.
    Conflict,
    /// The body is too large.
    BodyTooLarge,
    /// The body has another content type.
    UnsupportedMediaType,
    /// Too many searches wait.
    Overloaded,
    /// The client, or all clients together, send too many requests.
    RateExceeded,
    /// The server has no room on disk for a change.
    StorageFull,
    /// Files that the request needs are damaged.
    Damaged,
    /// The server failed.
    Internal,
    /// The server is not ready, or ends.
    Unavailable,
    /// The search took longer than its timeout.
    Timeout,
}

impl Kind {
    /// The HTTP status.
    pub fn status(self) -> StatusCode {
        match self {
            Kind::InvalidRequest | Kind::LimitExceeded | Kind::NotKept => StatusCode::BAD_REQUEST,
            Kind::UnknownIndex
            | Kind::UnknownDocument
            | Kind::UnknownTerm
            | Kind::UnknownSnapshot
            | Kind::UnknownRoute => StatusCode::NOT_FOUND,
            Kind::Unauthorized => StatusCode::UNAUTHORIZED,
            Kind::Forbidden => StatusCode::FORBIDDEN,
            Kind::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Kind::SlowRequest => StatusCode::REQUEST_TIMEOUT,
            Kind::Conflict => StatusCode::CONFLICT,
            Kind::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Kind::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Kind::Overloaded | Kind::RateExceeded => StatusCode::TOO_MANY_REQUESTS,
            Kind::Damaged | Kind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            Kind::StorageFull => StatusCode::INSUFFICIENT_STORAGE,
            Kind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Kind::Timeout => StatusCode::GATEWAY_TIMEOUT,
        }
    }

    /// The name, as the last part of the type's URI.
    pub fn name(self) -> &'static str {
        match self {
            Kind::InvalidRequest => "invalid-request",
            Kind::LimitExceeded => "limit-exceeded",
            Kind::NotKept => "not-kept",
            Kind::Unauthorized => "unauthorized",
            Kind::Forbidden => "forbidden",
            Kind::UnknownIndex => "unknown-index",
            Kind::UnknownDocument => "unknown-document",
            Kind::UnknownTerm => "unknown-term",
            Kind::UnknownSnapshot => "unknown-snapshot",
            Kind::UnknownRoute => "unknown-route",
            Kind::MethodNotAllowed => "method-not-allowed",
            Kind::SlowRequest => "slow-request",
            Kind::Conflict => "conflict",
            Kind::BodyTooLarge => "body-too-large",
            Kind::UnsupportedMediaType => "unsupported-media-type",
            Kind::Overloaded => "overloaded",
            Kind::RateExceeded => "rate-exceeded",
            Kind::StorageFull => "storage-full",
            Kind::Damaged => "damaged",
            Kind::Internal => "internal",
            Kind::Unavailable => "unavailable",
            Kind::Timeout => "timeout",
        }
    }
}

/// The answer to a request that failed.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Problem {
    /// The kind of the problem, as a URI: `urn:tokapi:problem:unknown-index` and so on.
    #[serde(rename = "type")]
    #[schema(
        pattern = "^urn:tokapi:problem:[a-z-]+$",
        example = "urn:tokapi:problem:unknown-index"
    )]
    uri: String,
    /// The kind of the problem, in words.
    #[schema(example = "unknown index")]
    title: String,
    /// The HTTP status.
    #[schema(minimum = 400, maximum = 599)]
    status: u16,
    /// The fault, its place, and what to do.
    pub detail: String,
    #[serde(skip)]
    kind: Kind,
    /// Seconds after which a retry may succeed.
    #[serde(skip)]
    retry_after: Option<u64>,
    /// The cause of a failure of the server, for its log only: it may have paths of this machine.
    #[serde(skip)]
    cause: Option<Arc<str>>,
}

impl Problem {
    /// A problem; `detail` says the fault, its place, and what to do.
    pub fn new(kind: Kind, detail: impl Into<String>) -> Self {
        Problem {
            uri: format!("urn:tokapi:problem:{}", kind.name()),
            title: kind.name().replace('-', " "),
            status: kind.status().as_u16(),
            detail: detail.into(),
            kind,
            retry_after: matches!(kind, Kind::Overloaded | Kind::Unavailable).then_some(1),
            cause: None,
        }
    }

    /// A problem of too many requests, of which one may be sent after `wait`.
    pub fn too_many(what: impl std::fmt::Display, wait: Duration) -> Self {
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        let detail = format!("{what}: retry after {seconds} s");
        Problem {
            retry_after: Some(seconds),
            ..Problem::new(Kind::RateExceeded, detail)
        }
    }

    /// An invalid request.
    pub fn invalid(detail: impl Into<String>) -> Self {
        Problem::new(Kind::InvalidRequest, detail)
    }

    /// A failure of the server. The cause goes to the log only.
    pub fn internal(cause: impl std::fmt::Display) -> Self {
        let what = "the server failed to answer: its log has the cause, under the id in the header x-request-id";
        Problem::new(Kind::Internal, what).because(cause)
    }

    /// Damaged files. The cause goes to the log only.
    pub fn damaged(detail: impl Into<String>, cause: impl std::fmt::Display) -> Self {
        Problem::new(Kind::Damaged, detail).because(cause)
    }

    /// A change that finds no room on disk. The cause goes to the log only.
    fn no_room(why: &str, cause: impl std::fmt::Display) -> Self {
        let detail = format!(
            "the server cannot store the change, because {why}: nothing was changed; free space, or ask its operator to, \
             and retry"
        );
        Problem::new(Kind::StorageFull, detail).because(cause)
    }

    fn because(self, cause: impl std::fmt::Display) -> Self {
        Problem {
            cause: Some(cause.to_string().into()),
            ..self
        }
    }

    /// Logs the cause of a failure, for a problem that is a part of the answer to the request with this id.
    pub fn log_cause(&self, request: &str) {
        if let Some(cause) = &self.cause {
            tracing::error!(request, %cause, "a part of the request failed");
        }
    }

    /// The kind, as a URI.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// The kind, in words.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The cause of a failure of the server, for its log only.
    pub fn cause(&self) -> Option<&str> {
        self.cause.as_deref()
    }

    /// Seconds after which a retry may succeed.
    pub fn retry_after(&self) -> Option<u64> {
        self.retry_after
    }

    /// The kind.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The HTTP status.
    pub fn status(&self) -> StatusCode {
        self.kind.status()
    }

    /// The problem as JSON.
    pub fn to_json(&self) -> Vec<u8> {
        // Strings and a number are always JSON.
        serde_json::to_vec(self).unwrap_or_default()
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::Usage(what) => Problem::invalid(what),
            Error::NotKept(_) => Problem::new(Kind::NotKept, error.to_string()),
            Error::Limit(what) => Problem::new(Kind::LimitExceeded, what),
            Error::Busy { what, .. } => Problem::new(Kind::Conflict, what),
            Error::Cancelled => Problem::new(
                Kind::Unavailable,
                "the server is shutting down, and the request was not answered: retry it",
            ),
            Error::Write { ref source, .. } | Error::Scratch { ref source, .. } => {
                match no_room(source) {
                    Some(why) => Problem::no_room(why, error),
                    None => Problem::internal(error),
                }
            }
            other => Problem::internal(other),
        }
    }
}

/// The reason why there is no room for a file; none if a write failed otherwise.
fn no_room(source: &std::io::Error) -> Option<&'static str> {
    match source.kind() {
        ErrorKind::StorageFull => Some("its disk is full"),
        ErrorKind::QuotaExceeded => Some("its quota of the disk is used up"),
        ErrorKind::FileTooLarge => Some("a file would be larger than its system permits"),
        _ => None,
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

impl std::error::Error for Problem {}

/// A response with the problem as an extension too, for the log and for other forms.
impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status(), self.to_json()).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        response.extensions_mut().insert(self);
        response
    }
}
