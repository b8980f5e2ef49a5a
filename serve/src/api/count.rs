//! The number of documents that match.

use super::asked::Asked;
use super::extract::Json;
use super::reply::Answer;
use crate::model::{CountAnswer, CountRequest};
use crate::search::plan_count;
use crate::served::Snapshot;

/// Count the documents that match
#[utoipa::path(
    post,
    path = "/v1/indexes/{index}/count",
    request_body = CountRequest,
    responses((status = 200, description = "The number of documents", body = CountAnswer))
)]
pub async fn count(asked: Asked, Json(request): Json<CountRequest>) -> Answer {
    let query = plan_count(&asked.service.limits, &asked.snapshot, &request)?;
    let started = asked.started;
    let count = move |snapshot: &Snapshot, _| {
        Ok(CountAnswer {
            state: snapshot.state(),
            count: snapshot.index().count(&query)?,
            // Fewer than 2^64 microseconds.
            took_us: started.elapsed().as_micros() as u64,
        })
    };
    asked.read(request.timeout_ms, count).await
}
