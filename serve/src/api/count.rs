//! The number of documents that match.

use super::asked::Asked;
use super::extract::Json;
use super::reply::{Answer, json};
use crate::model::{CountAnswer, CountRequest};
use crate::service::to_json;
use crate::verbs;

/// Count the documents that match
#[utoipa::path(
    post,
    path = "/v1/indexes/{index}/count",
    request_body = CountRequest,
    responses((status = 200, description = "The number of documents", body = CountAnswer))
)]
pub async fn count(asked: Asked, Json(request): Json<CountRequest>) -> Answer {
    let answer = verbs::count(&asked.call, asked.snapshot, &request).await?;
    to_json(&answer).map(json)
}
