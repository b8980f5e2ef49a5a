//! The number of documents that match.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::Request;
use axum::response::Response;

use super::extract::{Place, read_json};
use super::parameters::Parameters;
use super::reply::json;
use crate::model::{CountAnswer, CountRequest, FilterRequest, Mode};
use crate::problem::Problem;
use crate::search::{Deadline, plan_count};
use crate::served::Snapshot;
use crate::service::Service;

/// Count the documents that match
#[utoipa::path(
    post,
    path = "/v1/indexes/{index}/count",
    tag = "search",
    operation_id = "count",
    params(("index" = String, Path, description = "The name of the index")),
    request_body = CountRequest,
    responses(
        (status = 200, description = "The number of documents", body = CountAnswer),
        (status = "default", description = "A problem", body = Problem, content_type = "application/problem+json"),
    )
)]
pub async fn count(
    State(service): State<Arc<Service>>,
    Place(index): Place<String>,
    request: Request<Body>,
) -> Result<Response, Problem> {
    let started = Instant::now();
    let snapshot = service.catalog.snapshot(&index)?;
    let request: CountRequest = read_json(request, &service.limits).await?;
    counted(&service, snapshot, &request, started).await
}

/// Count the documents that match, by a URL
#[utoipa::path(
    get,
    path = "/v1/indexes/{index}/count",
    tag = "search",
    operation_id = "count_by_url",
    params(
        ("index" = String, Path, description = "The name of the index"),
        ("q" = Option<String>, Query, description = "The query"),
        ("mode" = Option<Mode>, Query, description = "The words that a document must have"),
        ("operators" = Option<bool>, Query, description = "Whether + - and \" are operators"),
        ("filter" = Option<Vec<String>>, Query, description = "field:value or -field:value; several times for several"),
        ("timeout_ms" = Option<u64>, Query, description = "The most milliseconds to wait"),
    ),
    responses(
        (status = 200, description = "The number of documents", body = CountAnswer),
        (status = "default", description = "A problem", body = Problem, content_type = "application/problem+json"),
    )
)]
pub async fn count_by_url(
    State(service): State<Arc<Service>>,
    Place(index): Place<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let started = Instant::now();
    let snapshot = service.catalog.snapshot(&index)?;
    let mut from = Parameters::new(query.as_deref());
    let filters = from.all("filter").into_iter().map(FilterRequest::Text);
    let request = CountRequest {
        query: from.text("q")?.unwrap_or_default(),
        mode: from.name("mode")?.unwrap_or_default(),
        operators: from.value("operators")?.unwrap_or(true),
        filters: filters.collect(),
        timeout_ms: from.value("timeout_ms")?,
    };
    from.finish()?;
    counted(&service, snapshot, &request, started).await
}

async fn counted(
    service: &Service,
    snapshot: Arc<Snapshot>,
    request: &CountRequest,
    started: Instant,
) -> Result<Response, Problem> {
    let query = plan_count(&service.limits, &snapshot, request)?;
    let deadline = Deadline::after(&service.limits, started, request.timeout_ms)?;
    let count = move |snapshot: &Snapshot| {
        Ok(CountAnswer {
            index: snapshot.name().to_owned(),
            epoch: snapshot.epoch(),
            complete: true,
            count: snapshot.index().count(&query)?,
            // Fewer than 2^64 microseconds.
            took_us: started.elapsed().as_micros() as u64,
        })
    };
    service.read(snapshot, deadline, count).await.map(json)
}
