//! The server and its indexes.

use std::sync::Arc;

use axum::extract::State;

use super::asked::Asked;
use super::parameters::Url;
use super::reply::{Answer, json};
use crate::model::{IndexAnswer, IndexesAnswer, ServerAnswer, StatisticsAnswer};
use crate::service::{Service, to_json};
use crate::verbs;

/// Describe the server
#[utoipa::path(
    get,
    path = "/v1",
    responses((status = 200, description = "The server", body = ServerAnswer))
)]
pub async fn server(Url(()): Url<()>, State(service): State<Arc<Service>>) -> Answer {
    to_json(&verbs::server(&service)).map(json)
}

/// List the indexes
#[utoipa::path(
    get,
    path = "/v1/indexes",
    responses((status = 200, description = "All indexes", body = IndexesAnswer))
)]
pub async fn indexes(Url(()): Url<()>, State(service): State<Arc<Service>>) -> Answer {
    to_json(&verbs::indexes(&service)).map(json)
}

/// Describe an index
#[utoipa::path(
    get,
    path = "/v1/indexes/{index}",
    responses((status = 200, description = "The index", body = IndexAnswer))
)]
pub async fn index(Url(()): Url<()>, asked: Asked) -> Answer {
    to_json(&verbs::described(&asked.snapshot)).map(json)
}

/// Read the statistics of an index
#[utoipa::path(
    get,
    path = "/v1/indexes/{index}/statistics",
    responses((status = 200, description = "The statistics that weights depend on, and sizes", body = StatisticsAnswer))
)]
pub async fn statistics(Url(()): Url<()>, asked: Asked) -> Answer {
    to_json(&verbs::statistics(&asked.snapshot)).map(json)
}
