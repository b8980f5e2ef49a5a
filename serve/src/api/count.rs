//! The number of documents that match.

use super::asked::Asked;
use super::extract::Json;
use super::parameters::{FromUrl, Parameters, QueryParameters, Url};
use super::reply::Answer;
use crate::limits::Limits;
use crate::model::{CountAnswer, CountRequest};
use crate::problem::Problem;
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
    counted(asked, request).await
}

/// Count the documents that match, by a URL
#[utoipa::path(
    get,
    path = "/v1/indexes/{index}/count",
    params(QueryParameters),
    responses((status = 200, description = "The number of documents", body = CountAnswer))
)]
pub async fn count_by_url(asked: Asked, Url(request): Url<CountRequest>) -> Answer {
    counted(asked, request).await
}

async fn counted(asked: Asked, request: CountRequest) -> Answer {
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

impl FromUrl for CountRequest {
    fn take(from: &mut Parameters<'_>, limits: &Limits) -> Result<Self, Problem> {
        let query = QueryParameters::take(from, limits)?;
        Ok(CountRequest {
            query: query.q,
            mode: query.mode,
            operators: query.operators,
            filters: query.filter,
            timeout_ms: query.timeout_ms,
        })
    }
}
