//! The answer to requests without TLS, where TLS is spoken.

use axum::Router;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};

use crate::problem::Problem;

/// Answers every request with the problem, and closes the connection.
pub fn plain() -> Router {
    Router::new().fallback(refused)
}

async fn refused() -> Response {
    let problem =
        Problem::invalid("this address takes encrypted requests only: ask it as https://");
    let mut response = problem.into_response();
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(header::CONNECTION, close);
    response
}
