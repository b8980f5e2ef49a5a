//! Documents by id, whole and as sparse vectors of weights.

use tokapi::Bm25;

use super::asked::{Asked, DocumentPath};
use super::parameters::Url;
use super::reply::Answer;
use crate::model::{DocumentAnswer, VectorAnswer, Weighting};
use crate::verbs;

/// Read a document
#[utoipa::path(
    get,
    path = "/v1/indexes/{index}/documents/{id}",
    responses((status = 200, description = "The document", body = DocumentAnswer))
)]
pub async fn document(Url(()): Url<()>, asked: Asked<DocumentPath>) -> Answer {
    let read = |snapshot: &_, path: DocumentPath| verbs::document(snapshot, path.id);
    asked.read(read).await
}

/// Read a document as a sparse vector of weights
///
/// The index must keep texts.
#[utoipa::path(
    get,
    path = "/v1/indexes/{index}/documents/{id}/vector",
    params(Weighting),
    responses((status = 200, description = "The weights of all terms of the document", body = VectorAnswer))
)]
pub async fn vector(Url(bm25): Url<Bm25>, asked: Asked<DocumentPath>) -> Answer {
    let read = move |snapshot: &_, path: DocumentPath| verbs::vector(snapshot, path.id, bm25);
    asked.read(read).await
}
