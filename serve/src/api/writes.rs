//! Changes of documents and indexes.

use axum::body::Body;
use axum::http::Request;

use super::asked::{Aimed, DocumentPath, IndexPath};
use super::extract::{Key, read_json};
use super::parameters::Url;
use super::reply::{Answer, json};
use crate::model::{DocumentRequest, EpochAnswer, IndexRequest, NewDocument, WriteAnswer};
use crate::service::to_json;
use crate::verbs::{self, Changes};

/// Add or replace a document
///
/// The change is on disk and visible to searches when the answer comes.
#[utoipa::path(
    put,
    path = "/v1/indexes/{index}/documents/{id}",
    params(Key),
    request_body = DocumentRequest,
    responses((status = 200, description = "The document was added, or replaced another", body = WriteAnswer))
)]
pub async fn put_document(
    aimed: Aimed<DocumentPath>,
    Key(key): Key,
    request: Request<Body>,
) -> Answer {
    let Aimed { call, place } = aimed;
    let DocumentPath { index, id } = place;
    let changes = Changes::of(&call, index).await?;
    let DocumentRequest { text, fields } = read_json(request, &call.service.limits).await?;
    let document = NewDocument { id, text, fields };
    to_json(&changes.put(document, key).await?).map(json)
}

/// Delete a document
///
/// The change is on disk and visible to searches when the answer comes.
#[utoipa::path(
    delete,
    path = "/v1/indexes/{index}/documents/{id}",
    params(Key),
    responses((status = 200, description = "The document was deleted", body = WriteAnswer))
)]
pub async fn delete_document(
    Url(()): Url<()>,
    Key(key): Key,
    aimed: Aimed<DocumentPath>,
) -> Answer {
    let DocumentPath { index, id } = aimed.place;
    let changes = Changes::of(&aimed.call, index).await?;
    to_json(&changes.delete(id, key).await?).map(json)
}

/// Merge all parts of an index
///
/// Deleted documents take no more space then, and searches are faster.
#[utoipa::path(
    post,
    path = "/v1/indexes/{index}/merge",
    responses((status = 200, description = "All parts are one", body = EpochAnswer))
)]
pub async fn merge(Url(()): Url<()>, aimed: Aimed) -> Answer {
    let changes = Changes::of(&aimed.call, aimed.place.index).await?;
    to_json(&changes.merge().await?).map(json)
}

/// Create an index
#[utoipa::path(
    put,
    path = "/v1/indexes/{index}",
    request_body = IndexRequest,
    responses((status = 200, description = "The index is there, without documents", body = EpochAnswer))
)]
pub async fn create_index(Aimed { call, place }: Aimed, request: Request<Body>) -> Answer {
    let (service, IndexPath { index }) = (call.service, place);
    service.writers.check_enabled()?;
    let request: IndexRequest = read_json(request, &service.limits).await?;
    to_json(&verbs::create(&service, index, request).await?).map(json)
}

/// Remove an index that a client created
#[utoipa::path(
    delete,
    path = "/v1/indexes/{index}",
    responses((status = 200, description = "The index is gone; its last state", body = EpochAnswer))
)]
pub async fn remove_index(Url(()): Url<()>, aimed: Aimed) -> Answer {
    to_json(&verbs::remove(&aimed.call.service, aimed.place.index).await?).map(json)
}
