//! The parts of requests, with problems for faults.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Path};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Request, header};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use serde::de::DeserializeOwned;
use utoipa::IntoParams;

use crate::limits::Limits;
use crate::model::Object;
use crate::problem::{Kind, Problem};
use crate::service::{RequestId, Shared};
use crate::verbs::check_key;

/// The header of [`Key`].
const KEY: &str = "idempotency-key";

impl<S: Sync> FromRequestParts<S> for RequestId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let id = parts.extensions.get::<RequestId>();
        Ok(id.cloned().unwrap_or_default())
    }
}

/// The variable parts of the path.
pub struct Place<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Place<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match Path::<T>::from_request_parts(parts, state).await {
            Ok(Path(place)) => Ok(Place(place)),
            Err(rejection) => Err(Problem::invalid(format!(
                "the path cannot be decoded: {}; percent-encode its parts as UTF-8",
                rejection.body_text()
            ))),
        }
    }
}

/// The client's name of a request.
#[derive(IntoParams)]
#[into_params(parameter_in = Header, names("idempotency-key"))]
pub struct Key(
    /// A name of the request: repeated, it is answered as before
    #[param(value_type = String, required = false, pattern = "^[!-~]{1,256}$", example = "order-17")]
    pub Option<String>,
);

impl<S: Sync> FromRequestParts<S> for Key {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let Some(key) = parts.headers.get(KEY) else {
            return Ok(Key(None));
        };
        let key = String::from_utf8_lossy(key.as_bytes()).into_owned();
        check_key(&format!("the header {KEY}"), &key)?;
        Ok(Key(Some(key)))
    }
}

/// A body of JSON.
pub struct Json<T>(pub T);

impl<T: DeserializeOwned> FromRequest<Shared> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request<Body>, service: &Shared) -> Result<Self, Problem> {
        read_json(request, &service.limits).await.map(Json)
    }
}

/// Reads the body of a request, within the limits of its size and time.
///
/// # Errors
/// It is too large or too slow, or the connection fails.
pub async fn read_body(body: Body, headers: &HeaderMap, limits: &Limits) -> Result<Bytes, Problem> {
    let limit = limits.body_bytes;
    let too_large = || {
        Problem::new(
            Kind::BodyTooLarge,
            format!(
                "the body is larger than {limit} bytes, the limit of this server: send less at a time"
            ),
        )
    };
    let length = headers.get(header::CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > limit as u64) {
        return Err(too_large());
    }
    let read = async {
        let mut chunks = body.into_data_stream();
        let (mut first, mut all) = (Bytes::new(), BytesMut::new());
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|error| {
                Problem::invalid(format!("the body cannot be read to its end: {error}"))
            })?;
            if first.len() + all.len() + chunk.len() > limit {
                return Err(too_large());
            }
            // A small body is one chunk, and is not copied.
            match first.is_empty() && all.is_empty() {
                true => first = chunk,
                false => {
                    all.extend_from_slice(&std::mem::take(&mut first));
                    all.extend_from_slice(&chunk);
                }
            }
        }
        Ok(match all.is_empty() {
            true => first,
            false => all.freeze(),
        })
    };
    let longest = Duration::from_millis(limits.read_ms);
    match tokio::time::timeout(longest, read).await {
        Ok(body) => body,
        Err(_) => Err(Problem::new(
            Kind::SlowRequest,
            format!(
                "the body did not arrive within {} ms: send it faster, or less at a time",
                limits.read_ms
            ),
        )),
    }
}

/// Reads the body of a request as JSON.
///
/// # Errors
/// As [`read_body`]; it is no JSON, or does not follow the schema.
pub async fn read_json<T: DeserializeOwned>(
    request: Request<Body>,
    limits: &Limits,
) -> Result<T, Problem> {
    let (parts, body) = request.into_parts();
    let kind = parts.headers.get(header::CONTENT_TYPE);
    if !kind.is_some_and(|kind| kind.to_str().is_ok_and(is_json)) {
        let kind = kind.map(|kind| String::from_utf8_lossy(kind.as_bytes()).into_owned());
        return Err(Problem::new(
            Kind::UnsupportedMediaType,
            format!(
                "the body has {}: send JSON with the header content-type: application/json",
                match kind {
                    Some(kind) => format!("the content type {}", kind.escape_debug()),
                    None => "no content type".to_owned(),
                }
            ),
        ));
    }
    if parts.uri.query().is_some_and(|query| !query.is_empty()) {
        return Err(Problem::invalid(
            "the request has a body, and parameters in its URL too: put all of them into the body",
        ));
    }
    let body = read_body(body, &parts.headers, limits).await?;
    match serde_json::from_slice(&body) {
        Ok(Object(request)) => Ok(request),
        Err(error) if error.is_data() => Err(Problem::invalid(format!("the body: {error}"))),
        Err(error) => Err(Problem::invalid(format!(
            "the body is not valid JSON: {error}"
        ))),
    }
}

/// Whether a content type is that of JSON: `application/json`, or any with the suffix `+json`.
fn is_json(kind: &str) -> bool {
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let kind = kind.to_ascii_lowercase();
    kind == "application/json" || kind.starts_with("application/") && kind.ends_with("+json")
}
