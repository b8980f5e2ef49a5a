//! Answers as responses.

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;

use crate::problem::Problem;

/// The answer of a route.
pub type Answer = Result<Response, Problem>;

/// A response of JSON.
pub fn json(body: impl Into<Bytes>) -> Response {
    let mut response = Response::new(Body::from(body.into()));
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// The answer `tail`, an object without the member `took_us`, with that member.
pub fn with_time(took_us: u64, tail: &[u8], into: &mut Vec<u8>) {
    use std::io::Write;
    into.reserve(tail.len() + 40);
    // Writing to memory does not fail.
    let _ = write!(into, "{{\"took_us\":{took_us},");
    into.extend_from_slice(tail.strip_prefix(b"{").unwrap_or(tail));
}
