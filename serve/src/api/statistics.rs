//! The statistics of an index.

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::response::Response;

use super::extract::Place;
use super::parameters::Parameters;
use super::reply::json;
use crate::model::StatisticsAnswer;
use crate::problem::Problem;
use crate::service::{Service, to_json};

/// Read the statistics of an index
#[utoipa::path(
    get,
    path = "/v1/indexes/{index}/statistics",
    tag = "indexes",
    operation_id = "statistics",
    params(("index" = String, Path, description = "The name of the index")),
    responses(
        (status = 200, description = "The statistics that weights depend on, and sizes", body = StatisticsAnswer),
        (status = "default", description = "A problem", body = Problem, content_type = "application/problem+json"),
    )
)]
pub async fn statistics(
    State(service): State<Arc<Service>>,
    Place(index): Place<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    Parameters::new(query.as_deref()).finish()?;
    let snapshot = service.catalog.snapshot(&index)?;
    let info = snapshot.info();
    let statistics = info.statistics;
    let average_length = statistics.average_length();
    let answer = StatisticsAnswer {
        index: snapshot.name().to_owned(),
        epoch: snapshot.epoch(),
        complete: true,
        documents: statistics.documents,
        total_length: statistics.total_length,
        average_length: average_length.is_finite().then_some(average_length),
        deleted: info.deleted,
        postings: info.postings,
        terms: info.terms,
        parts: info.parts,
    };
    to_json(&answer).map(json)
}
