//! Whether the server lives, and whether it takes requests.

use std::sync::Arc;

use axum::extract::State;

use crate::problem::{Kind, Problem};
use crate::service::Service;

/// The process lives.
pub async fn live() -> &'static str {
    "live\n"
}

/// The server takes requests.
pub async fn ready(State(service): State<Arc<Service>>) -> Result<&'static str, Problem> {
    match service.is_draining() {
        false => Ok("ready\n"),
        true => Err(Problem::new(
            Kind::Unavailable,
            "the server is shutting down: send requests to another one",
        )),
    }
}
