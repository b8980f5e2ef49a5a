//! The server and its indexes.

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::response::Response;

use super::extract::Place;
use super::parameters::Parameters;
use super::reply::json;
use crate::model::{IndexAnswer, IndexesAnswer, ServerAnswer};
use crate::problem::Problem;
use crate::served::Snapshot;
use crate::service::{Service, to_json};

/// Describe the server
#[utoipa::path(
    get,
    path = "/v1",
    tag = "server",
    operation_id = "server",
    responses(
        (status = 200, description = "The server", body = ServerAnswer),
        (status = "default", description = "A problem", body = Problem, content_type = "application/problem+json"),
    )
)]
pub async fn server(
    State(service): State<Arc<Service>>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    Parameters::new(query.as_deref()).finish()?;
    let answer = ServerAnswer {
        name: "tokapi",
        version: env!("CARGO_PKG_VERSION"),
        indexes: service.catalog.names(),
        openapi: "/v1/openapi.json",
    };
    to_json(&answer).map(json)
}

/// List the indexes
#[utoipa::path(
    get,
    path = "/v1/indexes",
    tag = "indexes",
    operation_id = "indexes",
    responses(
        (status = 200, description = "All indexes", body = IndexesAnswer),
        (status = "default", description = "A problem", body = Problem, content_type = "application/problem+json"),
    )
)]
pub async fn indexes(
    State(service): State<Arc<Service>>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    Parameters::new(query.as_deref()).finish()?;
    let snapshots = service.catalog.snapshots();
    let indexes = snapshots.iter().map(|snapshot| described(snapshot));
    let answer = IndexesAnswer {
        indexes: indexes.collect(),
    };
    to_json(&answer).map(json)
}

/// Describe an index
#[utoipa::path(
    get,
    path = "/v1/indexes/{index}",
    tag = "indexes",
    operation_id = "index",
    params(("index" = String, Path, description = "The name of the index")),
    responses(
        (status = 200, description = "The index", body = IndexAnswer),
        (status = "default", description = "A problem", body = Problem, content_type = "application/problem+json"),
    )
)]
pub async fn index(
    State(service): State<Arc<Service>>,
    Place(index): Place<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    Parameters::new(query.as_deref()).finish()?;
    let snapshot = service.catalog.snapshot(&index)?;
    to_json(&described(&snapshot)).map(json)
}

fn described(snapshot: &Snapshot) -> IndexAnswer {
    let info = snapshot.info();
    IndexAnswer {
        index: snapshot.name().to_owned(),
        epoch: snapshot.epoch(),
        complete: true,
        documents: info.statistics.documents,
        deleted: info.deleted,
        parts: info.parts,
        bytes: info.files.iter().map(|(_, bytes)| bytes).sum(),
        analyzer: snapshot.index().analyzer().to_string(),
        keeps_text: info.keep.text,
        keeps_positions: info.keep.positions,
        fields: info.keep.fields.clone(),
        impacts: info
            .impacts
            .as_ref()
            .map(|impacts| impacts.bm25.to_string()),
    }
}
