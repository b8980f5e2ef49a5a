//! The server and its indexes.

use std::sync::Arc;

use axum::extract::State;

use super::asked::Asked;
use super::parameters::Url;
use super::reply::{Answer, json};
use crate::model::{IndexAnswer, IndexesAnswer, ServerAnswer};
use crate::served::Snapshot;
use crate::service::{Service, to_json};

/// Describe the server
#[utoipa::path(
    get,
    path = "/v1",
    responses((status = 200, description = "The server", body = ServerAnswer))
)]
pub async fn server(Url(()): Url<()>, State(service): State<Arc<Service>>) -> Answer {
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
    responses((status = 200, description = "All indexes", body = IndexesAnswer))
)]
pub async fn indexes(Url(()): Url<()>, State(service): State<Arc<Service>>) -> Answer {
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
    responses((status = 200, description = "The index", body = IndexAnswer))
)]
pub async fn index(Url(()): Url<()>, asked: Asked) -> Answer {
    to_json(&described(&asked.snapshot)).map(json)
}

fn described(snapshot: &Snapshot) -> IndexAnswer {
    let info = snapshot.info();
    IndexAnswer {
        state: snapshot.state(),
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
